// Package vectorlayout describes the vectors that a profile gives the schemes
// to encrypt: their length, the unit of their distances and the largest
// distance.
//
//	profile ─▶ Params ─▶ user/scorevector: scales and offsets of records and requests
//	                  ─▶ user/internal/rows: noise budgets
//
// It holds public numbers only. The scales and offsets that an index keeps
// secret are in package user/scorevector.
package vectorlayout

const (
	// ValueBits is log₂ of the fixed-point scale of histogram bins.
	ValueBits = 18
	// MaxDistance is the largest L1 + KL distance that the offset covers.
	MaxDistance = 22
	// MaxLog bounds −log c, because a bin of a smoothed histogram is at least
	// 10⁻³/1.048 = e^−6.96. It bounds the KL part too, since KL = Σ v log v − Σ
	// v log c ≤ MaxLog·Σv.
	MaxLog = 7
)

// Params describes a vector and its plaintext scale. Profiles other than
// `paper` have no histogram (m_KL = 0): z is the rounded vector itself, F the
// square of its scale, and Dis the squared Euclidean distance.
type Params struct {
	JL    int     // m̂, number of coordinates of z
	KL    int     // m_KL, number of bins of the lab histogram, 0 for none
	Unit  float64 // F, squared units of z per unit of distance
	Max   float64 // largest Dis that the offset covers
	Shift uint    // log₂ w of records and requests, set by scorevector.NewLargestScale
}

// L1KL returns Params for the distance L1 + KL: jl Johnson–Lindenstrauss
// coordinates for L1, and kl histogram bins for KL. beta is the highest
// quantisation level over [0, 2].
func L1KL(jl, kl, beta int) Params {
	return Params{JL: jl, KL: kl, Unit: float64(jl) * float64(beta) / 2, Max: MaxDistance}
}

// SquaredL2 returns Params for vectors of length at most 1 in dim dimensions,
// rounded to multiples of 1/scale. Their squared distance is at most 4.
func SquaredL2(dim int, scale float64) Params {
	return Params{JL: dim, Unit: scale * scale, Max: 4}
}
