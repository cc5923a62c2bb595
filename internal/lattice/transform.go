package lattice

import (
	"math/bits"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// The transform of n points takes coefficients to evaluations at the odd powers of a
// primitive 2n-th root of unity, in bit-reversed order. For Z[X]/(X^N+1) the root is ψ =
// g^((Q−1)/2N), where g is the least primitive root modulo Q, for Z[Y]/(Y^K+1), Y = X^D, it
// is ψ^D. In that order, evaluations kD to kD+D−1 of the first are at the D points ζ with
// ζ^D = y_k, the k-th point of the second, and the second's table of roots is the beginning
// of the first's. Hence
//
//	Σ_{ζ^D = y_k} f(ζ) = D·f_0(y_k)   where f_0 has the coefficients 0, D, 2D, … of f
//
// and only K points are transformed back, not N (decimation in frequency).

// minPoints is the shortest transform that lattigo has.
const minPoints = 16

// Evaluate turns coefficients into evaluations, in place. len(p) is N or K.
func (r *Ring) Evaluate(p []uint64) {
	t := r.tables()
	ring.NTTStandard(p, p, r.points(p), r.Q, t.MRedConstant, t.BRedConstant, t.RootsForward[:len(p)])
}

// Interpolate turns evaluations into coefficients, in place: the inverse of
// Evaluate.
func (r *Ring) Interpolate(p []uint64) {
	t := r.tables()
	ring.INTTStandard(p, p, r.points(p), t.inverse[bits.Len(uint(len(p)))-1], r.Q, t.MRedConstant, t.RootsBackward[:len(p)])
}

// InterpolateFolded turns y into the coefficients 0, D, 2D, … of f, in place. y[k] is D·f_0(y_k): the
// sum of the products of the evaluations kD to kD+D−1 of the factors of f, or if f is a sum
// of products, the sum of these. K = len(y).
func (r *Ring) InterpolateFolded(y []uint64) {
	t := r.tables()
	ring.INTTStandard(y, y, r.points(y), t.inverse[r.LogN], r.Q, t.MRedConstant, t.RootsBackward[:len(y)])
}

// EvaluateFolded is the inverse of InterpolateFolded: D·f_0(y_k) of the coefficients of f_0.
func (r *Ring) EvaluateFolded(y []uint64) {
	t := r.tables()
	r.Evaluate(y)
	r.Scale(y, ring.MForm(uint64(r.N/len(y)), r.Q, t.BRedConstant))
}
