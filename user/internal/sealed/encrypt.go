package sealed

import (
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/modp"
	"cpar/user/internal/seed"
)

// Encrypt makes one group of 1 to K records: for each a vector of Dim
// coordinates and the addend of its score. The seed of a_g and the noise come
// from fresh, which must serve this group alone (seed.Source).
func (k *Key) Encrypt(vectors [][]int16, addends []int64, fresh seed.Secret) (*lattice.Group, error) {
	p := k.params
	if len(vectors) < 1 || len(vectors) > p.Records() || len(addends) != len(vectors) {
		return nil, fmt.Errorf("encrypting a sealed group: %w: %d vectors and %d addends for 1 to %d records",
			cpar.ErrInput, len(vectors), len(addends), p.Records())
	}
	for i, v := range vectors {
		if err := checkVector(p, v, p.RecordNorm); err != nil {
			return nil, fmt.Errorf("encrypting a sealed group: record %d: %w", i, err)
		}
		if a := addends[i]; a > p.Addend || a < -p.Addend {
			return nil, fmt.Errorf("encrypting a sealed group: record %d: %w: its addend exceeds %d", i, cpar.ErrInput, p.Addend)
		}
	}

	g := &lattice.Group{
		Index: k.id, Count: len(vectors),
		Addends: make([]uint64, p.Records()), Matrix: make([]uint64, p.Words()),
	}
	// The seed is public, the noise must not follow from it.
	g.Seed = fresh.Derive("sealed/seed")
	noise := seed.New(fresh.Derive("sealed/noise"))
	a := make([]uint64, lattice.N)
	publicGroup(a, k.id, g.Seed)

	w := make([]uint64, lattice.N)
	masked := make([]uint64, lattice.N)
	for b, s := range k.blocks {
		clear(w)
		for i, v := range vectors {
			placeRecord(w, p, v, i, b)
		}
		addGaussian(noise, w)
		lattice.Evaluate(w)
		clear(masked)
		lattice.MulAdd(masked, a, s)
		for i := range w {
			w[i] = lattice.Sub(w[i], masked[i])
		}
		p.Scatter(g.Matrix, w, b)
	}

	k.maskAddends(g.Addends, a)
	for i, x := range addends {
		g.Addends[i] = lattice.Add(g.Addends[i], lift(x<<p.LogScale()))
	}
	addGaussian(noise, g.Addends)
	return g, nil
}

// maskAddends writes the coefficients 0, D, 2D, … of −a_g·s_n into dst. The
// others would only be thrown away.
func (k *Key) maskAddends(dst, a []uint64) {
	d := k.params.Block
	for i := range dst {
		dst[i] = modp.Dot(a[i*d:(i+1)*d], k.addend[i*d:])
	}
	lattice.InterpolateFolded(dst)
	for i, x := range dst {
		dst[i] = lattice.Sub(0, x)
	}
	// k.addend is a factor, 2⁶⁴ times s_n.
	lattice.Scale(dst, 1)
}

// placeRecord writes block b of record i into m_{g,b}, times Δ_db: coordinate j
// at X^(iD−j), where X^−j is −X^(N−j).
func placeRecord(w []uint64, p lattice.Params, v []int16, i, b int) {
	from := b * p.Block
	for j, x := range v[from:min(from+p.Block, p.Dim)] {
		c, at := int64(x)<<p.LogRecordScale, i*p.Block-j
		if at < 0 {
			c, at = -c, at+lattice.N
		}
		w[at] = lift(c)
	}
}

// checkVector refuses a vector of another length and one that is too long for
// scores that cannot wrap and for the noise budget.
func checkVector(p lattice.Params, v []int16, norm int64) error {
	if len(v) != p.Dim {
		return fmt.Errorf("%w: a vector of %d coordinates, not %d", cpar.ErrInput, len(v), p.Dim)
	}
	square := uint64(0)
	for _, x := range v {
		square += uint64(int64(x) * int64(x))
		if square > uint64(norm*norm) {
			return fmt.Errorf("%w: the norm of the vector exceeds %d", cpar.ErrInput, norm)
		}
	}
	return nil
}
