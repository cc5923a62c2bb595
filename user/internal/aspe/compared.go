// Package compared is the owner's side of schemes cpar, ivf and capia, in which the
// cloud compares distances that it cannot read.
//
//	SetUp    a collection ─▶ Builder: lists, a forest, the planes that nodes share
//	Write    Builder ─▶ C(V), keywords, the forest's shape, C(H), lists, centroids
//	Request  a vector ─▶ Reading: r_s (kept) + t = Sᵀ(wV_s + e_s), order, planes (sent)
//	Read     Reading, reply ─▶ neighbours with Dis = (Comp/r_s + r)/F
//
// Package combined lays the vectors out, ive encrypts them, ope orders split
// values. An index of scheme capia has neither forest nor lists. The paper's
// constructions in their printed form are package letter.
package aspe

import (
	"fmt"
	"sync"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
	"cpar/user/internal/index"
	"cpar/user/ive"
	"cpar/user/scorevector"
)

// An Index is opened: it makes requests and reads replies.
type Index struct {
	*index.Index
	part   *ledgerPart
	budget *scorevector.Budget
	order  orderEncoder
	// fields is SF, the coordinates that planes cut, and planeLimit how far in
	// all a request may lie from their centres.
	fields     []int
	planeLimit int64
	// vectors and planes hold 8·m² bytes each: made when first needed.
	vectors func() (*ive.Key, error)
	planes  func() (*planeKey, error)
}

// planeKey encrypts split planes and the requests for them.
type planeKey struct {
	seed.Redacted
	*ive.Key
	budget *scorevector.PlaneBudget
}

// Open opens an index from its bytes in the ledger.
func Open(x *index.Index, r *wire.Reader) (*Index, error) {
	s, err := readPart(r)
	if err != nil {
		return nil, err
	}
	if err := s.validate(x); err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
	}
	return open(x, s)
}

func open(x *index.Index, s *ledgerPart) (*Index, error) {
	c := &Index{Index: x, part: s, fields: s.fields()}
	var err error
	if c.budget, err = budgetOf(x); err != nil {
		return nil, err
	}
	if c.order, err = newOrderEncoder(x, s, c.fields); err != nil {
		return nil, err
	}
	c.vectors = sync.OnceValues(func() (*ive.Key, error) {
		return ive.NewKey(x.Secret("vectors"), c.budget.Cipher())
	})
	if len(c.fields) == 0 { // no forest, or one image, or all alike: there is no plane
		c.planes = func() (*planeKey, error) { return nil, fmt.Errorf("%w: the index has no planes", cpar.ErrInput) }
		return c, nil
	}
	planes, err := scorevector.NewPlanes(ints(s.centres), vector.Beta)
	if err != nil {
		return nil, err
	}
	c.planeLimit = planes.Limit()
	c.planes = sync.OnceValues(func() (*planeKey, error) {
		k, err := ive.NewKey(x.Secret("planes"), planes.Cipher())
		return &planeKey{Key: k, budget: planes}, err
	})
	return c, nil
}

// budgetOf is the noise budget of an index, with its secret offset r, on which the
// room for vectors depends.
func budgetOf(x *index.Index) (*scorevector.Budget, error) {
	budget, err := scorevector.NewLargestScale(x.Profile.Layout())
	if err != nil {
		return nil, err
	}
	return budget.WithSecretOffset(seed.New(x.Secret("offset")))
}

func ints(levels []uint16) []int {
	out := make([]int, len(levels))
	for i, l := range levels {
		out[i] = int(l)
	}
	return out
}

// Describe enters into a manifest what it says of the index but its segments.
func (c *Index) Describe(m *cpar.Manifest) {
	cipher := c.budget.Cipher()
	m.Dim = uint32(cipher.Dim)
	m.Shift = uint8(cipher.RecordShift + cipher.RequestShift)
	m.Trees, m.Lists, m.Fields = c.part.trees, c.part.lists, uint32(len(c.fields))
}

// AppendBinary appends what the ledger keeps.
func (c *Index) AppendBinary(b []byte) ([]byte, error) { return c.part.appendBinary(b) }

// Bytes is the size of n records without trees and lists: their vectors, and what
// the ledger keeps.
func Bytes(layout vectorlayout.Params, n int) (uint64, error) {
	budget, err := scorevector.NewLargestScale(layout)
	if err != nil {
		return 0, err
	}
	kept, err := new(ledgerPart).appendBinary(nil)
	return 8*uint64(budget.Dim())*uint64(n) + uint64(len(kept)), err
}

// Needs says that nothing is held at home.
func (c *Index) Needs(cpar.SegmentKind) bool { return false }

// Hold has nothing to hold.
func (c *Index) Hold(map[cpar.SegmentKind][][]byte) error { return nil }

// Count returns nil: the owner holds no keywords of these schemes.
func (c *Index) Count() map[string]int { return nil }

// Live is the number of records: none can be removed.
func (c *Index) Live() int { return c.Records }
