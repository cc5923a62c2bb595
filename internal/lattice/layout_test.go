package lattice

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestScatterThenGather(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := Params{Dim: 100, Block: 32}
	m := make([]uint64, p.Words())
	var blocks [][]uint64
	for b := range p.Blocks() {
		blocks = append(blocks, elements(r, N))
		p.Scatter(m, blocks[b], b)
	}
	for b, want := range blocks {
		got := make([]uint64, N)
		p.Gather(got, m, b)
		if !slices.Equal(got, want) {
			t.Fatalf("block %d came back different", b)
		}
		for k := range p.Records() {
			if row := p.Row(m, k)[b*p.Block:][:p.Block]; !slices.Equal(row, want[k*p.Block:][:p.Block]) {
				t.Fatalf("row %d, block %d is elsewhere", k, b)
			}
		}
	}
}

func TestClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for d := minBlock; d <= maxBlock; d *= 2 {
		p := Params{Dim: 1, Block: d}
		f, classes := elements(r, N), make([]uint64, N)
		p.Classes(classes, f)
		evaluations := slices.Clone(classes)
		p.EvaluateClasses(evaluations)
		for at, x := range f {
			if classes[at%d*p.Records()+at/d] != x {
				t.Fatalf("D = %d: coefficient %d is elsewhere", d, at)
			}
		}
		for k := p.Records(); len(classes) > 0; classes, evaluations = classes[k:], evaluations[k:] {
			if !slices.Equal(evaluated(classes[:k]), evaluations[:k]) {
				t.Fatalf("D = %d: a class is not evaluated by itself", d)
			}
		}
	}
}

func TestRoundIsWithinItsBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, width := range []int{8, 20, 27, 34, 37} {
		xs := append(elements(r, 2000), 0, 1, Q-1, Q/2, Q-gap, 1<<(logQ-width-1), 1<<(logQ-width-1)-1, Q-1<<(logQ-width-1))
		bound := int64(1)<<(logQ-1-width) + gap
		for _, x := range xs {
			rounded := Round(x, width)
			back := Expand(rounded, width)
			if rounded>>width != 0 || back >= Q {
				t.Fatalf("%d rounds to %d, which stands for %d", x, rounded, back)
			}
			d := new(big.Int).Sub(new(big.Int).SetUint64(x), new(big.Int).SetUint64(back))
			d.Mod(d, bigQ)
			if d.Uint64() > Q/2 {
				d.Sub(bigQ, d)
			}
			if d.Int64() > bound {
				t.Fatalf("%d at %d bits: off by %d, bound %d", x, width, d.Int64(), bound)
			}
		}
	}
}

func TestScoreAtTheEdges(t *testing.T) {
	p := Params{LogT: 22}
	half, scale := int64(1)<<21, int64(1)<<38
	for _, s := range []int64{0, 1, -1, half - 1, -half + 1, 12345, -54321} {
		for _, noise := range []int64{0, 1, -1, scale/2 - 2*gap, -scale/2 + 2*gap} {
			phase := new(big.Int).Add(big.NewInt(s*scale), big.NewInt(noise))
			if got := p.Score(phase.Mod(phase, bigQ).Uint64()); got != s {
				t.Errorf("score %d with noise %d reads as %d", s, noise, got)
			}
		}
	}
	// With more noise than there is room for, scores must go wrong.
	if got := p.Score(uint64(5*scale + scale/2)); got == 5 {
		t.Error("noise of Δ/2 did not matter")
	}
}

func TestPackAgainstBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for width := 1; width <= maxWidth; width++ {
		for _, n := range []int{0, 1, 2, 7, 8, 9, 33} {
			v := make([]uint64, n)
			all := new(big.Int)
			for i := range v {
				v[i] = r.Uint64() >> (64 - width)
				all.Or(all, new(big.Int).Lsh(new(big.Int).SetUint64(v[i]), uint(i*width)))
			}
			want := make([]byte, PackedSize(n, width))
			all.FillBytes(want)
			slices.Reverse(want)
			got := Pack(nil, v, width)
			if !bytes.Equal(got, want) {
				t.Fatalf("%d numbers of %d bits: %x, want %x", n, width, got, want)
			}
			back := make([]uint64, n)
			if !Unpack(back, got, width) || !slices.Equal(back, v) {
				t.Fatalf("%d numbers of %d bits came back different", n, width)
			}
			if n*width%8 != 0 {
				got[len(got)-1] |= 0x80
				if Unpack(back, got, width) {
					t.Fatalf("%d numbers of %d bits: a bit behind the last went unnoticed", n, width)
				}
			}
		}
	}
}
