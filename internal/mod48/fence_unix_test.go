//go:build unix

package mod48

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"cpar/internal/testing/guardpage"
)

// An inaccessible page follows the slices, because kernels read whole vectors
// of packed words. Prefetches may go beyond.
func TestKernelsStayWithinSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	m := New(moduli[1])
	for n := 0; n <= 160; n += block {
		for _, atEnd := range []bool{false, true} {
			x, y := words(r, m.c.q, n, 0, moulds[0]), words(r, m.c.q, n, 0, moulds[0])
			b := guardpage.Bytes(t, WordBytes*n, atEnd)
			copy(b, pack(y, 0))
			q := guardpage.Bytes(t, WordBytes*n, atEnd)
			copy(q, pack(x, 0))
			want := slowDot(m.c.q, y, x)
			AtEachLevel(func(l string) {
				var products [1][Streams]uint64
				m.Prepare(x, 1).Rows(products[:], &[Streams][]byte{b, b, b, b})
				less := m.Correction(b)
				if got := products[0]; m.Add(got[0], less) != want || m.Add(got[3], less) != want {
					t.Fatalf("%v, %d words: Rows: %#x, correction %#x, want %#x", l, n, got, less, want)
				}
				if blocks := n / block; blocks > 0 { // one row for each block
					products := make([][Streams]uint64, blocks)
					m.Prepare(x, blocks).Rows(products, &[Streams][]byte{b, b, b, b})
					sum := less
					for _, p := range products {
						sum = m.Add(sum, p[1])
					}
					if sum != want {
						t.Fatalf("%v: the sum of Rows of %d rows: %#x, want %#x", l, blocks, sum, want)
					}
				}
				var tile Tile
				for _, requests := range [][][]byte{{q, b, q}, {q, b, b, b, b, b, b, b, q}} {
					tile.Set(m, requests)
					var dst [3][MaxRequests]uint64
					tile.Times(dst[:], [][]byte{b, b, b}, nil)
					if got := dst[2]; m.Add(got[0], less) != want || m.Add(got[len(requests)-1], less) != want {
						t.Fatalf("%v, %d words: Times: %#x, correction %#x, want %#x", l, n, got, less, want)
					}
				}
			})
		}
	}
}

func TestOwnerKernelsStayWithinSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	m := New(moduli[1])
	transform := m.NewTransform(words(r, m.c.q, 8, 0, moulds[0]))
	fenced := func(n int, atEnd bool) []uint64 {
		b := guardpage.Bytes(t, 8*n, atEnd)
		x := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), n)
		copy(x, words(r, m.c.q, n, 0, moulds[0]))
		return x
	}
	for n := 128; n <= 1024; n += 128 {
		for _, atEnd := range []bool{false, true} {
			x, y, sums := fenced(n, atEnd), fenced(n, atEnd), fenced(4, atEnd)
			cut, packed := guardpage.Bytes(t, 8*n, atEnd), guardpage.Bytes(t, n/16*fieldBlockBytes, atEnd)
			AtEachLevel(func(string) {
				m.Products(sums, x, y)
				transform.Evaluate(x, 8)
				m.Fields(y, packed, 3)
				m.Cut(x, cut)
			})
		}
	}
}
