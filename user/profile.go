package user

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"

	"cpar"
	"cpar/internal/wire"
	"cpar/kdforest"
	"cpar/user/internal/keyword"
	"cpar/user/rank"
)

// A profile is what the owner learnt from a collection and needs to turn a
// photo into a request: it is learnt from private photos and keywords and
// never crosses the wall unencrypted. It is stored, encrypted, with the index,
// so that a second device needs the key only.
type profile struct {
	id      cpar.IndexID
	records uint32
	// front turns photos into vectors.
	front front
	// ranker is what keywords are ranked by; nil for the paper's weights W_t.
	ranker *rank.Calibrated
	// split takes levels to the points that planes divide.
	split splitter
	// planes are the distinct (coordinate, value) splits of points in
	// ascending order; the split fields SF are their distinct coordinates.
	planes []kdforest.Plane[uint16]
	// centres holds the value, for each split field, that planes and requests
	// are measured from.
	centres []uint16
	// order says what order ciphertexts are.
	order OrderScheme
	// trees is 0 for an index without a forest, lists for one without an
	// inverted file.
	trees uint8
	lists uint32
	// farthest is the greatest Σz² of a record, which bounds what a score can
	// be; it must not grow after requests were made.
	farthest int64
	dict     *keyword.Dictionary
	scheme   cpar.Scheme
	// exact is what schemes sealed and local need; nil for the others.
	exact *exactProfile
}

// structures is as much of the index's manifest as says which searches it
// can serve.
func (p *profile) structures() *cpar.Manifest {
	return &cpar.Manifest{Scheme: p.scheme, Trees: p.trees, Lists: p.lists}
}

// An OrderScheme is how split values are encoded for the cloud.
type OrderScheme uint8

// The order schemes.
const (
	// OrderRank: dense ranks among the split values of a field, two bytes.
	// They reveal order and nothing else (ideal order-preserving security).
	OrderRank OrderScheme = 0
	// OrderOPE: the paper's order-preserving encryption (package ope), eight
	// bytes. It reveals the approximate values too.
	OrderOPE OrderScheme = 1
)

const (
	profileMagic   = "CPAR"
	profileKind    = 'P'
	profileVersion = 4
)

// appendBinary appends the canonical encoding of p; FORMAT.md draws it.
func (p *profile) appendBinary(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	b = append(b, profileMagic...)
	b = append(b, profileKind, 0)
	b = le.AppendUint16(b, profileVersion)
	b = append(b, p.id[:]...)
	b = le.AppendUint32(b, p.records)
	b = append(b, byte(p.order), p.trees)
	b = le.AppendUint32(b, p.lists)
	b = le.AppendUint64(b, uint64(p.farthest))
	b, err := appendFront(b, p.front)
	if err != nil {
		return nil, fmt.Errorf("writing profile: %w", err)
	}
	if b, err = p.split.appendBinary(b); err != nil {
		return nil, fmt.Errorf("writing profile: %w", err)
	}
	b = le.AppendUint32(b, uint32(len(p.planes)))
	for _, c := range p.planes {
		b = le.AppendUint16(b, uint16(c.Dim))
		b = le.AppendUint16(b, c.Value)
	}
	b = appendLevels(b, p.centres)
	words, start := p.dict.Words(), len(b)
	b = le.AppendUint32(b, uint32(len(words)))
	for _, w := range words {
		b = le.AppendUint16(b, uint16(len(w)))
		b = append(b, w...)
	}
	var ranker []byte
	if p.ranker != nil {
		if ranker, err = p.ranker.MarshalBinary(); err != nil {
			return nil, fmt.Errorf("writing profile: %w", err)
		}
	}
	b = append(le.AppendUint32(b, uint32(len(ranker))), ranker...)
	dictionary := len(b) - start
	b = append(b, byte(p.scheme))
	if p.exact == nil {
		return b, nil
	}
	if b, err = p.appendExact(b, dictionary); err != nil {
		return nil, fmt.Errorf("writing profile: %w", err)
	}
	return b, nil
}

func appendLevels(b []byte, v []uint16) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

func readLevels(r *wire.Reader, what string) []uint16 {
	v := make([]uint16, r.Count(2, what))
	for i := range v {
		v[i] = r.U16(what)
	}
	return v
}

func decodeProfile(b []byte) (*profile, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	if m := r.Bytes(4, "magic"); string(m) != profileMagic {
		r.Fail("this is not a profile")
	}
	kind, zero, version := r.U8("kind"), r.U8("reserved byte"), r.U16("version")
	if r.Err() == nil && version != profileVersion {
		return nil, fmt.Errorf("reading profile: %w: it has version %d, this program speaks version %d", cpar.ErrVersion, version, profileVersion)
	}
	if kind != profileKind || zero != 0 {
		r.Fail("this is not a profile")
	}
	p := new(profile)
	copy(p.id[:], r.Bytes(len(p.id), "index id"))
	p.records = r.U32("records")
	p.order = OrderScheme(r.U8("order scheme"))
	p.trees = r.U8("trees")
	p.lists = r.U32("lists")
	p.farthest = int64(r.U64("greatest norm"))
	if p.order > OrderOPE || p.farthest < 0 {
		r.Fail("order scheme %d, greatest norm %d", p.order, p.farthest)
	}
	var err error
	if p.front, err = readFront(r); err != nil {
		return nil, fmt.Errorf("reading profile: %w", err)
	}
	if p.split, err = readSplitter(r); err != nil {
		return nil, fmt.Errorf("reading profile: %w", err)
	}
	p.planes = make([]kdforest.Plane[uint16], r.Count(4, "planes"))
	for i := range p.planes {
		p.planes[i] = kdforest.Plane[uint16]{Dim: int(r.U16("plane dimension")), Value: r.U16("plane level")}
	}
	p.centres = readLevels(r, "centres")
	words, dictionary := make([]string, r.Count(2, "words")), 4
	for i := range words {
		words[i] = string(r.Bytes(int(r.U16("word length")), "word"))
		if !utf8.ValidString(words[i]) {
			r.Fail("word %d is not UTF-8", i)
		}
		dictionary += 2 + len(words[i])
	}
	ranker := r.Bytes(r.Count(1, "bytes of a ranker"), "ranker")
	dictionary += 4 + len(ranker)
	if len(ranker) > 0 {
		p.ranker = new(rank.Calibrated)
		if err := p.ranker.UnmarshalBinary(ranker); err != nil {
			return nil, fmt.Errorf("reading profile: %w", err)
		}
	}
	p.scheme = cpar.Scheme(r.U8("scheme"))
	if r.Err() == nil && (p.scheme == cpar.SchemeSealed || p.scheme == cpar.SchemeLocal) {
		if p.exact, err = readExact(r, p, dictionary); err != nil {
			return nil, fmt.Errorf("reading profile: %w", err)
		}
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading profile: %w", err)
	}
	if p.dict, err = keyword.FromWords(words); err != nil {
		return nil, fmt.Errorf("reading profile: %w", err)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("reading profile: %w: %w", cpar.ErrCorrupt, err)
	}
	return p, nil
}

// validate checks what the rest of the package relies on.
func (p *profile) validate() error {
	if p.records == 0 || p.front == nil {
		return fmt.Errorf("%d records", p.records)
	}
	if err := p.front.validate(); err != nil {
		return fmt.Errorf("profile %v: %w", p.front.kind(), err)
	}
	dims := p.front.shape().levels
	if p.split.basis != nil && p.split.basis.In() != dims {
		return fmt.Errorf("a split space of %d levels, not %d", p.split.basis.In(), dims)
	}
	if p.scheme < cpar.SchemeCPAR || p.scheme > cpar.SchemeLocal || p.scheme != cpar.SchemeCPAR && (p.trees > 0 || p.lists > 0) {
		return fmt.Errorf("scheme %v with %d trees and %d lists", p.scheme, p.trees, p.lists)
	}
	if err := p.validateExact(); err != nil {
		return err
	}
	points := p.split.dims(dims)
	ascending := func(a, b kdforest.Plane[uint16]) bool { return a.Dim < b.Dim || a.Dim == b.Dim && a.Value < b.Value }
	for i, c := range p.planes {
		if c.Dim >= points || c.Value > maxLevel || i > 0 && !ascending(p.planes[i-1], c) {
			return fmt.Errorf("plane %d", i)
		}
	}
	if len(p.centres) != len(p.fields()) {
		return fmt.Errorf("%d centres for %d split fields", len(p.centres), len(p.fields()))
	}
	for _, level := range p.centres {
		if level > maxLevel {
			return fmt.Errorf("level %d", level)
		}
	}
	return nil
}

// fields returns SF, the coordinates of points that planes cut, ascending.
func (p *profile) fields() []int {
	var f []int
	for _, c := range p.planes {
		if len(f) == 0 || f[len(f)-1] != c.Dim {
			f = append(f, c.Dim)
		}
	}
	return f
}

// sealProfile encrypts p with AES-256-GCM, bound to the index: nonce, then
// ciphertext. The key seals one message for each generation of the index (schemes
// cpar and capia have one), and more where a backup was restored, so the nonce is
// random; generations never come near 2³².
func sealProfile(p *profile, key [32]byte, rand io.Reader) ([]byte, error) {
	plain, err := p.appendBinary(nil)
	if err != nil {
		return nil, err
	}
	aead, err := profileCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := io.ReadFull(rand, out); err != nil {
		return nil, fmt.Errorf("encrypting profile: drawing a nonce: %w", err)
	}
	return aead.Seal(out, out, plain, profileBinding(p.id)), nil
}

// openProfile is the inverse of sealProfile. The segment's digest has been
// checked before, so what does not decrypt was encrypted with another key.
func openProfile(sealed []byte, key [32]byte, id cpar.IndexID) (*profile, error) {
	aead, err := profileCipher(key)
	if err != nil {
		return nil, err
	}
	n := aead.NonceSize()
	if len(sealed) < n {
		return nil, fmt.Errorf("opening profile: %w: it has %d bytes", cpar.ErrCorrupt, len(sealed))
	}
	plain, err := aead.Open(nil, sealed[:n], sealed[n:], profileBinding(id))
	if err != nil {
		return nil, fmt.Errorf("opening index %v: %w: the index was built with another key", id, cpar.ErrKey)
	}
	p, err := decodeProfile(plain)
	if err != nil {
		return nil, err
	}
	if p.id != id {
		return nil, fmt.Errorf("opening index %v: %w: its profile is of index %v", id, cpar.ErrCorrupt, p.id)
	}
	return p, nil
}

func profileCipher(key [32]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func profileBinding(id cpar.IndexID) []byte { return append([]byte("cpar/v1/profile"), id[:]...) }
