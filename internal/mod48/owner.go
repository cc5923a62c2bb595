package mod48

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// FieldBits is the width of a field, a packed number that Fields reads.
const FieldBits = 26

const (
	fieldBlock      = 16 // fields that the kernels read at once
	fieldBlockBytes = fieldBlock * FieldBits / 8
)

// prepareFields computes the positions of fields in the bytes read. Eight
// fields are 26 bytes, and reads are longer. The reads for the second eight and
// the last four fields therefore start early.
func (c *constants) prepareFields() {
	c.fieldMask = 1<<FieldBits - 1
	for i := range 8 {
		first, bit := byte(i*FieldBits/8), i*FieldBits%8
		c.fieldShifts[i] = uint64(bit)
		for j := range byte(8) {
			c.fields[0][8*i+int(j)], c.fields[1][8*i+int(j)] = first+j, first+j+6
		}
	}
	const zero = 0x80
	for i, from := range [2]byte{0, 3} {
		for f := range byte(4) {
			to, first := c.quads[i][f/2][8*(f%2):][:8], from+f*FieldBits/8
			copy(to, []byte{first, first + 1, first + 2, first + 3, zero, zero, zero, zero})
		}
	}
}

// Fields unpacks len(dst) numbers of 26 bits, stored least significant bit
// first and without gaps, and shifts each left by `up` bits. len(dst) must be a
// multiple of sixteen.
func (m *Modulus) Fields(dst []uint64, b []byte, up int) {
	if len(dst)%fieldBlock != 0 || len(b) != len(dst)/fieldBlock*fieldBlockBytes || up < 0 || up > 64-FieldBits {
		panic(fmt.Sprintf("mod48: %d fields of %d bytes, shifted by %d", len(dst), len(b), up))
	}
	m.fields(dst, b, up)
}

func fieldsPlain(dst []uint64, b []byte, up int) {
	var last [16]byte
	for ; len(dst) >= 4; dst, b = dst[4:], b[13:] {
		from := b
		if len(b) < 16 {
			copy(last[:], b)
			from = last[:]
		}
		x, y := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[6:])
		const mask = 1<<FieldBits - 1
		dst[0], dst[1], dst[2], dst[3] = x&mask<<up, x>>26&mask<<up, y>>4&mask<<up, y>>30&mask<<up
	}
}

// Cut sets each word of dst to the upper bits of a 64-bit little-endian word of
// b, as many bits as q has. It reports whether all are below q. len(dst) must
// be a multiple of sixteen. b may share the memory of dst.
func (m *Modulus) Cut(dst []uint64, b []byte) bool {
	if len(dst)%16 != 0 || len(b) != 8*len(dst) {
		panic(fmt.Sprintf("mod48: %d words of %d bytes", len(dst), len(b)))
	}
	return m.cut(dst, b)
}

func (m *Modulus) cutPlain(dst []uint64, b []byte) bool {
	over := uint64(0)
	for i := range dst {
		x := binary.LittleEndian.Uint64(b[8*i:]) >> m.c.drop
		dst[i] = x
		over |= m.c.last - x
	}
	return over>>63 == 0
}

// A Transform evaluates polynomials modulo Y^K+1 at K points: the roots of Y^K
// = −1 modulo q, in bit-reversed order. It transforms many polynomials at once.
// Each is a column of a matrix, so that butterflies combine whole rows and no
// value changes lanes (Cooley and Tukey, "An algorithm for the machine
// calculation of complex Fourier series", 1965, with Shoup's multiplication by
// a constant).
type Transform struct {
	m     *Modulus
	roots []root
}

// A root is a constant factor w in five forms: w below q, ⌊w·2⁶⁴/q⌋, ⌊w·2⁵²/q⌋,
// and, as float64 bits, w between −q/2 and q/2, and w/q.
type root [5]uint64

const (
	// maxPoints bounds K, because with more than nine levels the AVX2 sums
	// would not be exact.
	maxPoints = 256
	// The number of columns must be a multiple of this constant.
	columns = 16
)

// NewTransform returns the transform with these roots. In the level with h
// blocks, block j has the factor roots[h+j], which is ψ to the power of the
// reversed bits of h+j, where ψ is a primitive 2K-th root of unity. Transforms
// of fewer points use a prefix of roots.
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

// Evaluate evaluates the polynomial in each column of p in place. p has k rows
// of words below q. Before the call, row i holds the coefficients of Y^i.
// Afterwards it holds the values at point i.
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

// Products sets dst[k] = ⟨row k of a, row k of b⟩ mod q. a and b have len(dst)
// rows, a multiple of four. A row has at most 2,048 words, a multiple of eight,
// all below q.
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
