// Package parallel shares plain computing among all cores.
//
//	n pieces ─▶ Each, For: a piece at a time     Ranges: a run of pieces a worker
//
// Which core does what must not matter to the result. Package cloud/workers is
// its like for searches, which can fail.
package parallel

import (
	"runtime"
	"sync"
)

// Each calls task(0) to task(n-1) on all cores; each core makes a task of its own.
func Each(n int, worker func() (task func(int))) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			task := worker()
			for i := range next {
				task(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// For calls task(0) to task(n-1) on all cores.
func For(n int, task func(int)) { Each(n, func() func(int) { return task }) }

// Ranges cuts 0…n−1 into as many runs as there are workers, about equally long,
// works on all at once and waits for the last. Workers 0 is one a core.
func Ranges(n, workers int, work func(from, to int)) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, n))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() { work(w*n/workers, (w+1)*n/workers) })
	}
	wait.Wait()
}
