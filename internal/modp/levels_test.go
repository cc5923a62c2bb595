package modp

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

func (l level) String() string { return [...]string{"plain Go", "AVX2", "AVX-512 IFMA"}[l] }

// levels are the levels that this processor supports.
func levels() []level {
	var out []level
	for l := plain; l <= best(); l++ {
		out = append(out, l)
	}
	return out
}

// eachLevel runs f with the kernels of each level.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for _, l := range levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer func(l level) { active = l }(active)
			active = l
			f(t)
		})
	}
}

// A mould makes words for a test to multiply.
type mould struct {
	name string
	fill func(r *rand.Rand) uint64
}

var moulds = []mould{
	{"random", func(r *rand.Rand) uint64 { return r.Uint64N(Q) }},
	{"zero", func(*rand.Rand) uint64 { return 0 }},
	{"largest", func(*rand.Rand) uint64 { return Q - 1 }},
	{"edges", func(r *rand.Rand) uint64 {
		edge := []uint64{0, 1, 2, Q - 1, Q - 2, 1<<30 - 1, 1 << 30, 1<<32 - 1, 1<<36 - 1, 1 << 36, 1<<44 - 1, 1 << 44,
			1<<52 - 1, 1 << 52, 1<<52 + 1, 1<<59 - 1, 1 << 59, Q &^ (1<<52 - 1), excess}
		return edge[r.IntN(len(edge))]
	}},
}

const guard, guardWords = 0xfeedfacecafebeef, 9

// A fenced slice starts at a given distance from a 64-byte boundary, between words that
// must not be written.
type fenced struct{ all, words []uint64 }

func fence(r *rand.Rand, n, off int, m mould) fenced {
	all := make([]uint64, guardWords+off+n+guardWords)
	for i := range all {
		all[i] = guard
	}
	start := guardWords + off
	f := fenced{all, all[start : start+n : start+n]}
	for i := range f.words {
		f.words[i] = m.fill(r)
	}
	return f
}

func (f fenced) check(t *testing.T, what string) {
	t.Helper()
	start := len(f.all) - guardWords - len(f.words)
	for i, w := range f.all {
		if (i < start || i >= start+len(f.words)) && w != guard {
			t.Fatalf("%s: wrote beyond %d words, at %d", what, len(f.words), i-start)
		}
	}
}

func words(r *rand.Rand, n int) []uint64 { return fence(r, n, 0, moulds[0]).words }

// slowDot is Σ a[i]·b[i] mod Q in big integers, one word at a time.
func slowDot(a, b []uint64) uint64 {
	var sum, x, y big.Int
	for i := range a {
		sum.Add(&sum, x.Mul(x.SetUint64(a[i]), y.SetUint64(b[i])))
	}
	return x.Mod(&sum, y.SetUint64(Q)).Uint64()
}
