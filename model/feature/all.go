package feature

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"cpar/internal/parallel"
	"cpar/photo/decode"
)

// Options configures extraction. The zero value is usable.
type Options struct {
	// Cache, if set, is consulted before an image is decoded.
	Cache *Cache
	// Network, if set, also computes an embedding of every image.
	Network Encoder
	// Progress, if set, is called after every image, including failed ones,
	// with the number done of total. Calls are serial, with done rising by one.
	Progress func(done, total int)
}

// A Result is the outcome for one image: its vectors or an error. Content is
// decode.ContentDigest of the file, or zero if loading failed.
type Result struct {
	Vectors *Vectors
	Content [sha256.Size]byte
	Err     error
}

// ExtractAll computes the vectors of n images on all cores. load returns the
// bytes of image i and is called concurrently. Results are in the order of the
// images. If an image cannot be loaded or decoded, its Result has the error and
// the others continue.
//
// When ctx ends, ExtractAll starts no further image and returns the results so
// far with ctx's error. Images not started have that error too.
func ExtractAll(ctx context.Context, n int, load func(i int) ([]byte, error), opts Options) ([]Result, error) {
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
				r.Content = decode.ContentDigest(data)
				r.Vectors, r.Err = e.photo(data, r.Content, opts)
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
