package user

import (
	"crypto/rand"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/combined"
	"cpar/user/feature"
	"cpar/user/internal/seed"
	"cpar/user/ive"
	"cpar/user/pl1c"
	"cpar/user/rank"
	"cpar/user/vector"
)

// A Pending is what an owner must remember of a request in order to read the
// reply: its secret scale r_s. It prints as redacted.
type Pending struct {
	seed.Redacted
	owner  *Owner
	params cpar.Params
	scale  int64
	// planeScale is r_p, 0 where the request carries no plane vector.
	planeScale int64
	// sealed is what a request of scheme sealed leaves; nil for the others.
	sealed *sealedPending
}

// A Neighbour is one record of a reply, decrypted.
type Neighbour struct {
	Record   uint32   `json:"record"`
	Dis      float64  `json:"distance"`
	Keywords []string `json:"keywords"`
}

// Request turns the features of a photo into what is kept (Pending) and what
// is sent (Request). Two requests for one photo differ in every word that
// depends on randomness: r_s, r_p and the noise are fresh. Its order
// ciphertexts are the same each time; SECURITY.md says what that reveals.
func (o *Owner) Request(f *feature.Vectors, p cpar.Params) (*Pending, *cpar.Request, error) {
	v, err := o.Vector(f)
	if err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	return o.RequestVector(v, p)
}

// RequestVector is Request for a vector that Vector has made.
func (o *Owner) RequestVector(v *vector.Vector, p cpar.Params) (*Pending, *cpar.Request, error) {
	if err := p.Validate(); err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	if err := o.serves(p); err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	if p.Scheme == cpar.SchemeSealed {
		pending, q, err := o.sealedRequest(v, p)
		if err != nil {
			return nil, nil, fmt.Errorf("making a request: %w", err)
		}
		return pending, q, nil
	}
	if len(o.fields) == 0 { // one image, or all of them alike: there is no plane
		p.Prune = false
		if p.Search == cpar.SearchBestBin {
			p.Search = cpar.SearchDepthFirst
		}
	}
	var secret [seed.Size]byte
	rand.Read(secret[:])
	noise := ive.NewNoise(secret)
	q := &cpar.Request{Index: o.ID(), Params: p}
	pending := &Pending{owner: o, params: p, scale: noise.Scale()}
	var err error
	if q.Vector, err = o.encryptRequest(v, pending.scale, noise); err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	q.Params = p
	var point []uint16
	if p.UsesForest() {
		point = o.point(v)
		q.Order = make([]cpar.OrderCiphertext, len(o.fields))
		for i, f := range o.fields {
			if q.Order[i], err = o.order.request(i, point[f]); err != nil {
				return nil, nil, fmt.Errorf("making a request: %w", err)
			}
		}
	}
	if p.UsesPlanes() {
		if q.Planes, err = o.planeRequest(point, pending, noise); err != nil {
			return nil, nil, fmt.Errorf("making a request: %w", err)
		}
	}
	return pending, q, nil
}

// DefaultParams is the best search that the index can serve, for as many
// neighbours as its ranker wants.
func (o *Owner) DefaultParams() cpar.Params {
	p := o.profile.structures().DefaultParams()
	p.L = uint16(o.Neighbours())
	return p
}

// serves refuses a search that the index has nothing for.
func (o *Owner) serves(p cpar.Params) error {
	m := o.profile.structures()
	switch {
	case p.Prune && m.Serves(p) && o.Profile() != ProfilePaper:
		return hint.Add(fmt.Errorf("%w: profile %v compares squared distances, which no plane bounds in proportion", cpar.ErrInput, o.Profile()), "ask without --prune")
	case m.Serves(p):
		return nil
	case m.Scheme == cpar.SchemeLocal:
		return hint.Add(fmt.Errorf("%w: an index of scheme local is searched at home, not at the cloud", cpar.ErrInput), "fetch it once; no request is needed")
	case m.Scheme == cpar.SchemeSealed || p.Scheme >= cpar.SchemeSealed:
		return hint.Add(fmt.Errorf("%w: the index is of scheme %v and does not serve %v", cpar.ErrInput, m.Scheme, p.Scheme), "leave --scheme out, or build an index of that scheme")
	case p.Search == cpar.SearchIVF:
		return hint.Add(fmt.Errorf("%w: the index has no inverted file", cpar.ErrInput), "ask with --search rank, or --scheme capia where it has no forest either")
	}
	return hint.Add(fmt.Errorf("%w: the index has no forest", cpar.ErrInput), "ask with --search ivf, or --scheme capia where it has no inverted file either")
}

// point is where a photo lies among the planes. One unlike any photograph is
// moved towards the centres, so that every plane's score stays exact.
func (o *Owner) point(v *vector.Vector) []uint16 {
	point := o.profile.split.point(v.Levels)
	if o.profile.split.basis == nil {
		return point // package combined says why levels never need it
	}
	var away int64
	for i, f := range o.fields {
		d := int64(point[f]) - int64(o.profile.centres[i])
		away += max(d, -d)
	}
	if limit := o.planeLimit; away > limit {
		for i, f := range o.fields {
			c := int64(o.profile.centres[i])
			point[f] = uint16(c + (int64(point[f])-c)*limit/away)
		}
	}
	return point
}

// encryptRequest makes t = Sᵀ(wV_s + e_s).
func (o *Owner) encryptRequest(v *vector.Vector, scale int64, noise *ive.Noise) ([]uint64, error) {
	key, err := o.vectors()
	if err != nil {
		return nil, err
	}
	plain, err := o.requestVector(v, scale)
	if err != nil {
		return nil, err
	}
	t := make([]uint64, len(plain))
	return t, key.EncryptRequest(t, plain, noise)
}

// requestVector lays out V_s. A photo unlike any photograph is moved towards
// the baseline rather than refused.
func (o *Owner) requestVector(v *vector.Vector, scale int64) ([]int64, error) {
	z, err := o.coder.embed(v)
	if err != nil {
		return nil, err
	}
	o.budget.Clamp(z)
	plain := make([]int64, o.budget.Dim())
	return plain, o.budget.Request(plain, z, v.KL, scale, o.profile.farthest)
}

// planeRequest makes what pruning needs: the request for all planes, and how
// a plane's score compares with a record's.
func (o *Owner) planeRequest(point []uint16, pending *Pending, noise *ive.Noise) (*cpar.PlaneRequest, error) {
	key, err := o.planes()
	if err != nil {
		return nil, err
	}
	levels := make([]int, len(o.fields))
	for i, f := range o.fields {
		levels[i] = int(point[f])
	}
	planeScale := key.budget.Scale(noise)
	pending.planeScale = planeScale
	plain := make([]int64, key.budget.Dim())
	if err := key.budget.Request(plain, levels, planeScale); err != nil {
		return nil, err
	}
	q := &cpar.PlaneRequest{Vector: make([]uint64, len(plain))}
	if err := key.EncryptRequest(q.Vector, plain, noise); err != nil {
		return nil, err
	}
	if o.projection == nil {
		return q, nil // a plane's distance orders a search and is compared with no record's
	}
	// One level of difference is worth m̂ squared JL units, of which three
	// quarters count: the projection can fall below L1.
	perUnit := pl1c.PlaneFactor * float64(o.projection.MHat()) * o.profile.split.unit() * float64(pending.scale) / float64(planeScale)
	q.Scale = uint64(math.Round(perUnit * (1 << 16)))
	q.Offset = uint64(pending.scale * o.budget.Offset())
	return q, nil
}

// Neighbours decrypts a reply: the nearest records with their distances,
// nearest first. It refuses a reply that does not answer the request
// (ErrCloud) or whose keywords were altered (ErrCorrupt).
func (p *Pending) Neighbours(a *cpar.Reply) ([]Neighbour, error) {
	o := p.owner
	if p.sealed != nil {
		near, err := p.sealedNeighbours(a)
		if err != nil {
			return nil, fmt.Errorf("reading the reply: %w", err)
		}
		return near, nil
	}
	fail := func(format string, args ...any) ([]Neighbour, error) {
		return nil, fmt.Errorf("reading the reply: %w: %s", cpar.ErrCloud, fmt.Sprintf(format, args...))
	}
	want := min(int(p.params.L), int(o.profile.records))
	switch {
	case a.Index != o.ID():
		return fail("it is of index %v, the request was to %v", a.Index, o.ID())
	case len(a.Matches) > want, len(a.Matches) < want && !p.params.UsesPlanes():
		return fail("it holds %d records, %d were asked for", len(a.Matches), want)
	}
	seen := map[uint32]bool{}
	out := make([]Neighbour, len(a.Matches))
	for i, m := range a.Matches {
		if m.Record >= o.profile.records || seen[m.Record] {
			return fail("record %d is out of range or there twice", m.Record)
		}
		seen[m.Record] = true
		words, err := o.sealer.Open(m.Record, m.Keywords)
		if err != nil {
			return nil, fmt.Errorf("reading the reply: %w", err)
		}
		out[i] = Neighbour{Record: m.Record, Dis: o.budget.Dis(m.Score, p.scale), Keywords: words}
		// Below what noise and ε can make, a distance says nothing: copies of
		// one photo must weigh the same.
		if out[i].Dis < combined.MaxError {
			out[i].Dis = 0
		}
	}
	return out, nil
}

// Keywords decrypts a reply and ranks the keywords of its records as the index
// does, best first, at most n of them.
func (p *Pending) Keywords(a *cpar.Reply, n int) ([]rank.Scored, error) {
	near, err := p.Neighbours(a)
	if err != nil {
		return nil, err
	}
	return p.owner.Rank(near, Ranking{Most: n})
}
