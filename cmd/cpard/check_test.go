package main

import (
	"testing"

	"cpar"
	"cpar/cloud/store"
)

func TestDamagedIsCounted(t *testing.T) {
	album, damaged := store.Info{Album: "1"}, store.Info{Album: "1", Err: cpar.ErrCorrupt}
	for want, all := range map[string][]store.Info{
		"damaged data: the only index; its owner must push it again":                                              {{}},
		"damaged data: 1 of 3 indexes; their owners must push them again":                                         {{}, {}, {}},
		"damaged data: 1 of 1 index and 1 album; their owners must push them again":                               {{}, album},
		"damaged data: 1 of 0 indexes and 2 albums; owners must push indexes again, and blobs come from a backup": {album, damaged},
	} {
		if got := errDamaged(1, all).Error(); got != want {
			t.Errorf("1 of %d: %s", len(all), got)
		}
	}
}
