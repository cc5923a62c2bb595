// Package envelope pads and encrypts blobs of an album.
//
//	bytes, binding ─▶ length ‖ bytes ‖ zeros ─AES-256-GCM─▶ blob
package envelope

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"

	"cpar"
	"cpar/internal/seed"
	"cpar/user/internal/aead"
)

// PageBytes divides the size of every sealed blob.
const PageBytes = 4096

// A Cipher encrypts the blobs of one kind. It is safe for concurrent use.
type Cipher struct {
	seed.Redacted
	box    *aead.Cipher
	source *seed.Source
}

// New returns the cipher for one kind of blobs of the album with this secret.
func New(secret seed.Secret, kind string) *Cipher {
	return &Cipher{box: aead.New(secret.Derive(kind)), source: seed.NewSource(secret.Derive("fresh"), rand.Reader)}
}

// Coders returns a function that makes a zstd encoder and decoder at its first call.
// At most `concurrent` calls decode at once, or one per core if it is 0, into at
// most `memory` bytes each.
func Coders(level zstd.EncoderLevel, concurrent int, memory uint64) func() (*zstd.Encoder, *zstd.Decoder) {
	return sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level))
		if err != nil {
			panic("envelope: a zstd encoder: " + err.Error())
		}
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(concurrent), zstd.WithDecoderMaxMemory(memory))
		if err != nil {
			panic("envelope: a zstd decoder: " + err.Error())
		}
		return e, d
	})
}

func Size(n int) int { return padded(4 + n + aead.Overhead) }

// padded returns the size to which n bytes are padded: a multiple of 4 KiB with
// few significant bits. This size reveals little about n. For large n, it exceeds n
// by at most 12 % (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files
// and Communication with PURBs", PETS 2019).
func padded(n int) int {
	n = max(n, 1)
	e := bits.Len(uint(n)) - 1
	s := bits.Len(uint(e))
	mask := max(1<<max(e-s, 0), PageBytes) - 1
	return (n + mask) &^ mask
}

// Seal pads and encrypts b. Open needs the same binding.
func (c *Cipher) Seal(b []byte, binding string) []byte {
	plain := make([]byte, 4, Size(len(b))-aead.Overhead)
	binary.LittleEndian.PutUint32(plain, uint32(len(b)))
	plain = append(plain, b...)[:cap(plain)]
	digest := sha256.Sum256(append(append([]byte(binding), 0), plain...))
	return c.box.Seal(nil, seed.New(c.source.Fresh("album", 0, digest)), plain, []byte(binding))
}

func (c *Cipher) Open(b []byte, binding string) ([]byte, error) {
	plain, err := c.box.Open(b, []byte(binding))
	if err != nil {
		return nil, err
	}
	if len(plain) < 4 || int(binary.LittleEndian.Uint32(plain)) > len(plain)-4 {
		return nil, fmt.Errorf("%w: its length is wrong", cpar.ErrCorrupt)
	}
	return plain[4 : 4+binary.LittleEndian.Uint32(plain)], nil
}
