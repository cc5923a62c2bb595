package feature

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"

	"cpar"
)

// A Network makes an embedding of a picture: an image network and how pictures
// are prepared for it. It is called by several goroutines at once.
type Network interface {
	// Digest names all that decides what Embed returns: two networks of one
	// digest give the same values but for rounding.
	Digest() [sha256.Size]byte
	Embed(p *Picture) ([]float32, error)
}

// Embedding is what a network made of a photo, and which network that was.
type Embedding struct {
	Network [sha256.Size]byte
	Values  []float32
}

// decoding is one image file on its way to vectors. It is decoded at most once, and
// not at all where the cache has everything.
type decoding struct {
	data    []byte
	picture *Picture
}

func (p *decoding) decoded() (*Picture, error) {
	if p.picture == nil {
		var err error
		if p.picture, err = Decode(p.data); err != nil {
			return nil, err
		}
	}
	return p.picture, nil
}

// Photo computes the vectors of an image file's bytes, and the embedding where
// opts has a network, with the cache in front of both. Workers and Progress of
// opts are not used.
func (e *Extractor) Photo(data []byte, opts Options) (*Vectors, error) {
	p := &decoding{data: data}
	features := func([]byte) (*Vectors, error) {
		picture, err := p.decoded()
		if err != nil {
			return nil, err
		}
		return e.Extract(picture)
	}
	embed := func() ([]float32, error) {
		picture, err := p.decoded()
		if err != nil {
			return nil, err
		}
		return opts.Network.Embed(picture)
	}
	var v *Vectors
	var err error
	if opts.Cache != nil {
		v, err = opts.Cache.fromBytes(p.data, features)
	} else {
		v, err = features(p.data)
	}
	if err != nil || opts.Network == nil {
		return v, err
	}
	v.Embedding = &Embedding{Network: opts.Network.Digest()}
	if opts.Cache != nil {
		v.Embedding.Values, err = opts.Cache.embedding(sha256.Sum256(p.data), v.Embedding.Network, embed)
	} else {
		v.Embedding.Values, err = embed()
	}
	if err != nil {
		return nil, fmt.Errorf("computing the embedding: %w", err)
	}
	return v, nil
}

// Embeddings lie beside the features, one file an image and network. It is
// guarded as an entry of features is.
//
//	DIR/ab/abcd…ef.n0123456789abcdef   magic "cparembd" · version (4 bytes) · SHA-256 of the image (32)
//	                                   digest of the network (32) · values (float32) · CRC-32C of all that (4)
const (
	embeddingMagic   = "cparembd"
	embeddingVersion = 1
	embeddingHeader  = len(embeddingMagic) + 4 + 2*sha256.Size
)

func (c *Cache) embedding(key, network [sha256.Size]byte, compute func() ([]float32, error)) ([]float32, error) {
	name := hex.EncodeToString(key[:])
	path := filepath.Join(c.dir, name[:2], name+".n"+hex.EncodeToString(network[:8]))
	if b, err := os.ReadFile(path); err == nil {
		if values, err := decodeEmbedding(b, key, network); err == nil {
			return values, nil
		}
	}
	values, err := compute()
	if err != nil {
		return nil, err
	}
	_ = c.write(path, encodeEmbedding(key, network, values)) // see FromFile
	return values, nil
}

func encodeEmbedding(key, network [sha256.Size]byte, values []float32) []byte {
	b := make([]byte, 0, embeddingHeader+4*len(values)+4)
	b = append(b, embeddingMagic...)
	b = binary.LittleEndian.AppendUint32(b, embeddingVersion)
	b = append(append(b, key[:]...), network[:]...)
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeEmbedding(b []byte, key, network [sha256.Size]byte) ([]float32, error) {
	fail := func(what string) ([]float32, error) {
		return nil, fmt.Errorf("reading feature cache: %w: %s", cpar.ErrCorrupt, what)
	}
	body := len(b) - embeddingHeader - 4
	switch {
	case body < 4 || body%4 != 0:
		return fail("wrong length")
	case string(b[:len(embeddingMagic)]) != embeddingMagic:
		return fail("not an embedding")
	case binary.LittleEndian.Uint32(b[len(embeddingMagic):]) != embeddingVersion:
		return nil, fmt.Errorf("reading feature cache: %w", cpar.ErrVersion)
	case [sha256.Size]byte(b[embeddingHeader-2*sha256.Size:]) != key, [sha256.Size]byte(b[embeddingHeader-sha256.Size:]) != network:
		return fail("of another image or network")
	case crc32.Checksum(b[:len(b)-4], castagnoli) != binary.LittleEndian.Uint32(b[len(b)-4:]):
		return fail("checksum does not match")
	}
	values := make([]float32, body/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[embeddingHeader+4*i:]))
		if values[i]-values[i] != 0 {
			return fail("not a finite number")
		}
	}
	return values, nil
}
