package mod48

import (
	"fmt"
	"math/bits"
)

// Products sets dst[k] = ⟨row k of a, row k of b⟩ mod q. Both have len(dst)
// rows, a multiple of four, of at most 2,048 words below q, a multiple of
// eight.
func (m *Modulus) Products(dst, a, b []uint64) {
	if len(dst) == 0 {
		return
	}
	n := len(a) / len(dst)
	if len(dst)%4 != 0 || n > limit || n%8 != 0 || len(a) != n*len(dst) || len(b) != len(a) {
		panic(fmt.Sprintf("mod48: %d products of %d and %d words", len(dst), len(a), len(b)))
	}
	m.products(dst, a, b, n)
}

func (m *Modulus) productsPlain(dst, a, b []uint64, n int) {
	for k := range dst {
		y := b[k*n : (k+1)*n]
		var hi, lo, h, l, c uint64
		for i, x := range a[k*n : (k+1)*n] {
			h, l = bits.Mul64(x, y[i])
			lo, c = bits.Add64(lo, l, 0)
			hi, _ = bits.Add64(hi, h, c)
		}
		dst[k] = bits.Rem64(hi, lo, m.c.q)
	}
}
