package score

import (
	"fmt"
	"math/bits"
	"sort"

	"cpar"
	"cpar/internal/modq"
)

// A Space is one request laid against an index: what kdforest asks in order to
// search. It serves one search and must not be shared.
type Space struct {
	index *Index
	q     *cpar.Request
	// planeScore holds |r_p·(V_s[f] − split)| of the planes asked for so far,
	// plus 1; 0 is not asked yet. Nodes share planes, so most are asked often.
	planeScore []uint64
	// beyond holds, for each field, one more than the number of its planes that
	// the request lies beyond; 0 is not counted yet.
	beyond []uint32
	// Touched counts the bytes of ciphertext read.
	Touched uint64
}

// NewSpace checks that q fits the index and lays it against it. Errors wrap
// cpar.ErrInput.
func NewSpace(x *Index, q *cpar.Request) (*Space, error) {
	m := x.Manifest
	fail := func(format string, args ...any) (*Space, error) {
		return nil, fmt.Errorf("request to index %v: %w: %s", m.ID, cpar.ErrInput, fmt.Sprintf(format, args...))
	}
	if err := q.Params.Validate(); err != nil {
		return nil, fmt.Errorf("request to index %v: %w", m.ID, err)
	}
	fields := uint32(0)
	if q.Params.Scheme == cpar.SchemeCPAR {
		fields = m.Fields
	}
	switch {
	case q.Index != m.ID:
		return fail("it is for index %v", q.Index)
	case q.Params.Scheme == cpar.SchemeCPAR && x.Forest == nil:
		return fail("it asks for scheme cpar, but the index has no forest; ask for capia or build with --scheme cpar")
	case uint32(len(q.Vector)) != m.Dim:
		return fail("its vector has %d words, the index has %d", len(q.Vector), m.Dim)
	case uint32(len(q.Order)) != fields:
		return fail("it has %d order ciphertexts, the search needs %d", len(q.Order), fields)
	case q.Params.UsesPlanes() != (q.Planes != nil):
		return fail("it asks for pruning without plane vector, or carries one it does not use")
	case q.Planes != nil && uint32(len(q.Planes.Vector)) != m.Fields+1:
		return fail("its plane vector has %d words, the index has %d", len(q.Planes.Vector), m.Fields+1)
	}
	s := &Space{index: x, q: q}
	if q.Params.Search == cpar.SearchByRank {
		s.beyond = make([]uint32, fields)
	}
	if q.Planes != nil {
		s.planeScore = make([]uint64, m.Planes)
	}
	return s, nil
}

// Left reports whether the request lies on the left of a plane: OPE(V_s[s]) ≤
// OPE(V[s]) in the paper (Algorithm 1). Ties go left, as they were built.
func (s *Space) Left(plane uint32) bool {
	cut := s.index.Forest.Cuts[plane]
	return s.q.Order[cut.Field] <= cut.Order
}

// Gap returns how many planes of a plane's field lie between the request and
// the plane, and how many planes the field has: order comparisons, counted.
func (s *Space) Gap(plane uint32) (between, of uint32) {
	x := s.index
	field := x.Forest.Cuts[plane].Field
	first, last := x.firstCut[field], x.firstCut[field+1]
	if s.beyond[field] == 0 {
		cuts := x.Forest.Cuts[first:last]
		s.beyond[field] = 1 + uint32(sort.Search(len(cuts), func(i int) bool { return s.q.Order[field] <= cuts[i].Order }))
	}
	at, request := plane-first, s.beyond[field]-1
	if request <= at {
		return at - request, last - first
	}
	return request - at - 1, last - first
}

// Score sets scores[i] to Comp of records[i]; smaller is nearer.
func (s *Space) Score(records []uint32, scores []int64) {
	shift := uint(s.index.Manifest.Shift)
	for i, r := range records {
		scores[i] = modq.RoundShift(modq.Dot(s.index.row(r), s.q.Vector), shift)
	}
	s.Touched += uint64(len(records)) * uint64(s.index.Manifest.Dim) * 8
}

// Beyond reports whether everything beyond a plane is farther than a record
// with score worst (type 2 comparison). Approximate: a plane distance counts
// 0.75 of itself, since the projection can fall below L1.
func (s *Space) Beyond(plane uint32, worst int64) bool {
	if s.planeScore[plane] == 0 {
		p := s.plane(plane)
		if p < 0 {
			p = -p
		}
		s.planeScore[plane] = uint64(p) + 1
		s.Touched += 8 * (uint64(s.index.Manifest.Fields) + 1)
	}
	// In 128 bits, so that no request can make the product wrap.
	hi, lo := bits.Mul64(s.planeScore[plane]-1, s.q.Planes.Scale)
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

// plane is r_p·(V_s[f] − split).
func (s *Space) plane(plane uint32) int64 {
	return modq.RoundShift(modq.Dot(s.index.planeRow(plane), s.q.Planes.Vector), uint(s.index.Manifest.PlaneShift))
}

// PlaneScores returns the signed score of every plane, for a request that
// carries a plane vector: what such a request shows a cloud.
func (x *Index) PlaneScores(q *cpar.Request) ([]int64, error) {
	s, err := NewSpace(x, q)
	if err != nil {
		return nil, err
	}
	if q.Planes == nil {
		return nil, fmt.Errorf("%w: the request carries no plane vector", cpar.ErrInput)
	}
	scores := make([]int64, x.Manifest.Planes)
	for i := range scores {
		scores[i] = s.plane(uint32(i))
	}
	return scores, nil
}
