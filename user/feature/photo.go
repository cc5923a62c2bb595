package feature

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"cpar/user/picture"
)

// A Network makes an embedding of a picture: an image network and how pictures
// are prepared for it. It is called by several goroutines at once.
type Network interface {
	// Digest names everything that decides what Embed returns: two networks of
	// one digest give the same values but for rounding.
	Digest() [sha256.Size]byte
	Embed(p *picture.Picture) ([]float32, error)
}

// An Embedding is what a network made of a photo, and which network that was.
type Embedding struct {
	Network [sha256.Size]byte
	Values  []float32
}

// Photo computes the vectors of an image file's bytes, and the embedding if opts
// has a network, unless the cache has them. The file is decoded at most once.
// Photo ignores Progress in opts.
func (e *Extractor) Photo(data []byte, opts Options) (*Vectors, error) {
	decoded := sync.OnceValues(func() (*picture.Picture, error) { return picture.Decode(data) })
	var key [sha256.Size]byte
	if opts.Cache != nil {
		key = sha256.Sum256(data)
	}
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
	v.Embedding.Values, err = opts.Cache.embedding(key, v.Embedding.Network, func() ([]float32, error) {
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
