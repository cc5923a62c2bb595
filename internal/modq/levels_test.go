package modq

import (
	"math/rand/v2"
	"testing"
)

func eachLevel(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	AtEachLevel(func(kernels string) { t.Run(kernels, f) })
}

func lengths() []int {
	var out []int
	for n := range 201 {
		out = append(out, n)
	}
	return append(out, 255, 256, 257, 511, 1023, 1296, 1343, 1344, 1345, 1346, 1347, 1348, 1349, 1360, 4099)
}

func words(r *rand.Rand, n int) []uint64 {
	x := make([]uint64, n)
	for i := range x {
		x[i] = r.Uint64()
	}
	return x
}

type mould struct {
	name string
	fill func(r *rand.Rand) uint64
}

var moulds = []mould{
	{"random", (*rand.Rand).Uint64},
	{"zero", func(*rand.Rand) uint64 { return 0 }},
	{"largest", func(*rand.Rand) uint64 { return 1<<64 - 1 }},
	{"top bit", func(*rand.Rand) uint64 { return 1 << 63 }},
	{"halves", func(r *rand.Rand) uint64 {
		edge := []uint64{0, 1, 1<<32 - 1, 1 << 32, 1<<31 + 1<<63, 1<<63 - 1, 1<<64 - 1, 1<<64 - 1<<32}
		return edge[r.IntN(len(edge))]
	}},
}

const guard, guardWords = 0xfeedfacecafebeef, 9

// A fenced slice has an offset from a 64-byte boundary and guard words around
// it.
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

func naiveDot(a, b []uint64) (s uint64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func naiveSum(x []uint64) (s uint64) {
	for _, w := range x {
		s += w
	}
	return s
}
