package feature

import (
	"crypto/sha256"
	"fmt"
	"sync"

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

// Photo returns the vectors of an encoded image file, and the embedding if opts
// has a network, from the cache if possible. It decodes the file at most once.
func (e *Extractor) Photo(data []byte, opts Options) (*Vectors, error) {
	return e.photo(data, decode.ContentDigest(data), opts)
}

// photo is Photo for a file with a known content digest.
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
