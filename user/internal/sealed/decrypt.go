package sealed

import (
	"fmt"
	"math"

	"cpar"
	"cpar/internal/lattice"
)

// Decrypt recovers the vectors and addends of a group, for compaction and
// removal. W_{g,b} encrypts m_{g,b}, block b of group g, with scale Δ_db,
// public a_g, secret s_b and noise e_{g,b} (package lattice).
//
//	W_{g,b} + a_g·s_b = Δ_db·m_{g,b} + e_{g,b}
func (k *Key) Decrypt(g *lattice.Group) ([][]int16, []int64, error) {
	p, ring := k.params, k.params.Ring()
	if !g.Fits(p, k.id) {
		return nil, nil, fmt.Errorf("decrypting a sealed group: %w: it belongs to another index", cpar.ErrCorrupt)
	}
	if 1<<(p.LogRecordScale-1) <= lattice.MaxNoise {
		return nil, nil, fmt.Errorf("decrypting a sealed group: %w: records are scaled by 2^%d only", cpar.ErrInput, p.LogRecordScale)
	}
	a, w := make([]uint64, ring.N), make([]uint64, ring.N)
	publicGroup(ring, a, publicSeed(k.id, g.Seed))
	vectors := make([][]int16, g.Count)
	for i := range vectors {
		vectors[i] = make([]int16, p.Dim)
	}
	for b, s := range k.blocks {
		p.Gather(w, g.Matrix, b)
		ring.MulAdd(w, a, s)
		ring.Interpolate(w)
		for i, v := range vectors {
			readRecord(v, p, w, i, b)
		}
	}
	words := make([]uint64, p.Records())
	lattice.Words(words, g.Addends)
	for i, mask := range k.maskAddends(a) {
		words[i] = ring.Add(words[i], mask)
	}
	ring.InterpolateFolded(words)
	addends := make([]int64, g.Count)
	for i := range addends {
		addends[i] = nearest(ring, words[i], p.LogScale())
		// Under a wrong key the result is noise far beyond the bounds.
		if err := checkRow(p, vectors[i], addends[i]); err != nil {
			return nil, nil, fmt.Errorf("decrypting a sealed group: record %d: %w: another key encrypted it", i, cpar.ErrCorrupt)
		}
	}
	return vectors, addends, nil
}

func readRecord(v []int16, p lattice.Params, w []uint64, i, b int) {
	from, ring := b*p.Block, p.Ring()
	for j := range v[from:min(from+p.Block, p.Dim)] {
		at := i*p.Block - j
		if at < 0 {
			v[from+j] = saturated(nearest(ring, ring.Sub(0, w[at+ring.N]), p.LogRecordScale))
			continue
		}
		v[from+j] = saturated(nearest(ring, w[at], p.LogRecordScale))
	}
}

// saturated clips x to int16. Truncation could make the noise from a wrong key small.
func saturated(x int64) int16 { return int16(min(max(x, math.MinInt16), math.MaxInt16)) }

// nearest returns the integer nearest to x/2^shift, where x represents a number
// between −Q/2 and Q/2.
func nearest(ring *lattice.Ring, x uint64, shift int) int64 {
	return (ring.Centred(x) + 1<<(shift-1)) >> shift
}
