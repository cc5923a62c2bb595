package sealed

import (
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/seed"
	"cpar/internal/wire"
)

// Hints are the data that a key needs to read replies. For every group g of
// records, they hold the seed of the public polynomial a_g, and Σ_b
// W_{g,b}·a′_b, rounded (package comment). Hints derive from public data and
// are not authenticated, so the holder must verify their digests (user.Owner).
type Hints struct {
	params  lattice.Params
	id      cpar.IndexID
	roll    lattice.Roll
	records int
	groups  []groupHint
}

type groupHint struct {
	seed         [lattice.SeedSize]byte
	public       [seed.Size]byte // stored, because publicSeed costs half as much as expanding a_g
	first, count int
	packed       []byte
}

// NewHints returns the hints of an index without groups.
func NewHints(p lattice.Params, id cpar.IndexID) (*Hints, error) {
	roll, err := lattice.NewRoll(p, id, 0)
	if err != nil {
		return nil, fmt.Errorf("beginning sealed hints: %w", err)
	}
	return &Hints{params: p, id: id, roll: roll}, nil
}

func (h *Hints) Records() int { return h.records }

func (h *Hints) Groups() int { return len(h.groups) }

func (h *Hints) State() lattice.State { return h.roll.State() }

func (k *Key) appendHint(b []byte, g *lattice.Group) []byte {
	p, ring := k.params, k.params.Ring()
	sum, w := make([]uint64, ring.N), make([]uint64, ring.N)
	for i, a := range k.public {
		p.Gather(w, g.Matrix, i)
		ring.MulAdd(sum, w, a)
	}
	ring.Interpolate(sum)
	b = lattice.AppendHeader(b, lattice.KindHint, g.Index)
	b = append(b, g.Seed[:]...)
	b = lattice.AppendCount(b, g.Count)
	return p.PackHint(b, sum)
}

// Append decodes the hints of the next groups, in the server's order, and
// retains b.
func (h *Hints) Append(b []byte) error {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	for r.Err() == nil && r.Left() > 0 {
		id, err := lattice.ReadHeader(r, lattice.KindHint)
		if err != nil {
			return fmt.Errorf("reading sealed hints: %w", err)
		}
		g := groupHint{first: h.records}
		copy(g.seed[:], r.Bytes(len(g.seed), "seed of a group"))
		g.count = lattice.ReadCount(r, "count of records")
		g.packed = r.Bytes(h.params.HintBytes(), "hint")
		switch {
		case r.Err() != nil:
		case id != h.id:
			r.Fail("a hint of another index")
		case g.count < 1 || g.count > h.params.Records():
			r.Fail("%d records in a group of 1 to %d", g.count, h.params.Records())
		default:
			h.add(g)
		}
	}
	if r.Err() != nil {
		return fmt.Errorf("reading sealed hints: %w", r.Err())
	}
	return nil
}

func (h *Hints) add(g groupHint) {
	g.public = publicSeed(h.id, g.seed)
	h.groups = append(h.groups, g)
	h.records += g.count
	h.roll = h.roll.Append(g.seed, g.count)
}

// evaluate writes the D evaluations of the hint at each of the K points, which
// decryption needs, into dst by columns.
func (g groupHint) evaluate(p lattice.Params, dst []uint64) {
	p.UnpackHint(dst, g.packed)
	p.EvaluateColumns(dst)
}
