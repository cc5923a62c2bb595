package feature

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"cpar"
)

// Options say how All works; the zero value will do.
type Options struct {
	// Workers is the number of images extracted at once; 0 means one a core.
	Workers int
	// Cache, if any, is asked before an image is decoded.
	Cache *Cache
	// Network, if any, gives every image an embedding too.
	Network Network
	// Progress, if any, is told after every image how many of total are done,
	// the bad ones included. It is called by one goroutine at a time, with
	// done rising by one.
	Progress func(done, total int)
}

// A Result is what became of one image: vectors or the reason for none.
type Result struct {
	Vectors *Vectors
	Err     error
}

// All extracts n images in parallel. load returns the bytes of image i and is
// called by several goroutines at once. Results are in the order of the images;
// an image that cannot be loaded or used has its error there and stops nothing.
//
// When ctx ends, All starts no further image, and returns what it has with
// ctx's error; images not begun have that error too.
func All(ctx context.Context, n int, load func(i int) ([]byte, error), opts Options) ([]Result, error) {
	if n < 0 || load == nil {
		return nil, fmt.Errorf("extracting features: %w: no images to load", cpar.ErrInput)
	}
	workers := opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	p := &pool{n: n, load: load, opts: opts, results: make([]Result, n)}
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() { p.work(ctx) })
	}
	group.Wait()
	if p.next < n { // only a cancelled run leaves images unclaimed
		for i := p.next; i < n; i++ {
			p.results[i].Err = fmt.Errorf("extracting features: %w", context.Cause(ctx))
		}
		return p.results, fmt.Errorf("extracting features: %w", context.Cause(ctx))
	}
	return p.results, nil
}

// pool is the state that the workers of one All share.
type pool struct {
	n       int
	load    func(i int) ([]byte, error)
	opts    Options
	results []Result // each element written by the worker that claimed it

	mu   sync.Mutex // guards next, done and calls of Progress
	next int
	done int

	huge sync.Mutex // held while a picture of hugePixels or more is in memory
}

func (p *pool) work(ctx context.Context) {
	e := NewExtractor()
	for {
		p.mu.Lock()
		i := p.next
		if i >= p.n || ctx.Err() != nil {
			p.mu.Unlock()
			return
		}
		p.next++
		p.mu.Unlock()

		p.results[i].Vectors, p.results[i].Err = p.one(i, e)

		p.mu.Lock()
		p.done++
		if p.opts.Progress != nil {
			p.opts.Progress(p.done, p.n)
		}
		p.mu.Unlock()
	}
}

func (p *pool) one(i int, e *Extractor) (*Vectors, error) {
	data, err := p.load(i)
	if err != nil {
		return nil, fmt.Errorf("loading image: %w", err)
	}
	// A hundred megapixels of progressive JPEG take most of a gigabyte: one at a
	// time, however many workers there are.
	if _, cfg, err := inspect(data); err == nil && cfg.Width*cfg.Height >= hugePixels {
		p.huge.Lock()
		defer p.huge.Unlock()
	}
	return e.Photo(data, p.opts)
}
