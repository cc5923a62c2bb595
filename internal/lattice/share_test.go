package lattice

import (
	"sync/atomic"
	"testing"
)

func TestShareCoversEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		for _, workers := range []int{-1, 0, 1, 2, 3, 7, 1000} {
			seen := make([]atomic.Int32, n)
			Share(n, workers, func(from, to int) {
				for i := from; i < to; i++ {
					seen[i].Add(1)
				}
			})
			for i := range seen {
				if got := seen[i].Load(); got != 1 {
					t.Fatalf("%d workers: %d of %d came %d times", workers, i, n, got)
				}
			}
		}
	}
}
