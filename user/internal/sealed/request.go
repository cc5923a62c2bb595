package sealed

import (
	"fmt"
	"sync/atomic"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/seed"
)

// A OneTimeKey holds the secrets for reading the reply to one request.
type OneTimeKey struct {
	seed.Redacted
	params lattice.Params
	id     cpar.IndexID
	number [lattice.NumberSize]byte
	used   atomic.Bool
	// once holds the evaluations of the request's secret s′ by columns, in the
	// order of hints.
	once []uint64
	// combined holds the evaluations of s_n + Σ_b s_b·(Δ_q·p_b + e′_b), where
	// p_b is block b of the vector and e′_b the noise.
	combined []uint64
}

// NewRequest encrypts a vector of Dim coordinates. The secret s′ and noise derive from
// `fresh`, which must be used for this request alone (seed.Source).
func (k *Key) NewRequest(u []int16, fresh seed.Secret) (*OneTimeKey, *lattice.Request, error) {
	p := k.params
	ring := p.Ring()
	if err := checkRequest(p, u); err != nil {
		return nil, nil, fmt.Errorf("encrypting a sealed request: %w", err)
	}
	noise := seed.New(fresh.Derive("sealed/noise"))
	once := ternary(ring, seed.New(fresh.Derive("sealed/once")))
	q := &OneTimeKey{params: p, id: k.id, once: reflected(p, once), combined: make([]uint64, ring.N)}
	ring.Evaluate(once)
	r := &lattice.Request{Index: k.id, Matrix: make([]byte, p.MatrixBytes())}
	number := fresh.Derive("sealed/number")
	copy(r.Number[:], number[:])
	q.number = r.Number

	// k.addend is prepared as a factor. Scaling by 1 turns it back into s_n.
	w, masked := make([]uint64, ring.N), make([]uint64, ring.N)
	copy(q.combined, k.addend)
	ring.Scale(q.combined, 1)
	for b := range p.Blocks() {
		clear(w)
		for j, x := range u[b*p.Block : min((b+1)*p.Block, p.Dim)] {
			w[j] = ring.Lift(int64(x) << p.LogRequestScale())
		}
		addGaussian(ring, noise, w)
		ring.Evaluate(w)
		ring.MulAdd(q.combined, w, k.blocks[b])
		clear(masked)
		ring.MulAdd(masked, once, k.public[b])
		for i := range w {
			w[i] = ring.Sub(w[i], masked[i])
		}
		p.Scatter(r.Matrix, w, b)
	}
	return q, r, nil
}

// reflected returns D times the evaluations of the columns s_r[i] = s[iD−r]
// (see lattice.Params.EvaluateColumns), where D is the block width. The inner
// products to which it is added have the same factor.
func reflected(p lattice.Params, s []uint64) []uint64 {
	ring := p.Ring()
	columns := make([]uint64, ring.N)
	for i := range p.Records() {
		for r := range p.Block {
			if at := i*p.Block - r; at >= 0 {
				columns[i*p.Block+r] = s[at]
			} else {
				columns[i*p.Block+r] = ring.Sub(0, s[at+ring.N])
			}
		}
	}
	factor := []uint64{uint64(p.Block)}
	ring.Factors(factor)
	ring.Scale(columns, factor[0])
	p.EvaluateColumns(columns)
	return columns
}
