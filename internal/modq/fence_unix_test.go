//go:build unix

package modq

import (
	"math/rand/v2"
	"testing"

	"cpar/internal/testing/guardpage"
)

// edge returns n words at the end or the beginning of accessible memory.
func edge(t *testing.T, r *rand.Rand, n int, atEnd bool) []uint64 {
	t.Helper()
	x := guardpage.Slice[uint64](t, n, atEnd)
	for i := range x {
		x[i] = r.Uint64()
	}
	return x
}

// A read beyond a slice crashes this test. Prefetches may go beyond.
func TestKernelsStayWithinSlices(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for n := range 72 {
			for _, atEnd := range []bool{false, true} {
				x, y := edge(t, r, n, atEnd), edge(t, r, n, atEnd)
				if Dot(x, y) != naiveDot(x, y) || Sum(x) != naiveSum(x) || SumFour(x) != naiveSum(x) {
					t.Fatalf("n = %d: wrong sums", n)
				}
				Axpy(3, x, y)
				AxpyRows(&[TileRows]uint64{1, 2, 3, 4}, &[TileRows][]uint64{x, x, x, x}, y, nil)
				lanes := edge(t, r, n*Lanes, atEnd)
				var sum [Lanes]uint64
				DotLanes(&sum, x, lanes)
				groups := []Group{{X: lanes}, {X: edge(t, r, n*Lanes, atEnd)}}
				var block Block
				for g := range groups {
					SumPairs(&groups[g].Pairs, groups[g].X)
					Tile(&block, &[TileRows][]uint64{x, y, x, y}, groups[:g+1], x)
				}
				if block[0][0] != sum {
					t.Fatalf("n = %d: Tile and DotLanes differ", n)
				}
				matrix, dst := edge(t, r, 5*n, atEnd), edge(t, r, 5, atEnd)
				Rows(dst, matrix, x)
				last := matrix[4*n:]
				Gather(dst, [][]uint64{last, matrix, last, matrix[3*n:], last}, x)
				if dst[2] != naiveDot(last, x) {
					t.Fatalf("n = %d: wrong product", n)
				}
			}
		}
	})
}
