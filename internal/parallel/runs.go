package parallel

import (
	"runtime/debug"
	"sync"
)

// Runs divides 0…n−1 into one range per worker, each at least minLen long, and
// calls function `do` for each. Worker 0 runs on the caller's goroutine, and
// every other worker runs on a new goroutine. It returns the error of the
// lowest worker that failed. In the end, it repeats a worker's panic on the
// caller's goroutine.
func Runs(workers, n, minLen int, do func(worker, first, last int) error) error {
	workers = max(1, min(workers, n/minLen))
	errs := make([]error, workers)
	panics := make([]any, workers)
	var group sync.WaitGroup
	for w := 1; w < workers; w++ {
		group.Go(func() {
			// Reading a memory map faults if the disk fails. The fault must end
			// the request, not the process. Package cloud/api sets the same
			// flag on its goroutine and recovers the panic there.
			debug.SetPanicOnFault(true)
			defer func() { panics[w] = recover() }()
			errs[w] = do(w, w*n/workers, (w+1)*n/workers)
		})
	}
	errs[0] = func() error {
		defer group.Wait() // wait even after a panic, because other workers still read shared data
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
