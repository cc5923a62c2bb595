package modp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cpar/internal/modq"
)

// The sizes of an index of 20,000 records of 1,344 numbers, which no cache holds: 215 MB, also as
// rows of 96 numbers. Times are the least of a benchmark's rounds, each beside a plain read of the
// same bytes, so that a slow spell of the machine affects both.
const benchWords = 20000 * 1344

var benchMatrix []uint64

func matrix() []uint64 {
	if benchMatrix == nil {
		benchMatrix = words(rand.New(rand.NewPCG(1, 2)), benchWords)
	}
	return benchMatrix
}

var sink uint64

// besideRead runs f in turn with a plain read of m, at every level, and reports both.
func besideRead(b *testing.B, m []uint64, f func()) {
	for _, l := range levels() {
		b.Run(l.String(), func(b *testing.B) {
			defer func(l level) { active = l }(active)
			active = l
			least, read := int64(math.MaxInt64), int64(math.MaxInt64)
			for b.Loop() {
				begun := time.Now()
				sink += modq.Sum(m)
				middle := time.Now()
				f()
				least, read = min(least, time.Since(middle).Nanoseconds()), min(read, middle.Sub(begun).Nanoseconds())
			}
			b.ReportMetric(float64(least)/1e6, "ms")
			b.ReportMetric(float64(read)/1e6, "ms-read")
			b.ReportMetric(float64(least)/float64(read), "reads")
		})
	}
}

func BenchmarkRows(b *testing.B) {
	m := matrix()
	for _, dim := range []int{1344, 96} {
		b.Run(fmt.Sprint(dim), func(b *testing.B) {
			x := words(rand.New(rand.NewPCG(3, 4)), 64*dim)
			dst := make([][Streams]uint64, 64)
			besideRead(b, m, func() {
				quarter := len(m) / Streams
				for at := 0; at+len(x) <= quarter; at += len(x) {
					Rows(dst, &[Streams][]uint64{m[at:], m[quarter+at:], m[2*quarter+at:], m[3*quarter+at:]}, x)
				}
			})
		})
	}
}

func BenchmarkTimes(b *testing.B) {
	m := matrix()
	const dim = 1344
	for _, n := range []int{4, 8, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, 4))
			requests := make([][]uint64, n)
			for i := range requests {
				requests[i] = words(r, dim)
			}
			var rows, ahead [TileRows][]uint64
			var dst [TileRows][Most]uint64
			besideRead(b, m, func() {
				var o Operand
				o.Set(requests)
				for at := 0; at+2*TileRows*dim <= len(m); at += TileRows * dim {
					for i := range rows {
						rows[i], ahead[i] = m[at+i*dim:][:dim], m[at+(TileRows+i)*dim:][:dim]
					}
					o.Times(dst[:], rows[:], ahead[:])
				}
			})
		})
	}
}
