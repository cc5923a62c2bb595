package aspe

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"cpar"
	"cpar/internal/modq"
	"cpar/ivf"
	"cpar/kdforest"
	"cpar/model/vector"
	"cpar/user/internal/index"
	"cpar/user/scorevector"
)

// A Twin is a plaintext index of the same integers without noise. Tests compare
// the encrypted search with the search of the Twin, visit by visit. A Twin
// never leaves the owner.
type Twin struct {
	index   *Index
	forest  *kdforest.Forest // nil without a forest
	lists   *ivf.Cells       // nil without cells
	ballots func() *kdforest.Ballots
	records int
	// rows holds the records' vectors, of budget.Dim 64-bit words each, with
	// random term ε = 0.
	rows []uint64
	// centroids holds the vectors of the cells' centroids in the same form.
	centroids []uint64
}

// Twin returns the plaintext counterpart. It takes 8·1347 bytes per record with
// profile "paper".
func (b *Builder) Twin() (index.Twin, error) {
	t := &Twin{index: b.Index, forest: b.forest, lists: b.lists, records: len(b.collection.Records)}
	t.ballots = sync.OnceValue(func() *kdforest.Ballots { return kdforest.NewBallots(t.forest) })
	var err error
	if t.rows, err = plainRows(b.budget, b.collection.Records); err != nil {
		return nil, err
	}
	t.centroids, err = plainRows(b.budget, b.centroids)
	return t, err
}

// plainRows returns the record vectors with ε = 0 as words modulo 2⁶⁴.
func plainRows(budget *scorevector.Budget, records []index.Record) ([]uint64, error) {
	dim := budget.Dim()
	rows, row := make([]uint64, dim*len(records)), make([]int64, dim)
	for i, r := range records {
		if err := budget.Record(row, r.Z, r.Vector.KL, 0); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		modq.FromSigned(rows[i*dim:(i+1)*dim], row)
	}
	return rows, nil
}

// Search performs the server's search on plaintext with the request's scale, so that
// scores are comparable. Function `trace`, if not nil, receives every visit.
func (t *Twin) Search(request index.ReplyReader, trace func(kdforest.Visit)) ([]kdforest.Hit, error) {
	reading, ok := request.(*ReplyReader)
	if !ok {
		return nil, fmt.Errorf("searching in the clear: %w: the request belongs to another scheme", cpar.ErrInput)
	}
	space := t.space(reading)
	p := reading.params
	if !p.UsesForest() && p.Search != cpar.SearchIVF {
		return space.scan(t.records, int(p.L)), nil
	}
	visits, err := kdforest.Visits(int(p.Approx), t.records, int(p.L))
	if err != nil {
		return nil, err
	}
	if p.Search == cpar.SearchIVF {
		return t.searchLists(space, int(p.L), visits, trace)
	}
	opt := kdforest.Options{Visits: visits, L: int(p.L), Prune: p.Prune && p.UsesPlanes(), Order: kdforest.DepthFirst, Trace: trace}
	switch {
	case p.Search == cpar.SearchByRank:
		opt.Order, opt.Ballots = kdforest.ByRank, t.ballots()
	case p.Search == cpar.SearchBestBin && p.UsesPlanes():
		opt.Order = kdforest.BestBin
	}
	hits, _, err := t.forest.Search(space, opt)
	return hits, err
}

func (t *Twin) searchLists(space *plainSpace, l, visits int, trace func(kdforest.Visit)) ([]kdforest.Hit, error) {
	opt := ivf.Options{Visits: visits, L: l}
	if trace != nil {
		opt.Trace = func(v ivf.Visit) { trace(kdforest.Visit{Tree: int(v.Cell), Hit: v.Hit}) }
	}
	centroids := &plainSpace{rows: t.centroids, request: space.request}
	hits, _, err := t.lists.Search(centroids, space, opt)
	return hits, err
}

// PlaneDistance returns the photo's coordinate minus the plane's value, in
// units of the split space. With SplitOriginal the units are levels.
func (t *Twin) PlaneDistance(v *vector.Vector, plane uint32) int64 {
	p := t.index.part.planes[plane]
	return int64(t.index.point(v)[p.Dim]) - int64(p.Value)
}

// A plainSpace scores plaintext records against a plaintext request, with the
// server's kernels.
type plainSpace struct {
	rows    []uint64 // of records or centroids
	request []uint64
	// dots and gathered are scratch.
	dots     []uint64
	gathered [][]uint64

	index      *Index
	point      []uint16
	scale      int64 // r_s
	planeScale int64 // r_p
	// mHat is m̂, the number of JL coordinates, which converts plane distances
	// to squared JL units.
	mHat float64
}

func (t *Twin) space(reading *ReplyReader) *plainSpace {
	s := &plainSpace{rows: t.rows, request: make([]uint64, len(reading.plain)), index: t.index, point: reading.point,
		scale: reading.scale, planeScale: reading.planeScale, mHat: float64(t.index.Profile.Layout().JL)}
	modq.FromSigned(s.request, reading.plain)
	return s
}

func (s *plainSpace) room(n int) []uint64 {
	s.dots = slices.Grow(s.dots[:0], n)[:n]
	return s.dots
}

func (s *plainSpace) Score(records []uint32, scores []int64) {
	dots := s.room(len(records))
	s.gathered = s.gathered[:0]
	for _, r := range records {
		s.gathered = append(s.gathered, s.rows[int(r)*len(s.request):])
	}
	modq.Gather(dots, s.gathered, s.request)
	modq.ToSigned(scores, dots)
}

func (s *plainSpace) Run(first uint32, scores []int64) {
	dots := s.room(len(scores))
	modq.Rows(dots, s.rows[int(first)*len(s.request):], s.request)
	modq.ToSigned(scores, dots)
}

func (s *plainSpace) scan(n, l int) []kdforest.Hit {
	queue := kdforest.NewQueue(l)
	scores := make([]int64, min(n, kdforest.DefaultBatch))
	for first := 0; first < n; first += len(scores) {
		part := scores[:min(len(scores), n-first)]
		s.Run(uint32(first), part)
		for i, score := range part {
			queue.Push(kdforest.Hit{Record: uint32(first + i), Score: score})
		}
	}
	return queue.Hits()
}

func (s *plainSpace) Left(plane uint32) bool { return s.index.part.planes[plane].Left(s.point) }

func (s *plainSpace) Fields() []kdforest.Field {
	return kdforest.FieldsOf(nil, s.index.part.planes, s.point)
}

// Beyond is the plaintext of the paper's type-2 comparison. It reports whether
// three quarters of the distance to the plane, in squared JL units, exceed
// `worst`, a record score.
func (s *plainSpace) Beyond(plane uint32, worst int64) bool {
	p := s.index.part.planes[plane]
	levels := math.Abs(float64(s.point[p.Dim])-float64(p.Value)) * s.index.part.split.unit()
	far := scorevector.PlaneFactor * s.mHat * levels * float64(s.scale)
	return far-float64(s.scale*s.index.budget.Offset()) > float64(worst)
}

// Distance returns the plaintext score r_p·|V_s[f] − split| of a plane and the
// request's coordinate V_s[f].
func (s *plainSpace) Distance(plane uint32) float64 {
	p := s.index.part.planes[plane]
	return math.Abs(float64(s.planeScale * (int64(s.point[p.Dim]) - int64(p.Value))))
}

// Reach returns infinity, because a best-bin-first search here does not prune.
func (s *plainSpace) Reach(int64) float64 { return math.Inf(1) }
