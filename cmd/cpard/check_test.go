package main

import (
	"testing"

	"cpar/cloud/store"
)

func TestDamagedIsCounted(t *testing.T) {
	album := store.Info{Album: "11111111111111111111111111111111"}
	for want, all := range map[string][]store.Info{
		"damaged data: the only index; its owner must push it again":                   {{}},
		"damaged data: 1 of 3 indexes; their owners must push them again":              {{}, {}, {}},
		"damaged data: 1 of 1 index and 1 album; their owners must push them again":    {{}, album},
		"damaged data: 1 of 0 indexes and 2 albums; their owners must push them again": {album, album},
	} {
		if got := errDamaged(1, all).Error(); got != want {
			t.Errorf("1 of %d: %s", len(all), got)
		}
	}
}
