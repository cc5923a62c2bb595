package pca

import (
	"math"
	"slices"
	"testing"
)

// Sizes at, below and above panels, tasks and groups of eight rows.
func TestProducts(t *testing.T) {
	for _, s := range []struct{ n, in, l int }{
		{1, 1, 1}, {3, 7, 2}, {31, 130, 17}, {513, 129, 3}, {515, 512, 16}, {530, 1030, 33}, {1024, 128, 20}, {2300, 130, 5},
	} {
		rows := sloped(s.n, s.in, 0.99, 1)
		c, err := centre(rows)
		if err != nil {
			t.Fatal(err)
		}
		q := matrix(s.l, s.in)
		for i := range q.Data {
			q.Data[i] = float64(i*i%23) / 23
		}
		want, z := matrix(s.l, s.in), matrix(s.l, s.in)
		for i := range s.l {
			for _, x := range rows {
				dot := 0.0
				for j, v := range x {
					dot += q.Data[i*s.in+j] * (float64(v) - c.mean[j]) * c.scale
				}
				for j, v := range x {
					want.Data[i*s.in+j] += dot * (float64(v) - c.mean[j]) * c.scale
				}
			}
		}
		if err := c.multiply(t.Context(), z, q); err != nil {
			t.Fatal(err)
		}
		largest := 0.0
		for _, v := range want.Data {
			largest = max(largest, math.Abs(v))
		}
		for i, v := range z.Data {
			if math.Abs(v-want.Data[i]) > 1e-5*largest {
				t.Fatalf("%+v: q·XᵀX at %d is %g, want %g", s, i, v, want.Data[i])
			}
		}
	}
}

// A photo's bits must not depend on its position in a batch.
func TestProjectEqualsProjectAll(t *testing.T) {
	const in, out = 1100, 21 // more than two panels, no multiple of a group of components
	rows := sloped(2*batchRows+3, in, 0.99, 2)
	b := mustFit(t, rows, out, 1)
	for _, some := range [][][]float32{rows, rows[5:], rows[batchRows-1 : batchRows+1]} {
		all, err := b.ProjectAll(some)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range some {
			if !slices.Equal(b.Project(row), all[i]) {
				t.Fatalf("row %d of %d: Project and ProjectAll differ", i, len(some))
			}
		}
	}
}
