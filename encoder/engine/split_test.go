package engine

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"cpar/internal/f32"
)

func TestSplitStepsComputeTheSame(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	r := rand.New(rand.NewPCG(3, 4))
	const rows, k, n = 50, 64, 192
	w := randomFloats(r, k*n)
	l := &linear{k: k, n: n, packed: f32.PackRight(w, n, k, n, false)}
	p := &product{m: 7, n: 9, k: 11, lda: 11, ldb: 9, alpha: 0.5}
	b, err := newBroadcast([]int{2, 5}, []int{1, 5})
	if err != nil {
		t.Fatal(err)
	}
	p.batch = b.merged()
	for i, size := range []int{7 * 11, 11 * 9} {
		for axis := range p.batch.steps[i] {
			p.batch.steps[i][axis] *= size
		}
	}
	for _, s := range []*step{
		{rows: rows, scratch: f32.Scratch(rows, n, k), out: &value{shape: []int{rows, n}}, in: []*value{{shape: []int{rows, k}}}, run: l.run},
		{rows: 10, part: p.run, scratch: f32.Scratch(7, 9, 11), out: &value{shape: []int{10, 7, 9}}, in: []*value{{shape: []int{10, 7, 11}}, {shape: []int{5, 11, 9}}},
			run: func(out []float32, in [][]float32, scratch []float32) { p.run(out, in, scratch, 0, 10) }},
		{rows: pieceRows(6400), out: &value{shape: []int{6400}}, in: []*value{{shape: []int{6400}}},
			run: func(out []float32, in [][]float32, _ []float32) { f32.Gelu(out, in[0]) }},
	} {
		s.work = minSplit
		var in [][]float32
		for _, v := range s.in {
			in = append(in, randomFloats(r, count(v.shape)))
		}
		want, got := make([]float32, count(s.out.shape)), make([]float32, count(s.out.shape))
		s.run(want, in, make([]float32, s.scratch))
		s.compute(got, in, make([]float32, 3*s.scratch), 3)
		if !slices.Equal(got, want) {
			t.Errorf("%d rows: three workers compute other values", s.rows)
		}
	}
}
