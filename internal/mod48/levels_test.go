package mod48

import (
	"math/big"
	"math/rand/v2"
)

// moduli holds the moduli of both rings, and a number with the largest excess.
var moduli = []uint64{1<<47 - 80<<10 + 1, 1<<48 - 16<<10 + 1, 1<<47 - 1<<17 + 1}

type mould struct {
	name string
	fill func(r *rand.Rand, q uint64) uint64
}

var moulds = []mould{
	{"random", func(r *rand.Rand, q uint64) uint64 { return r.Uint64N(q) }},
	{"zero", func(*rand.Rand, uint64) uint64 { return 0 }},
	{"largest", func(_ *rand.Rand, q uint64) uint64 { return q - 1 }},
	{"edges", func(r *rand.Rand, q uint64) uint64 {
		edge := []uint64{0, 1, 2, q - 1, q - 2, 1<<24 - 1, 1 << 24, 1<<46 - 1, 1 << 46, q &^ (1<<24 - 1), 0xff0000ff0000 % q, 1<<32 - 1, 1 << 40}
		return edge[r.IntN(len(edge))]
	}},
}

// placed returns n values at an offset within a longer slice.
func placed[T byte | uint64](n, off int) []T { return make([]T, 9+off+n+9)[9+off:][:n:n] }

func words(r *rand.Rand, q uint64, n, off int, of mould) []uint64 {
	x := placed[uint64](n, off)
	for i := range x {
		x[i] = of.fill(r, q)
	}
	return x
}

func pack(x []uint64, off int) []byte {
	b := placed[byte](WordBytes*len(x), off)
	for i, w := range x {
		for j := range WordBytes {
			b[WordBytes*i+j] = byte(w >> (8 * j))
		}
	}
	return b
}

// packEach packs requests at different offsets.
func packEach(x [][]uint64) (out [][]byte) {
	for j, words := range x {
		out = append(out, pack(words, j%8))
	}
	return out
}

func slowDot(q uint64, a, b []uint64) uint64 {
	var sum, x, y big.Int
	for i := range a {
		sum.Add(&sum, x.Mul(x.SetUint64(a[i]), y.SetUint64(b[i])))
	}
	return x.Mod(&sum, y.SetUint64(q)).Uint64()
}
