package main

import "testing"

func TestDamagedIsCounted(t *testing.T) {
	for all, want := range map[int]string{
		1: "damaged data: the only index; its owner must push it again",
		3: "damaged data: 1 of 3 indexes; their owners must push them again",
	} {
		if got := errDamaged(1, all).Error(); got != want {
			t.Errorf("1 of %d: %s", all, got)
		}
	}
}
