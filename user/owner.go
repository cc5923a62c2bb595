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

// An Owner is a key opened for one state of one index: it makes requests to the
// index and reads the replies. It is safe for concurrent use and prints as redacted.
type Owner struct {
	seed.Redacted
	ledger *ledger
	index  *index.Index
	scheme scheme
	// manifest is what a manifest of the index says but its segments.
	manifest cpar.Manifest
	// ranks is the ledger's ranker, or that with the words counted that Hold was given.
	ranks atomic.Pointer[rank.Ranker]
	// network is what Use gave.
	network atomic.Pointer[encoder.Encoder]
	// cache is what Keep gave.
	cache atomic.Pointer[feature.Cache]
}

// newOwner puts together what setting up, opening and updating have made.
func newOwner(l *ledger, x *index.Index, s scheme) *Owner {
	o := &Owner{ledger: l, index: x, scheme: s, manifest: cpar.Manifest{ID: l.id, Scheme: l.scheme, Records: uint32(l.records)}}
	s.Describe(&o.manifest)
	l.live = s.Live()
	o.ranks.Store(&l.ranker)
	return o
}

// A Fetch gets the bytes of a segment of an index, encrypted as they are stored.
type Fetch func(s cpar.Segment) ([]byte, error)

// Open opens an index with its key; fetch is asked for the ledger, and then for the
// profile. Bytes of another digest than the manifest's are refused (ErrCorrupt), and so
// are a key of another index (ErrKey) and a scheme that the key does not allow (ErrInput).
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
	if err := l.take(f); err != nil {
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

// openLedger reads the ledger up to the scheme's own part, which the reader is left at,
// and holds the manifest against it: only then is anything else of the index believed.
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
		return nil, nil, fmt.Errorf("%w: its ledger vouches for other segments than its manifest names", cpar.ErrCorrupt)
	}
	l.digest = ledgerDigest(plain)
	return l, r, nil
}

// openScheme reads the scheme's own part of a ledger.
func (l *ledger) openScheme(x *index.Index, r *wire.Reader) (scheme, error) {
	s, err := schemes[l.scheme].open(x, r)
	if err == nil {
		err = r.Close()
	}
	if err == nil && s.Live() != l.live {
		err = fmt.Errorf("%w: %d records can be found in it, and it says %d", cpar.ErrCorrupt, s.Live(), l.live)
	}
	return s, err
}

// checked fetches the segment of a kind that a manifest names once.
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

// checkManifest refuses a manifest that describes another index than the ledger, or
// names other segments: the cloud mixes states of an index.
func (o *Owner) checkManifest(m *cpar.Manifest) error {
	d := &o.manifest
	switch {
	case m.ID != d.ID || m.Scheme != d.Scheme || m.Records != d.Records || m.Dim != d.Dim || m.Shift != d.Shift ||
		m.Trees != d.Trees || m.Fields != d.Fields || m.Lists != d.Lists:
		return fmt.Errorf("%w: its ledger describes %d records and %d coordinates, its manifest %d and %d", cpar.ErrCorrupt, d.Records, d.Dim, m.Records, m.Dim)
	case contentsOf(m) != o.ledger.contents:
		return fmt.Errorf("%w: its ledger vouches for other segments than its manifest names", cpar.ErrCorrupt)
	}
	return nil
}

// ID names the index that o is open for.
func (o *Owner) ID() cpar.IndexID { return o.ledger.id }

// Name is what its owner calls the index, "" where they do not.
func (o *Owner) Name() string { return o.ledger.name }

// Origin names the index that the projection is derived with: ID, but for an
// index that Compact made. Indexes of one key and one origin are states of one
// index.
func (o *Owner) Origin() cpar.IndexID { return o.ledger.origin }

// Scheme is the scheme of the index, as the ledger says it, which a cloud cannot
// alter.
func (o *Owner) Scheme() cpar.Scheme { return o.ledger.scheme }

// Generation counts the states of an index from 1. It goes on through Compact.
func (o *Owner) Generation() uint64 { return o.ledger.generation }

// State tells apart the states of an index, also two of one generation, as two
// updates of one backup make: a digest of all that its ledger says. It is zero until
// the state is written.
func (o *Owner) Digest() [sha256.Size]byte { return o.ledger.digest }

// DescendsFrom reports whether this state was made from an earlier one, by however many
// updates, as far as the ledger knows: it names the sixteen states before.
func (o *Owner) DescendsFrom(state [sha256.Size]byte, generation uint64) bool {
	return o.ledger.descendsFrom(state, generation)
}

// Before are the states that this one was made from, the newest first, as far as the
// ledger knows.
func (o *Owner) Ancestors() [][sha256.Size]byte { return slices.Clone(o.ledger.ancestors) }

// Records is the number of records that can be found.
func (o *Owner) Records() int { return o.scheme.Live() }

// Words returns the keywords that the collection uses, sorted.
func (o *Owner) Keywords() []string { return slices.Sorted(slices.Values(o.ledger.dict.Words())) }

// Profile is the profile that the index was built with.
func (o *Owner) Profile() profile.Profile { return o.ledger.profile }

// Projector makes the integers that are encrypted; for profile `paper` it is a
// secret.
func (o *Owner) Projector() profile.Projector { return o.index.Projector }

// Needs are the segments of m that must be held at home before a photo can be
// annotated. They are fetched whole, once for each state, whatever is asked.
func (o *Owner) Needs(m *cpar.Manifest) []cpar.Segment {
	var out []cpar.Segment
	for _, s := range m.Segments {
		if o.scheme.Needs(s.Kind) {
			out = append(out, s)
		}
	}
	return out
}

// Hold takes the segments that Needs names, by digest, decrypts what is needed of
// them and keeps it.
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
			return fmt.Errorf("%w: segment %v has other bytes than its digest says", cpar.ErrCorrupt, s.Kind)
		}
		held[s.Kind] = append(held[s.Kind], b)
	}
	if err := o.scheme.Hold(held); err != nil {
		return err
	}
	if c, ok := o.ledger.ranker.(*rank.Calibrated); ok {
		if counts := o.scheme.Count(); counts != nil {
			counted := rank.Ranker(c.WithCounts(counts, o.Records()))
			o.ranks.Store(&counted)
		}
	}
	return nil
}

// Use gives the owner the image network that the index was built with. Another one
// is refused (ErrInput), and so is none where the profile needs one. With other
// profiles nothing is needed and nothing kept.
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

// Keep has Features keep what it computes, nil for nowhere.
func (o *Owner) SetFeatureCache(c *feature.Cache) { o.cache.Store(c) }

var extractors = sync.Pool{New: func() any { return feature.NewExtractor() }}

// Features decodes a photo and computes what the index's profile needs of it.
func (o *Owner) Features(photo []byte) (*feature.Vectors, error) {
	return o.features(photo, o.cache.Load())
}

// UncachedFeatures are the features of a picture that is no file of the person's, such as one that
// another program sends. Nothing of it is kept, whatever Keep says.
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
