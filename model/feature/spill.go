package feature

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"cpar"
)

// A Spill keeps the vectors of many photos in a temporary file instead of in
// memory. The file is encrypted with a random key that is never stored, so that
// nothing can be read once the process has ended. It is safe for concurrent
// use.
type Spill struct {
	file *os.File
	aead cipher.AEAD
	end  atomic.Int64
	// buffers holds *[]byte for reuse, because many short-lived buffers would
	// keep the garbage collector busy.
	buffers sync.Pool
}

// buffer returns a buffer of at least n bytes, for `s.buffers.Put`.
func (s *Spill) buffer(n int) *[]byte {
	b, ok := s.buffers.Get().(*[]byte)
	if !ok || cap(*b) < n {
		b = new(make([]byte, n))
	}
	return b
}

type place struct {
	spill *Spill
	at    int64
	size  int
}

// NewSpill makes a temporary file in a folder. The caller must close the Spill.
func NewSpill(folder string) (*Spill, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("encrypting features: %w", err)
	}
	s := new(Spill)
	if s.aead, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("encrypting features: %w", err)
	}
	if s.file, err = os.CreateTemp(folder, ".cpar-features-"); err != nil {
		return nil, fmt.Errorf("storing features: %w: %w", cpar.ErrStorage, err)
	}
	_ = os.Remove(s.file.Name()) // where the system allows it, so that a crash leaves no file
	return s, nil
}

// Close deletes the file.
func (s *Spill) Close() {
	s.file.Close()
	_ = os.Remove(s.file.Name())
}

// nonce is different for each place in the file.
func (s *Spill) nonce(at int64) []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, s.aead.NonceSize()-8), uint64(at))
}

// put stores v and returns its stand-in, which holds no values. If the file
// cannot be written, it returns v.
func (s *Spill) put(v *Vectors) *Vectors {
	out := &Vectors{stored: &place{spill: s}}
	n := vectorsSize + s.aead.Overhead()
	if v.Embedding != nil {
		n += 4 * len(v.Embedding.Values)
	}
	buffer := s.buffer(n)
	defer s.buffers.Put(buffer)
	body := appendVectors((*buffer)[:0], v)
	if e := v.Embedding; e != nil {
		out.Embedding = &Embedding{Network: e.Network}
		body = appendFloats(body, e.Values)
	}
	size := len(body) + s.aead.Overhead()
	at := s.end.Add(int64(size)) - int64(size)
	if _, err := s.file.WriteAt(s.aead.Seal(body[:0], s.nonce(at), body, nil), at); err != nil {
		return v
	}
	out.stored.at, out.stored.size = at, size
	return out
}

// Load returns v with its values, which it decrypts if they are in a Spill.
func (v *Vectors) Load() (*Vectors, error) {
	if v == nil || v.stored == nil {
		return v, nil
	}
	s := v.stored.spill
	buffer := s.buffer(v.stored.size)
	defer s.buffers.Put(buffer)
	b := (*buffer)[:v.stored.size]
	_, err := s.file.ReadAt(b, v.stored.at)
	if err == nil {
		b, err = s.aead.Open(b[:0], s.nonce(v.stored.at), b, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("reading stored features: %w: %w", cpar.ErrStorage, err)
	}
	out, _ := decodeVectors(b[:vectorsSize])
	if v.Embedding != nil {
		out.Embedding = &Embedding{Network: v.Embedding.Network}
		out.Embedding.Values, _ = decodeEmbedding(b[vectorsSize:])
	}
	return out, nil
}
