package parallel

import (
	"sync/atomic"
	"testing"
)

// TestRunsRepeatsPanics checks that a worker's panic reaches the caller after all
// other workers are done.
func TestRunsRepeatsPanics(t *testing.T) {
	for bad := range 3 {
		var done atomic.Int64
		func() {
			defer func() {
				if p := recover(); p != "fault" || done.Load() != 2 {
					t.Errorf("worker %d: recovered %v when %d were done", bad, p, done.Load())
				}
			}()
			Runs(3, 3, 1, func(w, _, _ int) error {
				if w == bad {
					panic("fault")
				}
				done.Add(1)
				return nil
			})
		}()
	}
}

func TestRunsCoverEverythingOnce(t *testing.T) {
	for n := range 50 {
		for workers := range 8 {
			var seen [50]atomic.Int64
			err := Runs(workers, n, 3, func(w, first, last int) error {
				if w > 0 && last-first < 3 {
					t.Errorf("%d of %d by %d: a run of %d", w, n, workers, last-first)
				}
				for i := first; i < last; i++ {
					seen[i].Add(1)
				}
				return nil
			})
			for i := range n {
				if err != nil || seen[i].Load() != 1 {
					t.Fatalf("%d by %d: %d done %d times, %v", n, workers, i, seen[i].Load(), err)
				}
			}
		}
	}
}
