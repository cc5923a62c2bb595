//go:build unix

package mod48

import (
	"math/rand/v2"
	"testing"

	"cpar/internal/guardpage"
)

// A read beyond a slice would end the test program here: words are packed, and kernels read more
// than they use. Prefetches may go beyond.
func TestNothingIsReadBeyondTheSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	m := New(moduli[1])
	for n := 0; n <= 160; n += block {
		for _, atEnd := range []bool{false, true} {
			x, y := words(r, m.c.q, n, 0, moulds[0]), words(r, m.c.q, n, 0, moulds[0])
			b := guardpage.Bytes(t, WordBytes*n, atEnd)
			copy(b, pack(y, 0))
			want := slowDot(m.c.q, y, x)
			atEachLevel(func(l level) {
				var products [1][Streams]uint64
				m.Prepare(x, 1).Rows(products[:], &[Streams][]byte{b, b, b, b})
				if got := products[0]; got[0] != want || got[3] != want {
					t.Fatalf("%v, %d words: Rows: %#x, want %#x", l, n, got, want)
				}
				var tile Tile
				for _, requests := range [][][]uint64{{x, y, x}, {x, y, y, y, y, y, y, y, x}} {
					tile.Set(m, requests)
					var dst [3][Most]uint64
					tile.Times(dst[:], [][]byte{b, b, b}, nil)
					if got := dst[2]; got[0] != want || got[len(requests)-1] != want {
						t.Fatalf("%v, %d words: Times: %#x, want %#x", l, n, got, want)
					}
				}
			})
		}
	}
}
