package feature

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// A Cache keeps vectors and embeddings, so that a photo is looked at only once, and a word
// embedded once. What is kept of a photo is named by what the picture shows (picture.Content): renaming or moving a photo, or
// giving it other keywords, keeps its entries; editing it does not.
//
// It lies in one of two places: in a vault (NewCache), encrypted under the owner's key and
// bounded, or in a folder in the clear (OpenCache), for measurements, where there is no key.
//
// An entry that is damaged, truncated or of another version counts as missing; it is
// computed again and replaced. A Cache is safe for concurrent use, also by several
// processes. A nil *Cache keeps nothing.
type Cache struct {
	store store
	// readOnly is for dry runs.
	readOnly bool
}

// A store keeps values by kind and name; a *vault.Vault is one.
type store interface {
	Get(kind string, name []byte) (value []byte, ok bool)
	Put(kind string, name, value []byte) error
}

// NewCache is a cache in a vault, or in another store of the kind.
func NewCache(s store) *Cache { return &Cache{store: s} }

// ReadOnly is the same cache, which nothing is written to.
func (c *Cache) ReadOnly() *Cache {
	if c == nil {
		return nil
	}
	return &Cache{store: c.store, readOnly: true}
}

// embeddingVersion identifies how embeddings are kept.
const embeddingVersion = 1

var (
	vectorsKind   = fmt.Sprintf("features %d", Version)
	embeddingKind = fmt.Sprintf("embedding %d", embeddingVersion)
	textKind      = fmt.Sprintf("text %d", embeddingVersion)
)

// cached is the value of an entry, or what compute makes, which is kept. If keeping it fails,
// it is still returned.
func cached[T any](c *Cache, kind string, name []byte, decode func([]byte) (T, bool), compute func() (T, error), encode func(T) []byte) (T, error) {
	if c != nil {
		if body, ok := c.store.Get(kind, name); ok {
			if value, ok := decode(body); ok {
				return value, nil
			}
		}
	}
	value, err := compute()
	if err == nil && c != nil && !c.readOnly {
		_ = c.store.Put(kind, name, encode(value))
	}
	return value, err
}

// vectors are those of the picture with this content.
func (c *Cache) vectors(content [sha256.Size]byte, compute func() (*Vectors, error)) (*Vectors, error) {
	decode := func(b []byte) (*Vectors, bool) {
		if len(b) != vectorsSize {
			return nil, false
		}
		return decodeVectors(b), true
	}
	return cached(c, vectorsKind, content[:], decode, compute, encodeVectors)
}

// Embedding is the result of a network for the picture with this content.
func (c *Cache) Embedding(content, network [sha256.Size]byte, compute func() ([]float32, error)) ([]float32, error) {
	return cached(c, embeddingKind, append(content[:], network[:]...), decodeEmbedding, compute, encodeEmbedding)
}

// Text is the vector of a text, or of what is made of several, under a name that identifies
// all that it depends on.
func (c *Cache) Text(name [sha256.Size]byte, compute func() ([]float32, error)) ([]float32, error) {
	return cached(c, textKind, name[:], decodeEmbedding, compute, encodeEmbedding)
}

func encodeEmbedding(v []float32) []byte { return appendFloats(nil, v) }

func decodeEmbedding(b []byte) ([]float32, bool) {
	if len(b) == 0 || len(b)%4 != 0 {
		return nil, false
	}
	values := make([]float32, len(b)/4)
	readFloats(values, b)
	return values, true
}

// vectorsSize is the length of the body of a vectors entry.
var vectorsSize = func() (n int) {
	for _, b := range blocks {
		n += b.size()
	}
	return n
}()

// size is the length of a block in an entry.
func (b Block) size() int {
	if b.Kind == Quantised { // a byte each
		return b.Len
	}
	return 4 * b.Len
}

func encodeVectors(v *Vectors) []byte {
	body := make([]byte, 0, vectorsSize)
	for _, b := range blocks {
		if b.Kind != Quantised {
			body = appendFloats(body, b.Of(v))
			continue
		}
		for _, x := range b.Of(v) {
			body = append(body, byte(int8(x)))
		}
	}
	return body
}

func decodeVectors(body []byte) *Vectors {
	v := New()
	for _, b := range blocks {
		values := b.Of(v)
		if b.Kind != Quantised {
			readFloats(values, body)
		} else {
			for i := range values {
				values[i] = float32(int8(body[i]))
			}
		}
		body = body[b.size():]
	}
	return v
}

func appendFloats(b []byte, values []float32) []byte {
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func readFloats(to []float32, b []byte) {
	for i := range to {
		to[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}
