package lattice

import "sync"

// Share cuts n groups into as many runs as there are workers, about equally
// long, works on all at once and waits for the last.
func Share(n, workers int, work func(from, to int)) {
	workers = max(1, min(workers, n))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() { work(w*n/workers, (w+1)*n/workers) })
	}
	wait.Wait()
}
