package feature

import (
	"context"
	"fmt"
	"sync"

	"cpar/internal/parallel"
)

// Options say how photos become vectors. The zero value will do.
type Options struct {
	// Cache, if any, is asked before an image is decoded.
	Cache *Cache
	// Network, if any, gives every image an embedding too.
	Network Network
	// Progress, if any, is told after every image, bad ones included, how many of
	// total are done. It is called by one goroutine at a time, with done rising
	// by one.
	Progress func(done, total int)
}

// A Result is what became of one image: its vectors, or why there are none.
type Result struct {
	Vectors *Vectors
	Err     error
}

// All computes the vectors of n images on all cores. load returns the bytes of
// image i and is called by several goroutines at once. Results are in the order of
// the images. An image that cannot be loaded or decoded has its error there and
// stops nothing.
//
// When ctx ends, All starts no further image, and returns what it has with ctx's
// error. The images not begun have that error too.
func All(ctx context.Context, n int, load func(i int) ([]byte, error), opts Options) ([]Result, error) {
	results := make([]Result, n)
	var mu sync.Mutex // guards done and calls of Progress
	done := 0
	parallel.Each(n, func() func(int) {
		e := NewExtractor()
		return func(i int) {
			r := &results[i]
			if ctx.Err() != nil {
				r.Err = fmt.Errorf("extracting features: %w", context.Cause(ctx))
				return
			}
			if data, err := load(i); err != nil {
				r.Err = fmt.Errorf("loading image: %w", err)
			} else {
				r.Vectors, r.Err = e.Photo(data, opts)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			if opts.Progress != nil {
				opts.Progress(done, n)
			}
		}
	})
	if done < n {
		return results, fmt.Errorf("extracting features: %w", context.Cause(ctx))
	}
	return results, nil
}
