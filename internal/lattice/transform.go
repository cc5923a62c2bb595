package lattice

import (
	"math/bits"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// A transform of n points maps coefficients to evaluations at the odd powers of
// a primitive 2n-th root of unity, in bit-reversed order. For Z[X]/(X^N+1) the
// root is ψ = g^((Q−1)/2N), where g is the smallest primitive root modulo Q.
// For Z[Y]/(Y^K+1), Y = X^D, the root is ψ^D. In that order, evaluations kD to
// kD+D−1 of the first transform are at the D points ζ with ζ^D = y_k, the k-th
// point of the second transform. The second table of roots is a prefix of the
// first. Hence
//
//	Σ_{ζ^D = y_k} f(ζ) = D·f_0(y_k)   where f_0 has the coefficients 0, D, 2D, … of f
//
// and only K points are transformed back instead of N (decimation in
// frequency).

const minPoints = 16

// Evaluate transforms coefficients to evaluations in place. len(p) is N or K.
func (r *Ring) Evaluate(p []uint64) {
	t := r.tables()
	ring.NTTStandard(p, p, r.points(p), r.Q, t.MRedConstant, t.BRedConstant, t.RootsForward[:len(p)])
}

// Interpolate inverts Evaluate in place.
func (r *Ring) Interpolate(p []uint64) {
	t := r.tables()
	ring.INTTStandard(p, p, r.points(p), t.inverse[bits.Len(uint(len(p)))-1], r.Q, t.MRedConstant, t.RootsBackward[:len(p)])
}

// InterpolateFolded transforms y in place into the coefficients 0, D, 2D, … of
// f. K = len(y), and y[k] is D·f_0(y_k): the sum of evaluations kD to kD+D−1 of
// f.
func (r *Ring) InterpolateFolded(y []uint64) {
	t := r.tables()
	ring.INTTStandard(y, y, r.points(y), t.inverse[r.LogN], r.Q, t.MRedConstant, t.RootsBackward[:len(y)])
}

// EvaluateFolded inverts InterpolateFolded: it maps the coefficients of f_0 to
// D·f_0(y_k).
func (r *Ring) EvaluateFolded(y []uint64) {
	t := r.tables()
	r.Evaluate(y)
	r.Scale(y, ring.MForm(uint64(r.N/len(y)), r.Q, t.BRedConstant))
}

// Dot returns Σ a[i]·b[i] mod Q for i < len(a). All elements must be below Q.
// The owner uses it, and tests compare the cloud's kernels with it.
func (r *Ring) Dot(a, b []uint64) uint64 {
	t := r.tables()
	b = b[:len(a)]
	var sum uint64
	for len(a) > lazy {
		sum = r.Add(sum, t.reduce(dot(a[:lazy], b[:lazy])))
		a, b = a[lazy:], b[lazy:]
	}
	return r.Add(sum, t.reduce(dot(a, b)))
}

// reduce returns hi·2⁶⁴ + lo modulo Q, by Montgomery reduction and a factor
// that cancels 2⁻⁶⁴.
func (t *plan) reduce(hi, lo uint64) uint64 {
	q := t.Modulus
	h, _ := bits.Mul64(lo*t.MRedConstant, q)
	x := ring.CRed(ring.BRedAdd(hi, q, t.BRedConstant)+q-h, q)
	return ring.MRed(x, t.square, q, t.MRedConstant)
}

// dot returns Σ a[i]·b[i] for at most lazy elements.
func dot(a, b []uint64) (hi, lo uint64) {
	b = b[:len(a)]
	var h, l, c uint64
	for len(a) >= 4 {
		x, y := (*[4]uint64)(a), (*[4]uint64)(b)
		h, l = bits.Mul64(x[0], y[0])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[1], y[1])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[2], y[2])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[3], y[3])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		h, l = bits.Mul64(x, b[i])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
	}
	return hi, lo
}

// DotRows writes the Dot of each pair of rows of a and b into sum with the
// mod48 kernels.
func (r *Ring) DotRows(sum, a, b []uint64) { r.tables().kernels.Products(sum, a, b) }
