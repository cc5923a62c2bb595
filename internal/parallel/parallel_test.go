package parallel

import (
	"sync/atomic"
	"testing"
)

func TestRangesCoverEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		for _, workers := range []int{-1, 0, 1, 2, 3, 7, 1000} {
			seen := make([]atomic.Int32, n)
			Ranges(n, workers, func(from, to int) {
				for i := from; i < to; i++ {
					seen[i].Add(1)
				}
			})
			for i := range seen {
				if got := seen[i].Load(); got != 1 {
					t.Fatalf("%d workers: task %d of %d ran %d times", workers, i, n, got)
				}
			}
		}
	}
}

func TestEachAndForCoverEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		var made atomic.Int32
		seen := make([]atomic.Int32, n)
		Each(n, func() func(int) {
			made.Add(1)
			return func(i int) { seen[i].Add(1) }
		})
		For(n, func(i int) { seen[i].Add(1) })
		for i := range seen {
			if got := seen[i].Load(); got != 2 {
				t.Fatalf("task %d of %d ran %d times", i, n, got)
			}
		}
		if int(made.Load()) > n {
			t.Errorf("%d workers for %d pieces", made.Load(), n)
		}
	}
}
