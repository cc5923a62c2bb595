package score

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/modq"
	"cpar/kdforest"
)

// A Space combines a request and an index. It answers the comparisons that
// packages kdforest and ivf make during a single search. Run and Score are safe
// for concurrent use. Only one goroutine may call the other methods.
type Space struct {
	index *Index
	q     *cpar.Request
	// planeScore caches Distance+1 for each plane. 0 means not computed yet.
	// Nodes share planes, so most values are needed often.
	planeScore []uint64
	fields     []kdforest.Field // set by the first call of Fields
	touched    atomic.Uint64
}

var spaces = sync.Pool{New: func() any { return new(Space) }}

// NewSpace returns a Space if q fits the index. Errors wrap cpar.ErrInput.
func NewSpace(x *Index, q *cpar.Request) (*Space, error) {
	if err := x.check(q); err != nil {
		return nil, fmt.Errorf("request to index %v: %w", x.Manifest.ID, err)
	}
	s := spaces.Get().(*Space)
	s.index, s.q = x, q
	s.touched.Store(0)
	s.fields, s.planeScore = s.fields[:0], s.planeScore[:0]
	if q.Planes != nil {
		s.planeScore = slices.Grow(s.planeScore, int(x.Manifest.Planes))[:x.Manifest.Planes]
		clear(s.planeScore)
	}
	return s, nil
}

// Release recycles the memory of s, which must not be used afterwards.
func (s *Space) Release() {
	s.index, s.q = nil, nil
	spaces.Put(s)
}

func (x *Index) check(q *cpar.Request) error {
	m, p := x.Manifest, q.Params
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", cpar.ErrInput, fmt.Sprintf(format, args...))
	}
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Prune && p.UsesPlanes() && !x.Whole() {
		return hint.Add(fail("a search that prunes cannot be divided among shards, because scores decide which records it visits"), "leave --prune out")
	}
	fields := uint32(0)
	if p.UsesForest() {
		fields = m.Fields
	}
	switch {
	case q.Index != m.ID:
		return fail("it is for index %v", q.Index)
	case !m.Serves(p) || p.UsesForest() && x.Forest == nil || p.Search == cpar.SearchIVF && x.Cells == nil:
		return hint.Add(fail("it wants search %v of scheme %v, which the index does not serve", p.Search, p.Scheme), "%s", x.offers())
	case uint32(len(q.Vector)) != m.Dim:
		return fail("its vector has %d words, the index has %d", len(q.Vector), m.Dim)
	case uint32(len(q.Order)) != fields:
		return fail("it has %d order ciphertexts, the search needs %d", len(q.Order), fields)
	case p.UsesPlanes() && q.Planes == nil:
		return fail("it needs plane distances but carries no plane vector")
	case !p.UsesPlanes() && q.Planes != nil:
		return fail("it carries a plane vector that the search does not need")
	case q.Planes != nil && uint32(len(q.Planes.Vector)) != m.Fields+1:
		return fail("its plane vector has %d words, the index has %d", len(q.Planes.Vector), m.Fields+1)
	}
	return nil
}

func (x *Index) offers() string {
	var can []string
	if x.Forest != nil {
		can = append(can, "depth, rank and bestbin")
	}
	if x.Cells != nil {
		can = append(can, "ivf")
	}
	if len(can) == 0 {
		return "it can only be scanned: ask for scheme capia"
	}
	return "it serves the searches " + strings.Join(can, " and ") + ", and scheme capia"
}

// touch counts the bytes of rows read. Every shard reads the centroids and
// planes, so only the first shard counts them.
func (s *Space) touch(t *table, rows int) {
	if t == &s.index.vectors || s.index.First == 0 {
		s.touched.Add(8 * uint64(rows) * uint64(t.dim))
	}
}

func (s *Space) Touched() uint64 { return s.touched.Load() }

// Left reports whether the request is left of a plane, on the side of smaller
// values. It compares order ciphertexts, as the paper does with OPE(V_s[s]) ≤
// OPE(V[s]) (Algorithm 1, line 7). Equal values are left, as when the trees
// were built.
func (s *Space) Left(plane uint32) bool {
	cut := s.index.Forest.Cuts[plane]
	return s.q.Order[cut.Field] <= cut.Order
}

// Fields returns, for every field (dimension), its planes and the number of
// planes with a value below the request's.
func (s *Space) Fields() []kdforest.Field {
	if len(s.fields) > 0 {
		return s.fields
	}
	x := s.index
	for f, order := range s.q.Order {
		first, last := x.firstCut[f], x.firstCut[f+1]
		cuts := x.Forest.Cuts[first:last]
		beyond := sort.Search(len(cuts), func(i int) bool { return order <= cuts[i].Order })
		s.fields = append(s.fields, kdforest.Field{First: first, Last: last, Beyond: uint32(beyond)})
	}
	return s.fields
}

// Score sets scores[i] to the score of records[i] (Comp in the package comment).
// A smaller score is nearer.
func (s *Space) Score(records []uint32, scores []int64) {
	x := s.index
	s.touch(&x.vectors, len(records))
	p := productBuffers.Get().(*[buffer]uint64)
	defer productBuffers.Put(p)
	for len(records) > 0 {
		n := min(buffer, len(records))
		x.vectors.gather(p[:n], records[:n], s.q.Vector)
		round(scores[:n], p[:n], x.Manifest.Shift)
		records, scores = records[n:], scores[n:]
	}
}

// Beyond reports whether all records beyond a plane are assumed to be farther
// away than a record with score `worst` (the paper's type-2 comparison). Only
// 0.75 of the plane's distance counts, because a projected distance can be
// below the L1 distance.
func (s *Space) Beyond(plane uint32, worst int64) bool {
	// Use 128 bits, so that the product cannot overflow.
	hi, lo := bits.Mul64(s.planeDistance(plane), s.q.Planes.Scale)
	if hi>>16 != 0 {
		return true
	}
	far := hi<<48 | lo>>16
	offset := s.q.Planes.Offset
	switch {
	case far >= offset && far-offset > 1<<63-1:
		return true
	case far < offset && offset-far > 1<<63:
		return false
	}
	return int64(far-offset) > worst
}

// Distance returns |r_p·(V_s[f] − split)|, the distance of the request from a
// plane, times the factor r_p (package comment). The result is an exact
// integer.
func (s *Space) Distance(plane uint32) float64 { return float64(s.planeDistance(plane)) }

// Reach is never called, because a best-bin search does not prune.
func (s *Space) Reach(int64) float64 { return math.Inf(1) }

func (s *Space) planeDistance(plane uint32) uint64 {
	if s.planeScore[plane] == 0 {
		x := s.index
		product := modq.Dot(x.planes.row(plane), s.q.Planes.Vector)
		p := modq.RoundShift(product, uint(x.Manifest.PlaneShift))
		s.planeScore[plane] = uint64(max(p, -p)) + 1
		s.touch(&x.planes, 1)
	}
	return s.planeScore[plane] - 1
}

// PlaneScores returns the signed scores of all planes. A server can compute
// them if the request contains a plane vector. Errors wrap cpar.ErrInput.
func (x *Index) PlaneScores(q *cpar.Request) ([]int64, error) {
	if err := x.check(q); err != nil {
		return nil, fmt.Errorf("request to index %v: %w", x.Manifest.ID, err)
	}
	if q.Planes == nil {
		return nil, fmt.Errorf("%w: the request carries no plane vector", cpar.ErrInput)
	}
	scores, products := make([]int64, x.Manifest.Planes), make([]uint64, x.Manifest.Planes)
	x.planes.run(products, 0, q.Planes.Vector)
	round(scores, products, x.Manifest.PlaneShift)
	return scores, nil
}
