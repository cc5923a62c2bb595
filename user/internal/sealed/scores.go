package sealed

import (
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/parallel"
	"cpar/internal/seed"
)

// Scores decodes a reply into ⟨v, u⟩ + addend for every record with vector v, in group
// order. The key cannot be used again. The hints h must belong to the groups that the
// server evaluated. Parameter `workers` limits the number of goroutines.
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
	case r.State != h.State():
		return nil, fmt.Errorf("%w: it comes from another state of the index than the hints", cpar.ErrCloud)
	case len(r.Words) != len(h.groups)*q.params.Records():
		return nil, fmt.Errorf("%w: %d words for %d groups", cpar.ErrCloud, len(r.Words), len(h.groups))
	case !q.used.CompareAndSwap(false, true):
		return nil, fmt.Errorf("%w: this request has been answered", cpar.ErrInput)
	}
	scores := make([]int64, h.records)
	parallel.Ranges(len(h.groups), workers, func(from, to int) { q.decrypt(scores, h, from, to, r.Words) })
	clear(q.once)
	clear(q.combined)
	return scores, nil
}

// decrypt writes the scores of the groups in [from, to).
func (q *OneTimeKey) decrypt(scores []int64, h *Hints, from, to int, reply []uint64) {
	d, k := newDecryption(q), q.params.Records()
	for at := from; at < to; at++ {
		g := h.groups[at]
		for i, phase := range d.phases(g, reply[at*k:(at+1)*k])[:g.count] {
			scores[g.first+i] = q.params.Score(phase)
		}
	}
}

// decryption is the scratch memory for decoding groups in sequence.
type decryption struct {
	seed.Redacted
	*OneTimeKey
	a, hint   []uint64
	y, masked []uint64
}

func newDecryption(q *OneTimeKey) *decryption {
	n, k := q.params.Ring().N, q.params.Records()
	return &decryption{OneTimeKey: q, a: make([]uint64, n), hint: make([]uint64, n), y: make([]uint64, k), masked: make([]uint64, k)}
}

// phases returns Δ·score + noise for the records of one group (symbols as in
// package lattice). To the server's reply it adds the evaluations, at the K
// points, of
//
//	a_g·(s_n + Σ_b s_b·(Δ_q·p_b + e′_b)) + s′·Σ_b W_{g,b}·a′_b
//
// and transforms the sum back. The next call overwrites the result.
func (d *decryption) phases(g groupHint, reply []uint64) []uint64 {
	p, ring := d.params, d.params.Ring()
	publicGroup(ring, d.a, g.public)
	g.evaluate(p, d.hint)
	ring.DotRows(d.y, d.hint, d.once)
	ring.DotRows(d.masked, d.a, d.combined)
	for k, masked := range d.masked {
		d.y[k] = ring.Add(ring.Add(d.y[k], masked), reply[k])
	}
	ring.InterpolateFolded(d.y)
	return d.y
}
