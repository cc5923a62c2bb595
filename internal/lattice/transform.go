package lattice

import (
	"math/bits"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// A transform of n points maps coefficients to evaluations at the odd powers of
// a primitive 2n-th root of unity, in bit-reversed order. For Z[X]/(X^N+1) the
// root is ψ = g^((Q−1)/2N), where g is the smallest primitive root modulo Q.
// For Z[Y]/(Y^K+1), Y = X^D, the root is ψ^D. In this order, evaluations kD to
// kD+D−1 of the first transform are at the D points ζ with ζ^D = y_k, the k-th
// point of the second. The second table of roots is a prefix of the first.
// Hence
//
//	Σ_{ζ^D = y_k} f(ζ) = D·f_0(y_k)   where f_0 has the coefficients 0, D, 2D, … of f
//
// so the inverse transform has only K points instead of N (decimation in
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
// f, where y[k] is D·f_0(y_k), the sum of evaluations kD to kD+D−1 of f, for K
// = len(y).
func (r *Ring) InterpolateFolded(y []uint64) {
	t := r.tables()
	ring.INTTStandard(y, y, r.points(y), t.inverse[r.LogN], r.Q, t.MRedConstant, t.RootsBackward[:len(y)])
}

// EvaluateFolded inverts InterpolateFolded: it maps f_0 to the D·f_0(y_k).
func (r *Ring) EvaluateFolded(y []uint64) {
	t := r.tables()
	r.Evaluate(y)
	r.Scale(y, ring.MForm(uint64(r.N/len(y)), r.Q, t.BRedConstant))
}

// DotRows sets sum[k] to the inner product modulo Q of row k of a and row k of
// b. A row has at most 2,048 elements, all below Q.
func (r *Ring) DotRows(sum, a, b []uint64) { r.tables().kernels.Products(sum, a, b) }
