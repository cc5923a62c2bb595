// Package vectorlayout describes the vectors that a profile gives the schemes to
// encrypt: their length, the unit of their distances and the largest distance.
//
//	profile ─▶ Params ─▶ user/scorevector, user/internal/rows (scales, noise budgets)
//
// It holds public numbers only. The scales and offsets that an index keeps secret
// are in package user/scorevector.
package vectorlayout

const (
	// ValueBits is log₂ of the scale of a histogram's bins.
	ValueBits = 18
	// MaxDistance is the greatest Dis of L1 and KL for which the offset is made.
	MaxDistance = 22
	// MaxLog bounds −log c: a bin of a smoothed histogram is at least
	// 10⁻³/1.048 = e^−6.96. It bounds the KL part too, since
	// KL = Σ v log v − Σ v log c ≤ MaxLog·Σv.
	MaxLog = 7
)

// Params describes the vector and its plaintext scale. Profiles other than `paper` have
// no histogram (m_KL = 0): z is then their rounded vector itself, F the square of its
// scale, and Dis its squared Euclidean distance.
type Params struct {
	JL    int     // m̂, coordinates of z
	KL    int     // m_KL, bins of the lab histogram; 0 for none
	Unit  float64 // F, squared z units per unit of distance
	Max   float64 // the greatest Dis for which the offset is made
	Shift uint    // log₂ w, of records and requests; NewLargestScale sets it
}

// L1KL returns Params for a profile whose distance is L1 through jl Johnson–Lindenstrauss
// coordinates plus KL of kl bins. beta is the highest quantisation level over [0, 2].
func L1KL(jl, kl, beta int) Params {
	return Params{JL: jl, KL: kl, Unit: float64(jl) * float64(beta) / 2, Max: MaxDistance}
}

// SquaredL2 returns Params for vectors of length at most 1 in dim dimensions, rounded to
// multiples of 1/scale. Their squared distance is at most 4.
func SquaredL2(dim int, scale float64) Params {
	return Params{JL: dim, Unit: scale * scale, Max: 4}
}
