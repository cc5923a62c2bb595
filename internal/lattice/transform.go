package lattice

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// The transform of n points takes coefficients to evaluations at the odd powers of a
// primitive 2n-th root of unity, in bit-reversed order. For Z[X]/(X^N+1) the root is ψ =
// 10^((Q−1)/2N) = 0x5f778de1e15e728, for Z[Y]/(Y^K+1), Y = X^D, it is ψ^D. In that order,
// evaluations kD to kD+D−1 of the first are at the D points ζ with ζ^D = y_k, the k-th
// point of the second, and the second's table of roots is the beginning of the first's.
// Hence
//
//	Σ_{ζ^D = y_k} f(ζ) = D·f_0(y_k)   where f_0 has the coefficients 0, D, 2D, … of f
//
// and only K points are transformed back, not N (decimation in frequency).

// plan holds the tables of lattigo's ring.
type plan struct {
	*ring.SubRing
	// inverse[i] is 1/2^i as a Montgomery factor.
	inverse [logN + 1]uint64
}

var tables = sync.OnceValue(func() *plan {
	r, err := ring.NewRing(N, []uint64{Q})
	if err != nil {
		panic("lattice: making the ring: " + err.Error())
	}
	t := &plan{SubRing: r.SubRings[0]}
	half := uint64(Q/2 + 1)
	c := ring.MForm(1, Q, t.BRedConstant)
	for i := range t.inverse {
		t.inverse[i] = c
		c = ring.BRed(c, half, Q, t.BRedConstant)
	}
	return t
})

// Evaluate turns coefficients into evaluations, in place. len(p) is N or K.
func Evaluate(p []uint64) {
	t := tables()
	ring.NTTStandard(p, p, points(p), Q, t.MRedConstant, t.BRedConstant, t.RootsForward[:len(p)])
}

// Interpolate turns evaluations into coefficients, in place: the inverse of
// Evaluate.
func Interpolate(p []uint64) {
	t := tables()
	ring.INTTStandard(p, p, points(p), t.inverse[bits.Len(uint(len(p)))-1], Q, t.MRedConstant, t.RootsBackward[:len(p)])
}

// InterpolateFolded turns y into the coefficients 0, D, 2D, … of f, in place. y[k] is the
// inner product of the evaluations kD to kD+D−1 of the factors of f, or if f is a sum of
// products, the sum of these. K = len(y).
func InterpolateFolded(y []uint64) {
	t := tables()
	ring.INTTStandard(y, y, points(y), t.inverse[logN], Q, t.MRedConstant, t.RootsBackward[:len(y)])
}

// points checks a length: lattigo's transforms write out of bounds for others.
func points(p []uint64) int {
	n := len(p)
	if n < N/maxBlock || n > N || bits.OnesCount(uint(n)) != 1 {
		panic(fmt.Sprintf("lattice: a transform of %d points", n))
	}
	return n
}

// Factors multiplies p by 2⁶⁴, in place: the form of a factor for MulAdd and Scale (Montgomery).
func Factors(p []uint64) {
	c := tables().BRedConstant
	for i := range p {
		p[i] = ring.MForm(p[i], Q, c)
	}
}

// MulAdd adds x·y to sum, element by element modulo Q. y must have been through Factors;
// x and sum are below Q.
func MulAdd(sum, x, y []uint64) {
	c := tables().MRedConstant
	x, y = x[:len(sum)], y[:len(sum)]
	for i, s := range sum {
		sum[i] = Add(s, ring.MRed(x[i], y[i], Q, c))
	}
}

// Scale multiplies p by a number that has been through Factors, in place. Scale by 1
// undoes Factors.
func Scale(p []uint64, factor uint64) {
	c := tables().MRedConstant
	for i := range p {
		p[i] = ring.MRed(p[i], factor, Q, c)
	}
}

// Add returns x + y mod Q for x, y below Q.
func Add(x, y uint64) uint64 { return ring.CRed(x+y, Q) }

// Sub returns x − y mod Q for x, y below Q.
func Sub(x, y uint64) uint64 { return ring.CRed(x+Q-y, Q) }
