package catalogue

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"cpar"
	"cpar/internal/seed"
	"cpar/user/album/blobs"
	"cpar/user/internal/aead"
)

// A segment is a set of changes to the rows and pins of earlier segments.
type segment struct {
	photos    []*Photo // added or replaced
	removed   []Key
	pins      map[string]blobs.Pin
	unpinned  []string
	ancestors []byte // digests of the generations before each commit to the segment, oldest first
}

// ancestorBytes is the length of an ancestor's digest, as in user.History.
const ancestorBytes = 8

// merge returns a segment with the effect of several segments in order. If bottom
// is set, no earlier segments exist, so the result removes nothing.
func merge(all []*segment, bottom bool) *segment {
	out := &segment{pins: map[string]blobs.Pin{}}
	photos, removed, unpinned := map[Key]*Photo{}, map[Key]bool{}, map[string]bool{}
	for _, s := range all {
		for _, k := range s.removed {
			delete(photos, k)
			removed[k] = true
		}
		for _, p := range s.photos {
			photos[p.Key()] = p
			delete(removed, p.Key())
		}
		for _, name := range s.unpinned {
			delete(out.pins, name)
			unpinned[name] = true
		}
		for name, p := range s.pins {
			out.pins[name] = p
			delete(unpinned, name)
		}
		out.ancestors = append(out.ancestors, s.ancestors...)
	}
	out.photos = slices.SortedFunc(maps.Values(photos), comparePhotos)
	if !bottom {
		out.removed = slices.SortedFunc(maps.Keys(removed), compareKeys)
		out.unpinned = slices.Sorted(maps.Keys(unpinned))
	}
	return out
}

// A State contains the rows and pins of a generation. Callers must not modify it.
type State struct {
	Number uint64
	Pins   map[string]blobs.Pin
	photos map[Key]*Photo
	// ancestors contains the digests of all earlier generations, oldest first.
	ancestors []byte
	sorted    func() []*Photo
}

func newState(number uint64, all []*segment) *State {
	whole := all[:len(all):len(all)]
	s := &State{Number: number, photos: map[Key]*Photo{}}
	if len(whole) == 1 {
		only := whole[0]
		s.Pins, s.ancestors = only.pins, only.ancestors
		for _, p := range only.photos {
			s.photos[p.Key()] = p
		}
		s.sorted = func() []*Photo { return only.photos }
		return s
	}
	m := merge(whole, true)
	s.Pins, s.ancestors = m.pins, m.ancestors
	for _, p := range m.photos {
		s.photos[p.Key()] = p
	}
	s.sorted = func() []*Photo { return m.photos }
	return s
}

// Photos returns all rows by folder and name, including those in the trash.
func (s *State) Photos() []*Photo { return s.sorted() }

// Photo returns the photo of a path that is not in the trash, or nil.
func (s *State) Photo(path string) *Photo { return s.photos[Key{Path: path}] }

var coders = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		panic("catalogue: a zstd encoder: " + err.Error())
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		panic("catalogue: a zstd decoder: " + err.Error())
	}
	return e, d
})

// padded returns the size to which n bytes are padded: a multiple of 4 KiB with
// few significant bits. It reveals little about n and is at most 12 % larger if n
// is large (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and
// Communication with PURBs", PETS 2019).
func padded(n int) int {
	n = max(n, 1)
	e := bits.Len(uint(n)) - 1
	s := bits.Len(uint(e))
	mask := max(1<<max(e-s, 0), 4096) - 1
	return (n + mask) &^ mask
}

type cipher struct {
	seed.Redacted
	box    *aead.Cipher
	source *seed.Source
}

func newCipher(secret seed.Secret) *cipher {
	return &cipher{box: aead.New(secret.Derive("catalogue")), source: seed.NewSource(secret.Derive("fresh"), rand.Reader)}
}

// seal pads and encrypts b. Function open needs the same binding.
func (c *cipher) seal(b []byte, binding string) []byte {
	plain := binary.LittleEndian.AppendUint32(nil, uint32(len(b)))
	plain = append(plain, b...)
	plain = append(plain, make([]byte, padded(len(plain)+aead.Overhead)-len(plain)-aead.Overhead)...)
	digest := sha256.Sum256(append(append([]byte(binding), 0), plain...))
	return c.box.Seal(nil, seed.New(c.source.Fresh("album", 0, digest)), plain, []byte(binding))
}

func (c *cipher) open(b []byte, binding string) ([]byte, error) {
	plain, err := c.box.Open(b, []byte(binding))
	if err != nil {
		return nil, err
	}
	if len(plain) < 4 || int(binary.LittleEndian.Uint32(plain)) > len(plain)-4 {
		return nil, fmt.Errorf("%w: its length is wrong", cpar.ErrCorrupt)
	}
	return plain[4 : 4+binary.LittleEndian.Uint32(plain)], nil
}

func (c *cipher) sealSegment(s *segment, name string) []byte {
	e, _ := coders()
	return c.seal(e.EncodeAll(s.appendBinary(nil), nil), "cpar/v1/album segment/"+name)
}

func (c *cipher) openSegment(b []byte, name string) (*segment, error) {
	packed, err := c.open(b, "cpar/v1/album segment/"+name)
	if err != nil {
		return nil, err
	}
	_, d := coders()
	plain, err := d.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
	}
	return readSegment(plain)
}
