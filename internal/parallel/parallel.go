// Package parallel spreads computation over all cores.
//
//	n tasks ─▶ Each, For: task by task     Until: the same, unless ctx ends
//	           Map: one result per task
//	           Ranges: one range of tasks per worker
//	           Runs: the same for work that can fail or panic
//	           Turn: lets other goroutines run during long work
//
// Results must not depend on the assignment of tasks to cores.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Each calls task(0) to task(n-1) on all cores. Each core gets its task
// function from one call of `worker`.
func Each(n int, worker func() (task func(int))) { _ = Until(context.Background(), n, worker) }

// Until runs tasks like Each but begins no task after ctx has ended. It then
// returns the context's error, and some tasks have not run.
func Until(ctx context.Context, n int, worker func() (task func(int))) error {
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
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return ctx.Err()
}

// OrLeave runs `work`, which cannot check a context, and returns early if ctx
// ends. Abandoned work keeps running, so callers must not read its results
// after an error of ctx.
func OrLeave(ctx context.Context, work func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sleep waits for duration d. If ctx ends first, it returns the context's
// error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Map returns f(0) to f(n-1), which it calls on all cores, or the first error, with
// the number of its `what`.
func Map[T any](what string, n int, f func(i int) (T, error)) ([]T, error) {
	out, errs := make([]T, n), make([]error, n)
	For(n, func(i int) { out[i], errs[i] = f(i) })
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i, err)
		}
	}
	return out, nil
}

// For calls task(0) to task(n-1) on all cores.
func For(n int, task func(int)) { Each(n, func() func(int) { return task }) }

// Ranges divides 0…n−1 into one range per worker, of about equal lengths,
// processes the ranges concurrently and waits for all. If `workers` is 0, every
// core gets one.
func Ranges(n, workers int, work func(from, to int)) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	_ = Runs(workers, n, 1, func(_, from, to int) error {
		work(from, to)
		return nil
	})
}
