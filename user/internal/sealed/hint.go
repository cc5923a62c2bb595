package sealed

import (
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/wire"
)

// Hints are what reading replies takes besides the key: for every group the
// seed of a_g and Σ_b W_{g,b}·a′_b, rounded. They follow from the groups and the
// index id alone, are as public as these, and are kept so that they need not be
// computed again for every request.
type Hints struct {
	params  lattice.Params
	id      cpar.IndexID
	public  [][]uint64
	state   lattice.State
	records int
	groups  []groupHint
}

type groupHint struct {
	seed         [lattice.SeedSize]byte
	first, count int
	packed       []byte // N coefficients, packed by lattice
}

// NewHints begins the hints of an index without groups.
func NewHints(p lattice.Params, id cpar.IndexID) (*Hints, error) {
	state, err := lattice.NewState(p, id)
	if err != nil {
		return nil, fmt.Errorf("beginning sealed hints: %w", err)
	}
	return &Hints{params: p, id: id, state: state}, nil
}

// clone is h, to be added to.
func (h *Hints) clone() *Hints {
	c := *h
	c.groups = slices.Clip(c.groups)
	return &c
}

// Records is the number of records of all groups.
func (h *Hints) Records() int { return h.records }

// Groups is their number.
func (h *Hints) Groups() int { return len(h.groups) }

// State names the groups that the hints belong to.
func (h *Hints) State() lattice.State { return h.state }

// Append computes the hint of the next group of the index, in the order in
// which the cloud has them.
func (h *Hints) Append(g *lattice.Group) error {
	p := h.params
	if !g.Fits(p, h.id) {
		return fmt.Errorf("computing a sealed hint: %w: the group is not of this index", cpar.ErrInput)
	}
	if h.public == nil {
		h.public = publicRequest(p, h.id)
	}
	ring := p.Ring()
	sum, w := make([]uint64, ring.N), make([]uint64, ring.N)
	for b, a := range h.public {
		p.Gather(w, g.Matrix, b)
		ring.MulAdd(sum, w, a)
	}
	ring.Interpolate(sum)
	h.add(g.Seed, g.Count, p.PackHint(make([]byte, 0, p.HintBytes()), sum))
	return nil
}

func (h *Hints) add(seed [lattice.SeedSize]byte, count int, packed []byte) {
	h.groups = append(h.groups, groupHint{seed: seed, first: h.records, count: count, packed: packed})
	h.records += count
	h.state = h.state.Append(seed, count)
}

// evaluate writes the evaluations of the hint by columns into dst: D times K
// points, which takes fewer than N points, and no more are needed.
func (g groupHint) evaluate(p lattice.Params, dst []uint64) {
	p.UnpackHint(dst, g.packed)
	p.EvaluateColumns(dst)
}

// AppendBinary appends the canonical encoding of h (encoding.go of lattice).
func (h *Hints) AppendBinary(b []byte) []byte {
	b = lattice.AppendHeader(b, lattice.KindHints, h.id)
	b = lattice.AppendCount(b, len(h.groups))
	for _, g := range h.groups {
		b = append(b, g.seed[:]...)
		b = lattice.AppendCount(b, g.count)
		b = append(b, g.packed...)
	}
	return b
}

// readHints reads hints under valid parameters. They keep the bytes of r.
func readHints(p lattice.Params, r *wire.Reader) (*Hints, error) {
	id, err := lattice.ReadHeader(r, lattice.KindHints)
	if err != nil {
		return nil, fmt.Errorf("reading sealed hints: %w", err)
	}
	h, err := NewHints(p, id)
	if err != nil {
		return nil, fmt.Errorf("reading sealed hints: %w", err)
	}
	for n := lattice.ReadCount(r, "count of groups"); n > 0 && r.Err() == nil; n-- {
		var seed [lattice.SeedSize]byte
		copy(seed[:], r.Bytes(len(seed), "seed of a group"))
		count := lattice.ReadCount(r, "count of records")
		if r.Err() == nil && (count < 1 || count > p.Records()) {
			r.Fail("%d records in a group of 1 to %d", count, p.Records())
		}
		packed := r.Bytes(p.HintBytes(), "hint")
		if r.Err() == nil {
			h.add(seed, count, packed)
		}
	}
	if r.Err() != nil {
		return nil, fmt.Errorf("reading sealed hints: %w", r.Err())
	}
	return h, nil
}
