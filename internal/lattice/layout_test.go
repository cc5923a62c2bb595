package lattice

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestScatterThenGather(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(1, 2))
		p := Params{LogN: o.LogN, Dim: 100, Block: 32}
		m := make([]byte, p.MatrixBytes())
		var blocks [][]uint64
		for b := range p.Blocks() {
			blocks = append(blocks, o.random(r, o.N))
			p.Scatter(m, blocks[b], b)
		}
		for b, want := range blocks {
			got := make([]uint64, o.N)
			p.Gather(got, m, b)
			if !slices.Equal(got, want) {
				t.Fatalf("block %d came back different", b)
			}
			for k := range p.Records() {
				row := make([]uint64, p.RowLen())
				Words(row, p.Row(m, k))
				if !slices.Equal(row[b*p.Block:][:p.Block], want[k*p.Block:][:p.Block]) {
					t.Fatalf("row %d, block %d is elsewhere", k, b)
				}
			}
		}
	})
}

func TestEvaluateColumns(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, d := range o.widths() {
			p := Params{LogN: o.LogN, Dim: 1, Block: d}
			f := o.random(r, o.N)
			got := slices.Clone(f)
			p.EvaluateColumns(got)
			for column := range d {
				want := make([]uint64, p.Records())
				for k := range want {
					want[k] = f[k*d+column]
				}
				for k, x := range o.evaluated(want) {
					if got[k*d+column] != x {
						t.Fatalf("D = %d: column %d is not evaluated by itself", d, column)
					}
				}
			}
		}
	})
}

func TestHintsAreRoundedWithinTheirBound(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		p := Params{LogN: o.LogN, Block: 32}
		half := uint64(1) << (o.LogQ - hintBits - 1)
		x := append(o.random(rand.New(rand.NewPCG(3, 4)), o.N-8), 0, 1, o.Q-1, o.Q/2, o.Q-o.gap, half, half-1, o.Q-half)
		packed, back := p.PackHint(nil, x), make([]uint64, o.N)
		if len(packed) != p.HintBytes() {
			t.Fatalf("%d bytes, but %d were announced", len(packed), p.HintBytes())
		}
		p.UnpackHint(back, packed)
		for i, x := range x {
			if back[i] >= o.Q {
				t.Fatalf("%d reads as %d", x, back[i])
			}
			if d := o.Centred(o.Sub(x, back[i])); max(d, -d) > int64(half+o.gap) {
				t.Fatalf("%d is off by %d, bound %d", x, d, half+o.gap)
			}
		}
	})
}

func TestScoreAtTheEdges(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		p := Params{LogN: o.LogN, LogT: 15}
		half, scale, gap := int64(1)<<14, int64(1)<<p.LogScale(), int64(o.gap)
		for _, s := range []int64{0, 1, -1, half - 1, -half + 1, 12345, -5432} {
			for _, noise := range []int64{0, 1, -1, scale/2 - 2*gap, -scale/2 + 2*gap} {
				if got := p.Score(o.Lift((s*scale + noise) % int64(o.Q))); got != s {
					t.Errorf("score %d with noise %d reads as %d", s, noise, got)
				}
			}
		}
		// Noise above the bound must cause wrong scores.
		if got := p.Score(uint64(5*scale + scale/2)); got == 5 {
			t.Error("noise of Δ/2 did not matter")
		}
	})
}

func TestPackHintAgainstBigIntegers(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		p := Params{LogN: o.LogN, Block: 32}
		x := o.random(rand.New(rand.NewPCG(5, 6)), o.N)
		all := new(big.Int)
		for i, x := range x {
			all.Or(all, new(big.Int).Lsh(new(big.Int).SetUint64(o.round(x, hintBits)), uint(i*hintBits)))
		}
		want := make([]byte, p.HintBytes())
		all.FillBytes(want)
		slices.Reverse(want)
		if !bytes.Equal(p.PackHint(nil, x), want) {
			t.Error("packed otherwise")
		}
	})
}
