package modq

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// The sizes of an index of 20,000 records, 216 MB. Rates in GB/s count bytes of
// the matrix. Partial reads rotate through the whole matrix, so that no cache
// holds it.
const benchRows, benchDim = 20000, 1347

var bigMatrix []uint64

func benchMatrix() []uint64 {
	if bigMatrix == nil {
		bigMatrix = make([]uint64, benchRows*benchDim)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range bigMatrix {
			bigMatrix[i] = r.Uint64()
		}
	}
	return bigMatrix
}

func perLevel(b *testing.B, bytes int, products int, f func()) {
	AtEachLevel(func(kernels string) {
		b.Run(kernels, func(b *testing.B) {
			b.SetBytes(int64(bytes))
			start := time.Now()
			for b.Loop() {
				f()
			}
			if products > 0 {
				b.ReportMetric(float64(products)*float64(b.N)/float64(time.Since(start).Nanoseconds()), "products/ns")
			}
		})
	})
}

var sink uint64

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := words(r, benchDim), words(r, benchDim)
	perLevel(b, 8*benchDim, benchDim, func() { sink += Dot(x, y) })
}

func BenchmarkAxpy(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := words(r, benchDim), words(r, benchDim)
	perLevel(b, 8*benchDim, benchDim, func() { Axpy(12345, x, y) })
}

func BenchmarkDotLanes(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	row, x := words(r, benchDim), words(r, benchDim*Lanes)
	var s [Lanes]uint64
	perLevel(b, 0, benchDim*Lanes, func() { DotLanes(&s, row, x) })
}

func BenchmarkTile16(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	m := words(r, TileRows*benchDim)
	rows := [TileRows][]uint64{m[:benchDim], m[benchDim : 2*benchDim], m[2*benchDim : 3*benchDim], m[3*benchDim:]}
	groups := []Group{{X: words(r, Lanes*benchDim)}, {X: words(r, Lanes*benchDim)}}
	var out Block
	perLevel(b, 0, TileRows*2*Lanes*benchDim, func() { Tile(&out, &rows, groups, nil) })
}

func BenchmarkSum(b *testing.B) {
	m := benchMatrix()
	b.Run("pages", func(b *testing.B) { perLevel(b, 8*len(m), 0, func() { sink += Sum(m) }) })
	b.Run("quarters", func(b *testing.B) { perLevel(b, 8*len(m), 0, func() { sink += SumFour(m) }) })
}

// dims are the dimensions of profile paper and of records of 96 numbers.
var dims = []int{benchDim, 99}

func BenchmarkRows(b *testing.B) {
	m := benchMatrix()
	for _, dim := range dims {
		b.Run(fmt.Sprint(dim), func(b *testing.B) {
			x, dst := words(rand.New(rand.NewPCG(1, 1)), dim), make([]uint64, len(m)/dim)
			perLevel(b, 8*len(dst)*dim, len(dst)*dim, func() { Rows(dst, m, x) })
		})
	}
}

func BenchmarkGather(b *testing.B) {
	m := benchMatrix()
	for _, dim := range dims {
		b.Run(fmt.Sprint(dim), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			rows := len(m) / dim
			x, dst := words(r, dim), make([]uint64, rows/10)
			list := make([][]uint64, rows)
			for i, j := range r.Perm(rows) {
				list[i] = m[j*dim:]
			}
			part := 0
			perLevel(b, 8*len(dst)*dim, len(dst)*dim, func() {
				Gather(dst, list[part:part+len(dst)], x)
				if part += len(dst); part+len(dst) > rows {
					part = 0
				}
			})
		})
	}
}

func BenchmarkRowsMany(b *testing.B) {
	m := benchMatrix()
	for _, n := range []int{2, 8, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			requests := make([][]uint64, n)
			for i := range requests {
				requests[i] = words(r, benchDim)
			}
			packed, dst := Pack(requests), make([]uint64, benchRows*n)
			perLevel(b, 8*len(m), n*len(m), func() { RowsMany(dst, m, packed, n) })
		})
	}
}
