// Package workers shares one search among goroutines.
//
//	n pieces ─▶ as many runs as there are workers ─▶ do(worker, first, last)
package workers

import (
	"runtime/debug"
	"sync"
)

// Run cuts 0…n−1 into as many runs as there are workers, of least or more
// each, and calls do for each on a goroutine of its own, worker 0 on the caller's.
// It returns the error of the first worker that has one.
func Run(workers, n, least int, do func(worker, first, last int) error) error {
	workers = max(1, min(workers, n/least))
	errs := make([]error, workers)
	panics := make([]any, workers)
	var group sync.WaitGroup
	for w := 1; w < workers; w++ {
		group.Go(func() {
			// A fault of a memory map, on a disk that fails, is to end the request
			// and not the process: package api has set the same for its goroutine,
			// and expects what a panic is about there.
			debug.SetPanicOnFault(true)
			defer func() { panics[w] = recover() }()
			errs[w] = do(w, w*n/workers, (w+1)*n/workers)
		})
	}
	errs[0] = func() error {
		defer group.Wait() // even after a panic: the others still read the index
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
