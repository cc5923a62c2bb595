package sealed

import (
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/modp"
	"cpar/internal/parallel"
	"cpar/user/internal/seed"
)

// Scores reads a reply: ⟨v, u⟩ + addend of every record, in the order of the
// groups. It uses the key up; h must be the hints of the very groups that
// the cloud evaluated. workers bounds the goroutines.
func (q *OneTimeKey) Scores(h *Hints, r *lattice.Reply, workers int) ([]int64, error) {
	scores, err := q.scores(h, r, workers)
	if err != nil {
		return nil, fmt.Errorf("reading a sealed reply: %w", err)
	}
	return scores, nil
}

func (q *OneTimeKey) scores(h *Hints, r *lattice.Reply, workers int) ([]int64, error) {
	switch {
	case h.params != q.params || h.id != q.id:
		return nil, fmt.Errorf("%w: the hints belong to another index", cpar.ErrInput)
	case r.Index != q.id:
		return nil, fmt.Errorf("%w: it comes from another index", cpar.ErrCloud)
	case r.Number != q.number:
		return nil, fmt.Errorf("%w: it answers another request", cpar.ErrCloud)
	case r.State != h.state:
		return nil, fmt.Errorf("%w: it comes from another state of the index than the hints", cpar.ErrCloud)
	case len(r.Scores) != h.records:
		return nil, fmt.Errorf("%w: %d scores for %d records", cpar.ErrCloud, len(r.Scores), h.records)
	case !q.used.CompareAndSwap(false, true):
		return nil, fmt.Errorf("%w: this request has been answered", cpar.ErrInput)
	}
	scores := make([]int64, h.records)
	parallel.Ranges(len(h.groups), workers, func(from, to int) { q.decrypt(scores, h, from, to, r.Scores) })
	clear(q.once)
	clear(q.combined)
	return scores, nil
}

// decrypt writes the scores of groups from to to−1.
func (q *OneTimeKey) decrypt(scores []int64, h *Hints, from, to int, reply []uint64) {
	d := newDecryption(q)
	for at := from; at < to; at++ {
		g := h.groups[at]
		for i, phase := range d.phases(g, reply[g.first:g.first+g.count]) {
			scores[g.first+i] = q.params.Score(phase)
		}
	}
}

// decryption is the memory that reading one group after the other takes.
type decryption struct {
	seed.Redacted
	*OneTimeKey
	a, hint   []uint64
	y, hinted []uint64
}

func newDecryption(q *OneTimeKey) *decryption {
	return &decryption{
		OneTimeKey: q,
		a:          make([]uint64, lattice.N), hint: make([]uint64, lattice.N),
		y: make([]uint64, q.params.Records()), hinted: make([]uint64, q.params.Records()),
	}
}

// phases are Δ·score + noise of the records of one group: what the cloud
// replied, plus the coefficients 0, D, 2D, … of
//
//	a_g·(s_n + Σ_b s_b·(Δ_q·p_b + e′_b)) + s′·Σ_b W_{g,b}·a′_b
//
// They are overwritten by the next call.
func (d *decryption) phases(g groupHint, reply []uint64) []uint64 {
	p := d.params
	publicGroup(d.a, d.id, g.seed)
	g.evaluate(p, d.hint)
	modp.Columns(d.hinted, d.hint, d.once)
	for k, hinted := range d.hinted {
		d.y[k] = lattice.Add(hinted, modp.Dot(d.a[k*p.Block:(k+1)*p.Block], d.combined[k*p.Block:]))
	}
	lattice.InterpolateFolded(d.y)
	for i, c := range reply {
		d.y[i] = lattice.Add(d.y[i], lattice.Expand(c, p.ReplyBits()))
	}
	return d.y[:len(reply)]
}
