//go:build unix

package modp

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// edge returns n words that end just before an inaccessible page, or begin just after one.
func edge(t *testing.T, r *rand.Rand, n int, atEnd bool) []uint64 {
	t.Helper()
	page := unix.Getpagesize()
	size := (8*n + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skip("no pages to be had: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, forbidden := range [][]byte{m[:page], m[page+size:]} {
		if err := unix.Mprotect(forbidden, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	start := page
	if atEnd {
		start += size - 8*n
	}
	if n == 0 {
		return nil
	}
	x := unsafe.Slice((*uint64)(unsafe.Pointer(&m[start])), n)
	for i := range x {
		x[i] = r.Uint64N(Q)
	}
	return x
}

// A read beyond a slice would end the test program here. Prefetches may go beyond.
func TestNothingIsReadBeyondTheSlices(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for n := range 50 {
			for _, atEnd := range []bool{false, true} {
				x, y := edge(t, r, n, atEnd), edge(t, r, n, atEnd)
				want := slowDot(x, y)
				if got := Dot(x, y); got != want {
					t.Fatalf("n = %d: Dot: %#x, want %#x", n, got, want)
				}
				products := unsafe.Slice((*[Streams]uint64)(unsafe.Pointer(unsafe.SliceData(edge(t, r, Streams, atEnd)))), 1)
				Rows(products, &[Streams][]uint64{x, y, x, x}, y)
				if got := products[0]; got[0] != want || got[3] != want {
					t.Fatalf("n = %d: Rows: %#x, want %#x", n, got, want)
				}
				var o Operand
				for _, requests := range [][][]uint64{{y, x, y}, {y, x, x, x, x, x, x, x, y}} {
					o.Set(requests)
					dst := unsafe.Slice((*[Most]uint64)(unsafe.Pointer(unsafe.SliceData(edge(t, r, 4*Most, atEnd)))), 4)
					o.Times(dst, [][]uint64{y, y, x, x}, [][]uint64{x, x, y, y})
					if got := dst[3]; got[0] != want || got[len(requests)-1] != want {
						t.Fatalf("n = %d: Times: %#x, want %#x", n, got, want)
					}
				}
			}
		}
	})
}
