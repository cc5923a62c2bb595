//go:build unix

package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar/internal/testing/guardpage"
)

// edge returns n values at the end or the beginning of accessible memory.
func edge[T float32 | float64](t *testing.T, r *rand.Rand, n int, atEnd bool) []T {
	t.Helper()
	x := guardpage.Slice[T](t, n, atEnd)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

func eachEdge(t *testing.T, f func(t *testing.T, r *rand.Rand, atEnd bool)) {
	t.Helper()
	eachLevel(t, func(t *testing.T) {
		for _, atEnd := range []bool{false, true} {
			f(t, rand.New(rand.NewPCG(15, 16)), atEnd)
		}
	})
}

func same[T float32 | float64](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i, w := range want {
		if got[i] != w && !(math.Abs(float64(got[i]-w)) <= 1e-5*(1+math.Abs(float64(w)))) {
			t.Fatalf("%s: value %d is %g, plain Go computes %g", what, i, got[i], w)
		}
	}
}

func TestPackAcross(t *testing.T) {
	eachEdge(t, func(t *testing.T, r *rand.Rand, atEnd bool) {
		for rows := 1; rows <= 13; rows++ {
			for _, k := range []int{1, 7, 8, 9, 24, 31} {
				from, dst := edge[float32](t, r, (rows-1)*(k+2)+k, atEnd), edge[float32](t, r, (k-1)*(rows+1)+rows, atEnd)
				want := slices.Clone(dst)
				packAcross(want, from, k+2, rows, k, rows+1)
				if active.across(dst, from, k+2, rows, k, rows+1); !slices.Equal(dst, want) {
					t.Fatalf("%d×%d: got %g, want %g", rows, k, dst, want)
				}
			}
		}
	})
}

// An access beyond a slice crashes these tests.
func TestTilesStayWithinSlices(t *testing.T) {
	eachEdge(t, func(t *testing.T, r *rand.Rand, atEnd bool) {
		size := active.tiling()
		for rows := 1; rows <= size.rows; rows++ {
			for vectors := 1; vectors <= 2; vectors++ {
				for _, k := range []int{1, 2, 5} {
					wide := vectors * size.lanes
					ldb, ldc := wide+2, wide+3
					of := tile{k: k, rows: rows, vectors: vectors, ldb: ldb, ldc: ldc, lo: -1.5, hi: 2}
					of.a, of.b = edge[float32](t, r, k*rows, atEnd), edge[float32](t, r, (k-1)*ldb+wide, atEnd)
					of.c = edge[float32](t, r, (rows-1)*ldc+wide, atEnd)
					for step, from := range map[int][]float32{ldc: of.c, 0: edge[float32](t, r, wide, atEnd), oneEach: edge[float32](t, r, rows, atEnd)} {
						of.from, of.step = from, step
						want := of
						want.c = slices.Clone(of.c)
						if step == ldc {
							want.from = want.c
						}
						tilePlain(&want, size.lanes)
						active.tile(&of)
						same(t, fmt.Sprintf("tile %d×%d, k = %d, step %d", rows, wide, k, step), of.c, want.c)
					}
				}
			}
		}
		for rows := 1; rows <= size.wideRows; rows++ {
			const k = 3
			ldc := size.wideWidth + 2
			a, b := edge[float64](t, r, k*rows, atEnd), edge[float64](t, r, k*size.wideWidth, atEnd)
			c := edge[float64](t, r, (rows-1)*ldc+size.wideWidth, atEnd)
			want := slices.Clone(c)
			widePlain(rows, k, a, b, want, ldc)
			active.wide(rows, k, a, b, c, ldc)
			same(t, fmt.Sprintf("%d rows of float64", rows), c, want)
		}
	})
}

func TestVectorsStayWithinSlices(t *testing.T) {
	eachEdge(t, func(t *testing.T, r *rand.Rand, atEnd bool) {
		lanes, v := active.tiling().lanes, levels[active].vectors
		for n := 0; n < 20*lanes; n += lanes {
			of := func(n int) []float32 { return edge[float32](t, r, n, atEnd) }
			x, y, out, mean, want := of(n), of(n), of(n), edge[float64](t, r, n, atEnd), make([]float32, n)
			check := func(what string) {
				t.Helper()
				same(t, fmt.Sprintf("%s of %d values", what, n), out, want)
			}
			same(t, "Dot", []float32{v.dot(x, y), v.largest(x)}, []float32{dotPlain(x, y), largestPlain(x)})
			copy(want, out)
			v.axpy(2.5, x, out)
			axpyPlain(2.5, x, want)
			check("Axpy")
			v.line(out, x, 2.5, 0.5, -1, 2)
			linePlain(want, x, 2.5, 0.5, -1, 2)
			check("Line")
			v.times(out, x, y)
			timesPlain(want, x, y)
			check("Times")
			v.larger(out, x, y)
			largerPlain(want, x, y)
			check("Larger")
			v.centre(out, x, mean, 0.25)
			centrePlain(want, x, mean, 0.25)
			check("Centre")
			for f := range numFunctions {
				v.dot(x, y) // overwrites registers in which the previous function left constants
				active.apply(f, out, x)
				applyPlain(f, want, x)
				check(fmt.Sprint("function ", f))
			}
			sum := slices.Clone(mean)
			v.widen(mean, x)
			widenPlain(sum, x)
			same(t, "AddTo64", mean, sum)
			long, weights, offsets := of(n+5), of(3), []int{5, 0, 2}
			Taps(out, long, offsets, weights, 0.5, &Epilogue{Clip: true, Lo: -1, Hi: 1})
			for i := range want {
				want[i] = clip(0.5+weights[0]*long[5+i]+weights[1]*long[i]+weights[2]*long[2+i], -1, 1)
			}
			check("Taps")
		}
		for wide := lanes; wide <= 2*lanes; wide += lanes {
			b, offsets := edge[float32](t, r, wide+7, atEnd), []int{7, 0, 3}
			dst, want := edge[float32](t, r, 3*wide, atEnd), make([]float32, 3*wide)
			active.pack(dst, b, offsets, wide)
			packPlain(want, b, offsets, wide)
			same(t, "pack", dst, want)
		}
	})
}
