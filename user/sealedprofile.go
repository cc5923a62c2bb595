package user

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/lattice"
	"cpar/internal/wire"
)

// exactProfile is what a profile of scheme sealed or local holds besides.
type exactProfile struct {
	// generation grows by one with every update.
	generation uint64
	// begun is the generation that the index id began with: 1, but for an index
	// that Compact made. Keys are those of the id.
	begun uint64
	// origin is the index whose projection the records were made with. A
	// compacted index has an id of its own and vectors of before.
	origin cpar.IndexID
	// contents is the digest of all segments but the profile: who can decrypt
	// the profile knows that they belong together.
	contents [sha256.Size]byte
	// removed has bit i mod 8 of byte i/8 set where record i was removed. It is as
	// long as the records need, whether or not any were.
	removed []byte
	// params and check are of scheme sealed only.
	params lattice.Params
	check  checkSums
}

// paddedWords is what the dictionary of such a profile is filled up to a
// multiple of: the length of the profile tells the cloud nothing about words.
const paddedWords = 1 << 16

func bitmapSize(records uint32) int { return int((records + 7) / 8) }

// isRemoved is whether a record was removed.
func (e *exactProfile) isRemoved(record int) bool { return e.removed[record/8]>>(record%8)&1 == 1 }

func (e *exactProfile) remove(record int) { e.removed[record/8] |= 1 << (record % 8) }

// live is the number of records that were not removed.
func (p *profile) live() int {
	n := int(p.records)
	for i := range n {
		if p.exact.isRemoved(i) {
			n--
		}
	}
	return n
}

// startExact adds the parts of scheme sealed or local to a new profile.
func (p *profile) startExact(block int) error {
	q, err := newQuantiser(p.front.shape().plain, block)
	if err != nil {
		return err
	}
	p.exact = &exactProfile{generation: 1, begun: 1, origin: p.id, removed: make([]byte, bitmapSize(p.records))}
	if p.scheme == cpar.SchemeSealed {
		p.exact.params = q.params
		p.exact.check.vector = make([]uint64, q.dim())
	}
	return nil
}

// maxKeywordBlocks is how many messages under random nonces of 96 bits one key of
// AES-GCM is good for: two nonces are then equal with a chance of 2⁻³³ at most (NIST
// SP 800-38D, section 8.3, asks for 2⁻³²).
const maxKeywordBlocks = 1 << 32

// checkNonces refuses a state that could have come to more than that. Every
// update encrypts the keywords of all records under the key of the index id, so
// with records never growing fewer the blocks so far are at most records times
// generations of the id. What was encrypted in copies restored from a backup is
// not known here. Of the other keys, `profile` and `hints` serve one message a
// generation and `local` at most one a record.
func (p *profile) checkNonces() error {
	hi, blocks := bits.Mul64(uint64(p.records), p.exact.generation-p.exact.begun+1)
	if hi == 0 && blocks <= maxKeywordBlocks {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %d records in generation %d since %d have used up the key of their keywords", cpar.ErrInput, p.records, p.exact.generation, p.exact.begun),
		"compact the index first: that gives it new keys")
}

// origin is the index id that the projection is derived with.
func (p *profile) origin() cpar.IndexID {
	if p.exact != nil {
		return p.exact.origin
	}
	return p.id
}

// quantiser is that of an index of scheme sealed or local.
func (p *profile) quantiser() (*quantiser, error) {
	if p.scheme == cpar.SchemeLocal {
		return newQuantiser(p.front.shape().plain, 0)
	}
	q, err := newQuantiser(p.front.shape().plain, p.exact.params.Block)
	if err == nil {
		q.params = p.exact.params
	}
	return q, err
}

// appendExact appends the parts of schemes sealed and local. words is the length
// of the encoded dictionary.
func (p *profile) appendExact(b []byte, words int) ([]byte, error) {
	e, le := p.exact, binary.LittleEndian
	b = le.AppendUint64(b, e.generation)
	b = le.AppendUint64(b, e.begun)
	b = append(b, e.origin[:]...)
	b = append(b, e.contents[:]...)
	b = append(b, e.removed...)
	if p.scheme == cpar.SchemeSealed {
		var err error
		if b, err = e.params.AppendBinary(b); err != nil {
			return nil, err
		}
		b = wire.AppendWords(b, e.check.vector)
		b = le.AppendUint64(b, e.check.addend)
	}
	return append(b, make([]byte, wordPadding(words))...), nil
}

func wordPadding(words int) int { return (paddedWords - words%paddedWords) % paddedWords }

func readExact(r *wire.Reader, p *profile, words int) (*exactProfile, error) {
	e := &exactProfile{generation: r.U64("generation"), begun: r.U64("first generation")}
	copy(e.origin[:], r.Bytes(len(e.origin), "origin"))
	copy(e.contents[:], r.Bytes(len(e.contents), "digest of contents"))
	e.removed = bytes.Clone(r.Bytes(bitmapSize(p.records), "removed records"))
	if tail := p.records % 8; r.Err() == nil && tail != 0 && e.removed[len(e.removed)-1]>>tail != 0 {
		r.Fail("a record that is not there was removed")
	}
	if p.scheme == cpar.SchemeSealed {
		params := r.Bytes(lattice.ParamsSize, "parameters")
		if r.Err() != nil {
			return nil, r.Err()
		}
		var err error
		if e.params, err = lattice.DecodeParams(params); err != nil {
			return nil, err
		}
		e.check.vector = r.Words(e.params.Dim, "check of vectors")
		e.check.addend = r.U64("check of addends")
	}
	if !allZero(r.Bytes(wordPadding(words), "padding")) {
		r.Fail("the padding is not zero")
	}
	return e, r.Err()
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// validateExact checks what the rest of the package relies on.
func (p *profile) validateExact() error {
	exact := p.scheme == cpar.SchemeSealed || p.scheme == cpar.SchemeLocal
	switch {
	case !exact && p.exact == nil:
		return nil
	case !exact || p.exact == nil:
		return fmt.Errorf("scheme %v", p.scheme)
	case len(p.planes) != 0:
		return fmt.Errorf("%d planes with scheme %v", len(p.planes), p.scheme)
	case p.exact.begun == 0 || p.exact.generation < p.exact.begun || len(p.exact.removed) != bitmapSize(p.records):
		return fmt.Errorf("generation %d from %d, %d bytes for removed records", p.exact.generation, p.exact.begun, len(p.exact.removed))
	case p.scheme == cpar.SchemeLocal:
		return nil
	}
	q, err := newQuantiser(p.front.shape().plain, p.exact.params.Block)
	if err != nil || q.params != p.exact.params {
		return fmt.Errorf("sealed parameters that are not the profile's")
	}
	for _, x := range append(p.exact.check.vector[:len(p.exact.check.vector):len(p.exact.check.vector)], p.exact.check.addend) {
		if x >= checkPrime {
			return fmt.Errorf("a check that is not below its modulus")
		}
	}
	if len(p.exact.check.vector) != q.dim() {
		return fmt.Errorf("a check of %d coordinates", len(p.exact.check.vector))
	}
	return nil
}

// contents is the digest of what a manifest says but for its profile.
func contents(m *cpar.Manifest) [sha256.Size]byte {
	b := append([]byte("cpar/v1/contents"), m.ID[:]...)
	b = append(b, byte(m.Scheme))
	for _, x := range []uint32{m.Records, m.Dim, m.KeywordBytes} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	for _, s := range m.Segments {
		if s.Kind == cpar.SegmentLedger {
			continue
		}
		b = append(b, byte(s.Kind))
		b = binary.LittleEndian.AppendUint64(b, s.Bytes)
		b = append(b, s.Digest[:]...)
	}
	return sha256.Sum256(b)
}
