// Package workers shares one search between goroutines.
//
//	n pieces ─▶ one run per worker ─▶ do(worker, first, last)
package workers

import (
	"runtime/debug"
	"sync"
)

// Run divides 0…n−1 into one run per worker, each at least least long, and calls do for
// each run on its own goroutine, worker 0 on the caller's. It returns the first worker's
// error, in order of their numbers.
func Run(workers, n, least int, do func(worker, first, last int) error) error {
	workers = max(1, min(workers, n/least))
	errs := make([]error, workers)
	panics := make([]any, workers)
	var group sync.WaitGroup
	for w := 1; w < workers; w++ {
		group.Go(func() {
			// A memory map faults if the disk fails. The fault must end the request and
			// not the process: package api sets the same for its goroutine and expects
			// panics to arrive there.
			debug.SetPanicOnFault(true)
			defer func() { panics[w] = recover() }()
			errs[w] = do(w, w*n/workers, (w+1)*n/workers)
		})
	}
	errs[0] = func() error {
		defer group.Wait() // even after a panic: the other workers still read the index
		return do(0, 0, n/workers)
	}()
	for w := range errs {
		if panics[w] != nil {
			panic(panics[w])
		}
		if errs[w] != nil {
			return errs[w]
		}
	}
	return nil
}
