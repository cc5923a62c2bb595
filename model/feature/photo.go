package feature

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"cpar/internal/parallel"
	"cpar/photo/decode"
)

// An Encoder computes embeddings of images with an image network and its
// preprocessing. It is safe for concurrent use.
type Encoder interface {
	// Digest identifies everything that determines the results of Embed:
	// networks with the same digest give the same values up to rounding.
	Digest() [sha256.Size]byte
	Embed(p *decode.Image) ([]float32, error)
}

// An Embedding is a network's result for a photo, with the network's digest.
type Embedding struct {
	Network [sha256.Size]byte
	Values  []float32
}

// Photo returns the vectors of an encoded image file, including the embedding
// if opts.Network is set. It uses the cache if possible and decodes the file at
// most once.
func (e *Extractor) Photo(data []byte, opts Options) (*Vectors, error) {
	return e.photo(data, decode.ContentDigest(data), opts)
}

// photo is Photo for a file whose content digest, `key`, is known.
func (e *Extractor) photo(data []byte, key [sha256.Size]byte, opts Options) (*Vectors, error) {
	decoded := sync.OnceValues(func() (*decode.Image, error) { return decode.Decode(data) })
	v, err := opts.Cache.vectors(key, func() (*Vectors, error) {
		p, err := decoded()
		if err != nil {
			return nil, err
		}
		return e.Extract(p)
	})
	if err != nil || opts.Network == nil {
		return v, err
	}
	v.Embedding = &Embedding{Network: opts.Network.Digest()}
	v.Embedding.Values, err = opts.Cache.Embedding(key, v.Embedding.Network, func() ([]float32, error) {
		p, err := decoded()
		if err != nil {
			return nil, err
		}
		return opts.Network.Embed(p)
	})
	if err != nil {
		return nil, fmt.Errorf("computing the embedding: %w", err)
	}
	return v, nil
}

type Options struct {
	// Cache, if set, is consulted before an image is decoded.
	Cache *Cache
	// Network, if set, also computes an embedding of every image.
	Network Encoder
	// Progress, if set, is called serially after every image, including failed
	// ones. Each call raises `done` by one.
	Progress func(done, total int)
	// Spill, if set, keeps the vectors if there are many images. Function
	// ExtractAll then returns stand-ins, whose values Vectors.Load returns.
	Spill *Spill
}

// keptInMemory is the number of images up to which a Spill is not worthwhile.
const keptInMemory = 500

type Photo struct {
	Vectors  *Vectors // nil until they are computed, or if the image is unusable
	Keywords []string
	Content  [sha256.Size]byte // decode.ContentDigest of the file, zero if unknown
}

// ExtractAll computes the vectors of n images on all cores. It calls `load`
// concurrently for the bytes of image i. If image i cannot be loaded or
// decoded, errs[i] is set and the other images are still processed.
//
// When ctx ends, ExtractAll starts no further image. It then returns ctx's
// error and sets it for each image that it did not start.
func ExtractAll(ctx context.Context, n int, load func(i int) ([]byte, error), opts Options) (photos []Photo, errs []error, err error) {
	photos, errs = make([]Photo, n), make([]error, n)
	var mu sync.Mutex // guards done and calls of Progress
	done := 0
	parallel.Each(n, func() func(int) {
		e := NewExtractor()
		return func(i int) {
			p := &photos[i]
			if ctx.Err() != nil {
				errs[i] = fmt.Errorf("extracting features: %w", context.Cause(ctx))
				return
			}
			if data, err := load(i); err != nil {
				errs[i] = fmt.Errorf("loading image: %w", err)
			} else {
				p.Content = decode.ContentDigest(data)
				p.Vectors, errs[i] = e.photo(data, p.Content, opts)
				if opts.Spill != nil && n > keptInMemory && errs[i] == nil {
					p.Vectors = opts.Spill.put(p.Vectors)
				}
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
		return photos, errs, fmt.Errorf("extracting features: %w", context.Cause(ctx))
	}
	return photos, errs, nil
}
