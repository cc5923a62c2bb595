package user

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/combined"
	"cpar/user/embed"
	"cpar/user/feature"
	"cpar/user/internal/keyword"
	"cpar/user/internal/seed"
	"cpar/user/ive"
	"cpar/user/vector"
)

// An Owner is a key opened for one index: it makes requests to the index and
// reads the replies. It is safe for concurrent use and prints as redacted.
type Owner struct {
	seed.Redacted
	key     *Key
	profile *profile
	budget  *combined.Budget
	// coder makes z of vectors; projection is the secret Johnson–Lindenstrauss
	// map of profile `paper`, nil in the others.
	coder      coder
	projection *embed.Projection
	sealer     *keyword.Sealer
	// fields is SF, the coordinates that planes cut, and planeLimit how far in
	// all a request may lie from their centres.
	fields     []int
	planeLimit int64
	order      orderEncoder
	// vectors and planes hold 8·m² bytes each: made when first needed.
	vectors func() (*ive.Key, error)
	planes  func() (*planeKey, error)
	// network is what Use gave; nil until then.
	network atomic.Pointer[Network]
	// exact is the side of schemes sealed and local; nil for the others.
	exact *exactOwner
}

// planeKey encrypts split planes and the requests for them.
type planeKey struct {
	seed.Redacted
	*ive.Key
	budget *combined.PlaneBudget
}

// Open opens an index with its key. sealed is the index's profile segment;
// one with another digest than the manifest's is refused (ErrCorrupt). A key of another index is refused (ErrKey).
func Open(key *Key, m *cpar.Manifest, sealed []byte) (*Owner, error) {
	if s, ok := m.Segment(cpar.SegmentLedger); !ok || s.Digest != sha256.Sum256(sealed) {
		return nil, hint.Add(fmt.Errorf("opening index %v: %w: the profile is not the one that its manifest names", m.ID, cpar.ErrCorrupt),
			"it is of another index, or of another state of this one; fetch manifest and profile again")
	}
	p, err := openProfile(sealed, key.derive("profile", m.ID), m.ID)
	if err != nil {
		return nil, err
	}
	o, err := newOwner(key, p)
	if err != nil {
		return nil, fmt.Errorf("opening index %v: %w", m.ID, err)
	}
	if m.Records != p.records || int(m.Dim) != o.dim() || m.Trees != p.trees || int(m.Fields) != len(o.fields) || m.Lists != p.lists {
		return nil, fmt.Errorf("opening index %v: %w: its profile is of %d records and %d words, its manifest says %d and %d", m.ID, cpar.ErrCorrupt, p.records, o.dim(), m.Records, m.Dim)
	}
	if err := o.checkContents(m); err != nil {
		return nil, fmt.Errorf("opening index %v: %w", m.ID, err)
	}
	return o, nil
}

// dim is the number of coordinates of a record.
func (o *Owner) dim() int {
	if o.exact != nil {
		return o.exact.dim()
	}
	return o.budget.Dim()
}

func newOwner(key *Key, p *profile) (*Owner, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
	}
	o := &Owner{key: key, profile: p, fields: p.fields()}
	shape := p.front.shape()
	var err error
	if o.budget, err = combined.ForShape(shape.plain); err != nil {
		return nil, err
	}
	if o.budget, err = o.budget.Hide(seed.New(key.derive("offset", p.id))); err != nil {
		return nil, err
	}
	if f, ok := p.front.(*paperFront); ok {
		if o.projection, err = embed.New(key.derive("projection", p.origin()), shape.levels, vector.Beta, shape.plain.JL, f.baselines); err != nil {
			return nil, err
		}
		o.coder = walkCoder{o.projection}
	} else {
		o.coder = roundCoder{shape.plain.JL}
	}
	if p.exact != nil {
		if o.exact, err = newExactOwner(key, p); err != nil {
			return nil, err
		}
	}
	if o.sealer, err = keyword.NewSealer(key.derive("keywords", p.id), p.id, p.dict); err != nil {
		return nil, err
	}
	if o.order, err = newOrderEncoder(key, p, o.fields); err != nil {
		return nil, err
	}
	o.vectors = sync.OnceValues(func() (*ive.Key, error) {
		return ive.NewKey(key.derive("vectors", p.id), o.budget.Cipher())
	})
	if len(o.fields) == 0 {
		return o, nil
	}
	budget, err := combined.NewPlanes(widenLevels(p.centres), vector.Beta)
	if err != nil {
		return nil, err
	}
	o.planeLimit = budget.Limit()
	o.planes = sync.OnceValues(func() (*planeKey, error) {
		k, err := ive.NewKey(key.derive("planes", p.id), budget.Cipher())
		return &planeKey{Key: k, budget: budget}, err
	})
	return o, nil
}

// The paper's α and γ: m̂ = α·m·log_γ(β+1).
const (
	Alpha = 1
	Gamma = 100
)

// ID names the index that o is open for.
func (o *Owner) ID() cpar.IndexID { return o.profile.id }

// Origin names the index that the projection is derived with: ID, but for an
// index that Compact made. Indexes of one key and one origin hold vectors of one
// projection.
func (o *Owner) Origin() cpar.IndexID { return o.profile.origin() }

// Words returns the keywords that the collection uses, sorted.
func (o *Owner) Words() []string { return o.profile.dict.Words() }

// Vector returns the plaintext vector of a photo under the index's profile.
func (o *Owner) Vector(f *feature.Vectors) (*vector.Vector, error) { return o.profile.front.vector(f) }

func widenLevels(levels []uint16) []int {
	out := make([]int, len(levels))
	for i, l := range levels {
		out[i] = int(l)
	}
	return out
}
