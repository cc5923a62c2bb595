package user

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"cpar"
	"cpar/ivf"
	"cpar/kdforest"
	"cpar/user/embed"
	"cpar/user/pl1c"
	"cpar/user/vector"
)

// A Twin is an index in the clear: the same integers without noise, searched
// by the same forest. The encrypted search is held against it, place by place
// and visit by visit. It never leaves the owner.
type Twin struct {
	owner  *Owner
	forest *kdforest.Forest
	lists  *ivf.Lists // nil for an index without
	// ballots are those of the forest, made when they are first asked for.
	ballots func() *kdforest.Ballots
	vectors []*vector.Vector
	// records holds a record vector of budget.Dim integers each, with ε = 0.
	records []int64
	// centroids are laid out as records are.
	centroids []int64
	// exact holds the records of schemes sealed and local instead.
	exact *plainRecords
}

// Twin lays out the collection in the clear, 8·1347 bytes a record.
func (b *Builder) Twin() (*Twin, error) {
	if b.exact != nil {
		return b.exactTwin()
	}
	dim := b.budget.Dim()
	t := &Twin{owner: b.Owner, forest: b.forest, lists: b.lists, vectors: b.vectors, centroids: make([]int64, dim*len(b.centroids))}
	t.ballots = sync.OnceValue(func() *kdforest.Ballots { return kdforest.NewBallots(t.forest) })
	var err error
	if t.records, err = b.plainRows(); err != nil {
		return nil, err
	}
	for i, c := range b.centroids {
		if _, err := b.record(t.centroids[i*dim:(i+1)*dim], slices.Clone(c.z), c.kl, 0); err != nil {
			return nil, fmt.Errorf("centroid %d: %w", i, err)
		}
	}
	return t, nil
}

// plainRows are the record vectors of all records, with ε = 0.
func (b *Builder) plainRows() ([]int64, error) {
	dim := b.budget.Dim()
	rows := make([]int64, dim*len(b.vectors))
	for i, v := range b.vectors {
		z, err := b.coder.embed(v)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		b.budget.Clamp(z)
		if err := b.budget.Record(rows[i*dim:(i+1)*dim], z, v.KL, 0); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return rows, nil
}

// Search answers a request in the clear as the cloud answers it encrypted,
// with the scale of pending, so that scores can be compared as integers.
// trace, if not nil, is told of every visit.
func (t *Twin) Search(v *vector.Vector, pending *Pending, trace func(kdforest.Visit)) ([]kdforest.Hit, error) {
	if t.exact != nil {
		return t.scan(v, int(pending.params.L))
	}
	request, err := t.owner.requestVector(v, pending.scale)
	if err != nil {
		return nil, err
	}
	space := &plainSpace{twin: t, rows: t.records, request: request, point: t.owner.point(v), scale: pending.scale, planeScale: pending.planeScale}
	p := pending.params
	n := len(t.vectors)
	if p.Scheme == cpar.SchemeCAPIA {
		return kdforest.Scan(space, n, int(p.L), 0)
	}
	visits, err := kdforest.Visits(int(p.Approx), n, int(p.L))
	if err != nil {
		return nil, err
	}
	if p.Search == cpar.SearchIVF {
		return t.searchLists(space, int(p.L), visits, trace)
	}
	order := kdforest.BottomUp
	switch {
	case p.Search == cpar.SearchByRank:
		order = kdforest.ByRank
	case p.Search == cpar.SearchBestBin && p.UsesPlanes():
		order = kdforest.BestBin
	}
	opt := kdforest.Options{Visits: visits, L: int(p.L), Prune: p.Prune && p.UsesPlanes(), Order: order, Trace: trace}
	if order == kdforest.ByRank {
		opt.Ballots = t.ballots()
	}
	hits, _, err := t.forest.Search(space, opt)
	return hits, err
}

func (t *Twin) searchLists(space *plainSpace, l, visits int, trace func(kdforest.Visit)) ([]kdforest.Hit, error) {
	opt := ivf.Options{Visits: visits, L: l}
	if trace != nil {
		opt.Trace = func(v ivf.Visit) { trace(kdforest.Visit{Tree: int(v.List), Hit: v.Hit}) }
	}
	centroids := *space
	centroids.rows = t.centroids
	hits, _, err := t.lists.Search(ivf.Runs(&centroids), ivf.Runs(space), opt)
	return hits, err
}

// Vectors returns the plaintext vectors of the records.
func (t *Twin) Vectors() []*vector.Vector { return t.vectors }

// Projection returns the Johnson–Lindenstrauss map of the index, nil in a profile
// without one.
func (t *Twin) Projection() *embed.Projection { return t.owner.projection }

// Baselines returns the levels that the projection counts from, nil in a profile
// without one.
func (t *Twin) Baselines() []uint16 {
	if f, ok := t.owner.profile.front.(*paperFront); ok {
		return f.baselines
	}
	return nil
}

// PlaneDistance returns how far beyond a plane a photo lies, in units of the
// split space (levels, in the original one).
func (t *Twin) PlaneDistance(v *vector.Vector, plane uint32) int64 {
	c := t.owner.profile.planes[plane]
	return int64(t.owner.point(v)[c.Dim]) - int64(c.Value)
}

// plainSpace is one request in the clear.
type plainSpace struct {
	twin *Twin
	// rows are those of records or of centroids.
	rows    []int64
	request []int64
	point   []uint16
	scale   int64
	// planeScale is r_p, for BestBin.
	planeScale int64
}

func (s *plainSpace) Left(plane uint32) bool {
	return s.twin.owner.profile.planes[plane].Left(s.point)
}

func (s *plainSpace) Score(records []uint32, scores []int64) {
	b := s.twin.owner.budget
	dim := b.Dim()
	for i, r := range records {
		scores[i] = b.PlainScore(s.rows[int(r)*dim:(int(r)+1)*dim], s.request)
	}
}

// Fields counts the planes that the request's levels are beyond.
func (s *plainSpace) Fields() []kdforest.Field {
	return kdforest.FieldsOf(nil, s.twin.owner.profile.planes, s.point)
}

// Beyond is the plain type-2 comparison: three quarters of the distance to
// the plane, in squared JL units, against a record's score.
func (s *plainSpace) Beyond(plane uint32, worst int64) bool {
	c := s.twin.owner.profile.planes[plane]
	levels := math.Abs(float64(s.point[c.Dim])-float64(c.Value)) * s.twin.owner.profile.split.unit()
	far := pl1c.PlaneFactor * float64(s.twin.owner.projection.MHat()) * levels * float64(s.scale)
	return far-float64(s.scale*s.twin.owner.budget.Offset()) > float64(worst)
}

// Distance is the plain plane score, r_p·|V_s[f] − split|.
func (s *plainSpace) Distance(plane uint32) float64 {
	c := s.twin.owner.profile.planes[plane]
	return math.Abs(float64(s.planeScale * (int64(s.point[c.Dim]) - int64(c.Value))))
}

// Reach is not asked for: a best-bin-first search here does not prune.
func (s *plainSpace) Reach(int64) float64 { return math.Inf(1) }
