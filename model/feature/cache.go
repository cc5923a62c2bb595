package feature

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// A Cache stores vectors and embeddings under a digest of the image's content
// (decode.ContentDigest). Entries therefore stay valid when a photo is renamed
// or its keywords change.
//
// NewCache encrypts entries under the owner's key and bounds their size
// (package user/localstore). OpenCache keeps plaintext in a folder, for
// measurements. Damaged or outdated entries count as missing. Several
// goroutines and processes may use a Cache. A nil *Cache stores nothing.
type Cache struct {
	store    store
	readOnly bool
}

type store interface {
	Get(kind string, name []byte) (value []byte, ok bool)
	Put(kind string, name, value []byte) error
}

func NewCache(s store) *Cache { return &Cache{store: s} }

// ReadOnly returns a view of c that never writes.
func (c *Cache) ReadOnly() *Cache {
	if c == nil {
		return nil
	}
	return &Cache{store: c.store, readOnly: true}
}

const embeddingVersion = 1

var (
	vectorsKind   = fmt.Sprintf("features %d", Version)
	embeddingKind = fmt.Sprintf("embedding %d", embeddingVersion)
	textKind      = fmt.Sprintf("text %d", embeddingVersion)
)

// cached returns the stored value, or computes it and tries to store it.
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

func (c *Cache) vectors(content [sha256.Size]byte, compute func() (*Vectors, error)) (*Vectors, error) {
	return cached(c, vectorsKind, content[:], decodeVectors, compute, encodeVectors)
}

// Put stores the vectors of the image with digest `content`, with their
// embedding if there is one.
func (c *Cache) Put(content [sha256.Size]byte, v *Vectors) error {
	err := c.store.Put(vectorsKind, content[:], encodeVectors(v))
	if err == nil && v.Embedding != nil {
		err = c.store.Put(embeddingKind, append(content[:], v.Embedding.Network[:]...), encodeEmbedding(v.Embedding.Values))
	}
	return err
}

// Embedding returns the embedding of the image with digest `content` by the
// network with digest `network`.
func (c *Cache) Embedding(content, network [sha256.Size]byte, compute func() ([]float32, error)) ([]float32, error) {
	return cached(c, embeddingKind, append(content[:], network[:]...), decodeEmbedding, compute, encodeEmbedding)
}

// Text returns the vector that a text network gives for some texts. `name`
// identifies everything that determines the vector.
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

var vectorsSize = func() (n int) {
	for _, b := range blocks {
		n += b.size()
	}
	return n
}()

func (b Block) size() int {
	if b.Kind == Quantised { // one byte per value
		return b.Len
	}
	return 4 * b.Len
}

func encodeVectors(v *Vectors) []byte { return appendVectors(make([]byte, 0, vectorsSize), v) }

func appendVectors(body []byte, v *Vectors) []byte {
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

func decodeVectors(body []byte) (*Vectors, bool) {
	if len(body) != vectorsSize {
		return nil, false
	}
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
	return v, true
}

func appendFloats(b []byte, values []float32) []byte {
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func readFloats(values []float32, b []byte) {
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}
