package mod48

import (
	"fmt"
	"math"
	"math/bits"
)

// A Transform evaluates polynomials modulo Y^K+1 at K points: the roots of Y^K
// = −1 modulo q, in bit-reversed order. It transforms many polynomials at once,
// each in a column of a matrix, so that butterflies combine rows and no value
// changes lanes (Cooley and Tukey, "An algorithm for the machine calculation of
// complex Fourier series", 1965, with Shoup's multiplication by a constant).
type Transform struct {
	m     *Modulus
	roots []root
}

// A root is a factor of words: w below q, ⌊w·2⁶⁴/q⌋, ⌊w·2⁵²/q⌋, and as float64
// bits w between −q/2 and q/2, and w/q.
type root [5]uint64

const (
	// maxPoints bounds K: with more than nine levels the AVX2 sums would not be
	// exact.
	maxPoints = 256
	// The number of columns is a multiple of columns.
	columns = 16
)

// NewTransform returns the transform with these roots. With h blocks,
// roots[h+j] is the factor of block j: ψ to the power of the reversed bits of
// h+j, where ψ is a primitive 2K-th root of unity. Transforms of fewer points
// use a prefix of roots.
func (m *Modulus) NewTransform(roots []uint64) *Transform {
	if n := len(roots); n < 2 || n > maxPoints || bits.OnesCount(uint(n)) != 1 {
		panic(fmt.Sprintf("mod48: a transform of %d points", n))
	}
	t := &Transform{m: m}
	for _, w := range roots {
		if w >= m.c.q {
			panic("mod48: root not below the modulus")
		}
		over, _ := bits.Div64(w, 0, m.c.q)
		signed := float64(int64(w))
		if w > m.c.q/2 {
			signed = float64(int64(w) - int64(m.c.q))
		}
		t.roots = append(t.roots, root{w, over, over >> 12, math.Float64bits(signed), math.Float64bits(signed / m.c.float)})
	}
	return t
}

// Evaluate evaluates the polynomial in each column of p, which has k rows of
// words below q, in place: row i holds the coefficients of Y^i, then the values
// at point i.
func (t *Transform) Evaluate(p []uint64, k int) {
	if k < 2 || k > len(t.roots) || bits.OnesCount(uint(k)) != 1 || len(p) == 0 || len(p)%(columns*k) != 0 {
		panic(fmt.Sprintf("mod48: %d points of %d words", k, len(p)))
	}
	t.evaluate(p, k)
}

func (t *Transform) evaluatePlain(p []uint64, k int) {
	q := t.m.c.q
	for blocks := 1; blocks < k; blocks *= 2 {
		half := len(p) / blocks / 2
		for j, rest := 0, p; j < blocks; j, rest = j+1, rest[2*half:] {
			w, over := t.roots[blocks+j][0], t.roots[blocks+j][1]
			x, y := rest[:half], rest[half:2*half]
			for i, b := range y {
				quotient, _ := bits.Mul64(b, over)
				z := lessModulus(b*w-quotient*q, q) // below 2q before
				a := x[i]
				x[i], y[i] = lessModulus(a+z, q), lessModulus(a+q-z, q)
			}
		}
	}
}

// lessModulus returns x mod q for x below 2q, without a branch.
func lessModulus(x, q uint64) uint64 {
	less, borrow := bits.Sub64(x, q, 0)
	return less + q&-borrow
}
