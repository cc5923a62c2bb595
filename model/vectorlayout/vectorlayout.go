// Package vectorlayout describes the vectors that a profile gives the schemes
// to encrypt: their length, the unit of their distances and the largest
// distance.
//
//	profile ─▶ Params ─▶ user/scorevector: scales and offsets of records and requests
//	                  ─▶ user/internal/rows: noise budgets
//
// All its numbers are public. The secret scales and offsets of an index are in
// package user/scorevector.
package vectorlayout

const (
	// ValueBits is log₂ of the fixed-point scale of histogram bins.
	ValueBits = 18
	// MaxDistance is the largest L1 + KL distance that the offset of scores
	// (package user/scorevector) covers.
	MaxDistance = 22
	// MaxLog bounds −log c for a bin c of a smoothed histogram. A bin is at
	// least 10⁻³/1.048 = e^−6.96. MaxLog bounds the KL part too, because KL = Σ
	// v log v − Σ v log c ≤ MaxLog·Σv.
	MaxLog = 7
)

// Params describes an encrypted vector z and its plaintext scale. Distance Dis
// is L1 + KL for profile "paper". The others have no histogram (m_KL = 0).
// Their z is the scaled and rounded vector, F is the square of the scale, and
// Dis is the squared Euclidean distance.
type Params struct {
	JL    int     // m̂, number of coordinates of z
	KL    int     // m_KL, number of bins of the lab histogram, 0 for none
	Unit  float64 // F, squared units of z per unit of distance
	Max   float64 // largest Dis that the offset covers
	Shift uint    // log₂ w, where w scales records and requests, set by scorevector.NewLargestScale
}

// L1KL returns Params for the distance L1 + KL, with jl Johnson–Lindenstrauss
// coordinates for L1 and kl histogram bins for KL. `beta` is the highest level
// of package vector.
func L1KL(jl, kl, beta int) Params {
	return Params{JL: jl, KL: kl, Unit: float64(jl) * float64(beta) / 2, Max: MaxDistance}
}

// SquaredL2 returns Params for vectors of length at most 1 in `dim` dimensions,
// rounded to multiples of 1/scale. Their squared distance is at most 4.
func SquaredL2(dim int, scale float64) Params {
	return Params{JL: dim, Unit: scale * scale, Max: 4}
}
