package mod48

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"cpar/internal/modq"
)

// The size of an index of 20,000 records of 1,344 numbers exceeds every cache.
// Each round is timed beside a plain read of the same bytes, and the minimum
// counts, because other load on the machine affects both.
const benchWords = 20000 * 1344

var benchMatrix []byte

func matrix(m *Modulus) []byte {
	if benchMatrix == nil {
		r := rand.New(rand.NewPCG(1, 2))
		benchMatrix = make([]byte, WordBytes*benchWords)
		copy(benchMatrix, pack(words(r, m.c.q, 1<<20, 0, moulds[0]), 0))
		for done := WordBytes << 20; done < len(benchMatrix); done *= 2 {
			copy(benchMatrix[done:], benchMatrix[:done])
		}
	}
	return benchMatrix
}

var sink uint64

// besideRead runs f alternately with a plain read of all, at every level.
func besideRead(b *testing.B, all []byte, f func()) {
	view := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(all))), len(all)/8)
	AtEachLevel(func(l string) {
		b.Run(l, func(b *testing.B) {
			least, read := int64(math.MaxInt64), int64(math.MaxInt64)
			for b.Loop() {
				begun := time.Now()
				sink += modq.Sum(view)
				middle := time.Now()
				f()
				least, read = min(least, time.Since(middle).Nanoseconds()), min(read, middle.Sub(begun).Nanoseconds())
			}
			b.ReportMetric(float64(least)/1e6, "ms")
			b.ReportMetric(float64(read)/1e6, "ms-read")
			b.ReportMetric(float64(least)/float64(read), "reads")
		})
	})
}

func BenchmarkRows(b *testing.B) {
	m := New(moduli[1])
	all := matrix(m)
	// The numbers of rows are those of a group in the smaller ring.
	for n, rows := range map[int]int{1344: 16, 96: 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, dst := words(rand.New(rand.NewPCG(3, 4)), m.c.q, rows*n, 0, moulds[0]), make([][Streams]uint64, rows)
			quarter, size := len(all)/Streams, WordBytes*rows*n
			besideRead(b, all, func() {
				o := m.Prepare(x, rows)
				for at := 0; at+size <= quarter; at += size {
					o.Rows(dst, &[Streams][]byte{all[at:], all[quarter+at:], all[2*quarter+at:], all[3*quarter+at:]})
				}
			})
		})
	}
}

func BenchmarkTimes(b *testing.B) {
	m := New(moduli[1])
	all := matrix(m)
	for _, dim := range []int{1344, 96} {
		for _, n := range []int{4, 8, 16} {
			b.Run(fmt.Sprintf("%d/%d", dim, n), func(b *testing.B) {
				r := rand.New(rand.NewPCG(3, 4))
				requests := make([][]uint64, n)
				for i := range requests {
					requests[i] = words(r, m.c.q, dim, 0, moulds[0])
				}
				var rows, ahead [TileRows][]byte
				var dst [TileRows][MaxRequests]uint64
				besideRead(b, all, func() {
					var t Tile
					t.Set(m, requests)
					size := WordBytes * dim
					for at := 0; at+2*TileRows*size <= len(all); at += TileRows * size {
						for i := range rows {
							rows[i], ahead[i] = all[at+i*size:][:size], all[at+(TileRows+i)*size:][:size]
						}
						t.Times(dst[:], rows[:], ahead[:])
					}
				})
			})
		}
	}
}

// BenchmarkOwner measures reading the reply of one group, at N = 2048 and D =
// 32.
func BenchmarkOwner(b *testing.B) {
	const n, k = 2048, 64
	r := rand.New(rand.NewPCG(5, 6))
	q := moduli[0]
	m := New(q)
	transform := m.NewTransform(rootsOf(q, k))
	x, y, sums := words(r, q, n, 0, moulds[0]), words(r, q, n, 0, moulds[0]), make([]uint64, k)
	packed, cut := make([]byte, n*FieldBits/8), make([]byte, 8*n)
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"Fields", func() { m.Fields(y, packed, 21) }},
		{"Evaluate", func() { transform.Evaluate(x, k) }},
		{"Products", func() { m.Products(sums, x, y) }},
		{"Cut", func() { m.Cut(y, cut) }},
	} {
		AtEachLevel(func(l string) {
			b.Run(c.name+"/"+l, func(b *testing.B) {
				least := int64(math.MaxInt64)
				for b.Loop() {
					begun := time.Now()
					c.f()
					least = min(least, time.Since(begun).Nanoseconds())
				}
				b.ReportMetric(float64(least), "least-ns")
			})
		})
	}
}
