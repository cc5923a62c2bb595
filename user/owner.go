package user

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/encoder"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/index"
)

// An Owner holds a key and one generation of an index. It makes requests and
// reads replies. It is safe for concurrent use and prints as redacted.
type Owner struct {
	seed.Redacted
	Label
	index    *index.Index
	scheme   scheme
	manifest cpar.Manifest
	// ranks is the ledger's ranker. Hold updates its word counts.
	ranks   atomic.Pointer[rank.Ranker]
	tagged  atomic.Int64
	network atomic.Pointer[encoder.Encoder]
	cache   atomic.Pointer[feature.Cache]
}

func newOwner(l *ledger, x *index.Index, s scheme) *Owner {
	o := &Owner{Label: Label{l}, index: x, scheme: s, manifest: cpar.Manifest{ID: l.id, Scheme: l.scheme, Records: uint32(l.records)}}
	s.Describe(&o.manifest)
	l.live = s.Live()
	o.ranks.Store(&l.ranker)
	return o
}

// A Fetch returns the stored bytes of a segment, still encrypted.
type Fetch func(s cpar.Segment) ([]byte, error)

// Open opens an index with its key. It rejects bytes that do not match the
// manifest's digests (ErrCorrupt), the key of another index (ErrKey), and a
// scheme that the key does not allow (ErrInput).
func Open(key *Key, m *cpar.Manifest, fetch Fetch) (*Owner, error) {
	o, err := open(key, m, fetch, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("opening index %v: %w", m.ID, err)
	}
	return o, nil
}

func open(key *Key, m *cpar.Manifest, fetch Fetch, random io.Reader) (*Owner, error) {
	l, r, err := openLedger(key, m, fetch)
	if err != nil {
		return nil, err
	}
	if err := key.Check(l.scheme); err != nil {
		return nil, err
	}
	encrypted, err := checked(m, cpar.SegmentProfile, fetch)
	if err != nil {
		return nil, err
	}
	f, err := decryptFitted(encrypted, key, m.ID)
	if err != nil {
		return nil, err
	}
	if err := l.addFitted(f); err != nil {
		return nil, fmt.Errorf("reading ledger: %w", err)
	}
	x, err := l.index(key, random)
	if err != nil {
		return nil, err
	}
	s, err := l.openScheme(x, r)
	if err != nil {
		return nil, fmt.Errorf("reading ledger: %w", err)
	}
	o := newOwner(l, x, s)
	return o, o.checkManifest(m)
}

// openLedger reads the ledger up to the scheme's part, which the returned
// reader reads next. It checks the manifest against the ledger before any
// other part of the index is trusted.
func openLedger(key *Key, m *cpar.Manifest, fetch Fetch) (*ledger, *wire.Reader, error) {
	encrypted, err := checked(m, cpar.SegmentLedger, fetch)
	if err != nil {
		return nil, nil, err
	}
	plain, err := decryptLedger(encrypted, key, m.ID)
	if err != nil {
		return nil, nil, err
	}
	r := wire.NewReader(plain, cpar.ErrCorrupt)
	l, err := readLedger(r)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("reading ledger: %w", err)
	case l.contents != contentsOf(m):
		return nil, nil, fmt.Errorf("%w: its ledger and manifest name different segments", cpar.ErrCorrupt)
	}
	l.digest = ledgerDigest(plain)
	return l, r, nil
}

func (l *ledger) openScheme(x *index.Index, r *wire.Reader) (scheme, error) {
	s, err := schemes[l.scheme].open(x, r)
	if err == nil {
		err = r.Close()
	}
	if err == nil && s.Live() != l.live {
		err = fmt.Errorf("%w: the index has %d searchable records, but its ledger states %d", cpar.ErrCorrupt, s.Live(), l.live)
	}
	return s, err
}

func checked(m *cpar.Manifest, kind cpar.SegmentKind, fetch Fetch) ([]byte, error) {
	s, ok := m.Segment(kind)
	if !ok {
		return nil, fmt.Errorf("%w: its manifest names no %v", cpar.ErrCorrupt, kind)
	}
	b, err := fetch(s)
	if err == nil && s.Digest != sha256.Sum256(b) {
		err = hint.Add(fmt.Errorf("%w: the %v is not the one that its manifest names", cpar.ErrCorrupt, kind),
			"it belongs to another index, or to another state of this one; fetch manifest and %v again", kind)
	}
	return b, err
}

// checkManifest rejects a manifest that does not match the ledger, because the
// server may mix generations.
func (o *Owner) checkManifest(m *cpar.Manifest) error {
	d := &o.manifest
	switch {
	case m.ID != d.ID || m.Scheme != d.Scheme || m.Records != d.Records || m.Dim != d.Dim || m.Shift != d.Shift ||
		m.Trees != d.Trees || m.Fields != d.Fields || m.Lists != d.Lists:
		return fmt.Errorf("%w: its ledger describes %d records and %d coordinates, its manifest %d and %d", cpar.ErrCorrupt, d.Records, d.Dim, m.Records, m.Dim)
	case contentsOf(m) != o.ledger.contents:
		return fmt.Errorf("%w: its ledger and manifest name different segments", cpar.ErrCorrupt)
	}
	return nil
}

// Keywords returns the sorted keywords of the collection.
func (o *Owner) Keywords() []string { return slices.Sorted(slices.Values(o.ledger.dict.Words())) }

func (o *Owner) Profile() profile.Profile { return o.ledger.profile }

// Projector returns the projection from vectors to integers for encryption.
// With profile "paper", the projection is secret.
func (o *Owner) Projector() profile.Projector { return o.index.Projector }

// Needs returns the segments of m that the owner must hold before annotating a
// photo. These segments do not depend on the photo.
func (o *Owner) Needs(m *cpar.Manifest) []cpar.Segment {
	var out []cpar.Segment
	for _, s := range m.Segments {
		if o.scheme.Needs(s.Kind) {
			out = append(out, s)
		}
	}
	return out
}

// Hold decrypts and keeps the segments named by Needs.
func (o *Owner) Hold(m *cpar.Manifest, segments map[cpar.Digest][]byte) error {
	if err := o.hold(m, segments); err != nil {
		return fmt.Errorf("holding index %v: %w", o.ID(), err)
	}
	return nil
}

func (o *Owner) hold(m *cpar.Manifest, segments map[cpar.Digest][]byte) error {
	if err := o.checkManifest(m); err != nil {
		return err
	}
	held := map[cpar.SegmentKind][][]byte{}
	for _, s := range o.Needs(m) {
		b, ok := segments[s.Digest]
		switch {
		case !ok:
			return fmt.Errorf("%w: segment %v %.8v… was not fetched", cpar.ErrInput, s.Kind, s.Digest)
		case sha256.Sum256(b) != s.Digest:
			return fmt.Errorf("%w: segment %v does not match its digest", cpar.ErrCorrupt, s.Kind)
		}
		held[s.Kind] = append(held[s.Kind], b)
	}
	if err := o.scheme.Hold(held); err != nil {
		return err
	}
	counts, photos := o.scheme.Count()
	o.tagged.Store(int64(photos))
	if c, ok := o.ledger.ranker.(*rank.Calibrated); ok && counts != nil {
		counted := rank.Ranker(c.WithCounts(counts, photos))
		o.ranks.Store(&counted)
	}
	return nil
}

// Tagged returns the number of photos with keywords, as of Hold.
func (o *Owner) Tagged() int { return int(o.tagged.Load()) }

// SetEncoder sets the image network that the index was built with. It rejects nil and
// any other network (ErrInput). If the profile needs no network, it does nothing.
func (o *Owner) SetEncoder(n *encoder.Encoder) error {
	want, needed := o.ledger.profile.Network()
	switch {
	case !needed:
		return nil
	case n == nil:
		return fmt.Errorf("opening index %v: %w", o.ID(), profile.NoNetwork())
	case n.Digest() != want:
		return fmt.Errorf("opening index %v: %w", o.ID(), profile.OtherNetwork(want, n.Digest()))
	}
	o.network.Store(n)
	return nil
}

// SetFeatureCache sets the cache used by Features. It may be nil.
func (o *Owner) SetFeatureCache(c *feature.Cache) { o.cache.Store(c) }

var extractors = sync.Pool{New: func() any { return feature.NewExtractor() }}

// Features computes the features of a photo that the profile needs.
func (o *Owner) Features(photo []byte) (*feature.Vectors, error) {
	return o.features(photo, o.cache.Load())
}

// UncachedFeatures is like Features but bypasses the cache.
func (o *Owner) UncachedFeatures(photo []byte) (*feature.Vectors, error) {
	return o.features(photo, nil)
}

func (o *Owner) features(photo []byte, c *feature.Cache) (*feature.Vectors, error) {
	opts := feature.Options{Cache: c}
	if n := o.network.Load(); n != nil {
		opts.Network = n
	}
	e := extractors.Get().(*feature.Extractor)
	defer extractors.Put(e)
	return e.Photo(photo, opts)
}

// Vector returns the plaintext vector of a photo under the index's profile.
func (o *Owner) Vector(f *feature.Vectors) (*vector.Vector, error) { return o.ledger.profile.Vector(f) }
