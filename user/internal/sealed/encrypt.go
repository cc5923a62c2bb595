package sealed

import (
	"cmp"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/seed"
)

// Encrypt encrypts a group of 1 to K records, each with a vector of Dim
// coordinates and the addend of its score. The secret `fresh` must be used for
// this group alone (seed.Source).
func (k *Key) Encrypt(vectors [][]int16, addends []int64, fresh seed.Secret) (*lattice.Group, error) {
	p, ring := k.params, k.params.Ring()
	if len(vectors) < 1 || len(vectors) > p.Records() || len(addends) != len(vectors) {
		return nil, fmt.Errorf("encrypting a sealed group: %w: %d vectors and %d addends for 1 to %d records",
			cpar.ErrInput, len(vectors), len(addends), p.Records())
	}
	for i, v := range vectors {
		if err := checkRow(p, v, addends[i]); err != nil {
			return nil, fmt.Errorf("encrypting a sealed group: record %d: %w", i, err)
		}
	}

	g := &lattice.Group{
		Index: k.id, Count: len(vectors),
		Matrix: make([]byte, p.MatrixBytes()),
	}
	// The seed is public, and the noise must not be derivable from it.
	g.Seed = fresh.Derive("sealed/seed")
	noise := seed.New(fresh.Derive("sealed/noise"))
	a := make([]uint64, ring.N)
	publicGroup(ring, a, publicSeed(k.id, g.Seed))

	w := make([]uint64, ring.N)
	masked := make([]uint64, ring.N)
	for b, s := range k.blocks {
		clear(w)
		for i, v := range vectors {
			placeRecord(w, p, v, i, b)
		}
		addGaussian(ring, noise, w)
		ring.Evaluate(w)
		clear(masked)
		ring.MulAdd(masked, a, s)
		for i := range w {
			w[i] = ring.Sub(w[i], masked[i])
		}
		p.Scatter(g.Matrix, w, b)
	}

	words := make([]uint64, p.Records())
	for i, x := range addends {
		words[i] = ring.Lift(x << p.LogScale())
	}
	addGaussian(ring, noise, words)
	ring.EvaluateFolded(words)
	for i, mask := range k.maskAddends(a) {
		words[i] = ring.Sub(words[i], mask)
	}
	g.Addends = lattice.AppendWords(nil, words)
	return g, nil
}

// maskAddends keeps the coefficients 0, D, 2D, … of a_g·s_n, where D is the block width
// and s_n is the secret of addends. It returns D times their evaluations.
func (k *Key) maskAddends(a []uint64) []uint64 {
	ring := k.params.Ring()
	mask := make([]uint64, k.params.Records())
	ring.DotRows(mask, a, k.addend)
	// k.addend is prepared as a factor, 2⁶⁴ times s_n. Scaling by 1 removes
	// the 2⁶⁴.
	ring.Scale(mask, 1)
	return mask
}

// placeRecord writes block b of record i into the polynomial m_{g,b}, scaled by
// Δ_db. Coordinate j goes to X^(iD−j), where X^−j is −X^(N−j).
func placeRecord(w []uint64, p lattice.Params, v []int16, i, b int) {
	from, ring := b*p.Block, p.Ring()
	for j, x := range v[from:min(from+p.Block, p.Dim)] {
		c, at := int64(x)<<p.LogRecordScale, i*p.Block-j
		if at < 0 {
			c, at = -c, at+ring.N
		}
		w[at] = ring.Lift(c)
	}
}

// checkRow checks the bounds of a row. A row of several records contains their
// addends and has no addend itself.
func checkRow(p lattice.Params, v []int16, addend int64) error {
	fits := func(addend int64) error {
		if addend > p.Addend || addend < -p.Addend {
			return fmt.Errorf("%w: an addend exceeds %d", cpar.ErrInput, p.Addend)
		}
		return nil
	}
	if p.LogSlots == 0 {
		return cmp.Or(checkVector(p.Dim, v, p.RecordNorm), fits(addend))
	}
	if len(v) != p.Dim || addend != 0 {
		return fmt.Errorf("%w: a row of %d coordinates, not %d, and an addend of %d", cpar.ErrInput, len(v), p.Dim, addend)
	}
	again := make([]int16, p.Dim)
	for c := range p.Slots() {
		record, addend := p.Slot(v, c)
		if err := cmp.Or(checkVector(len(record), record, p.RecordNorm), fits(addend)); err != nil {
			return err
		}
		p.PutSlot(again, c, record, addend)
	}
	if !slices.Equal(again, v) {
		return fmt.Errorf("%w: an addend that is not divided as it should be", cpar.ErrInput)
	}
	return nil
}

func checkRequest(p lattice.Params, u []int16) error {
	if p.LogSlots == 0 {
		return checkVector(p.Dim, u, p.RequestNorm)
	}
	if len(u) != p.Dim {
		return fmt.Errorf("%w: a vector of %d coordinates, not %d", cpar.ErrInput, len(u), p.Dim)
	}
	for c := range p.Slots() {
		asked, _ := p.Slot(u, c)
		if slices.Equal(p.Ask(asked, c), u) {
			return checkVector(len(asked), asked, p.RequestNorm)
		}
	}
	return fmt.Errorf("%w: it does not request exactly one record of a row", cpar.ErrInput)
}

func checkVector(dim int, v []int16, norm int64) error {
	if len(v) != dim {
		return fmt.Errorf("%w: a vector of %d coordinates, not %d", cpar.ErrInput, len(v), dim)
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
