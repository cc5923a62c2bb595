package scorevector

import (
	"cmp"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/seed"
	"cpar/model/vectorlayout"
	"cpar/user/ive"
)

// The noise budget. A score is r_s·(F·Dis − r), where r_s is a request's
// secret scale, r is the secret offset, and F is the number of squared units
// of z per unit of distance. z is the Johnson–Lindenstrauss (JL) vector with
// m̂ coordinates (package comment). Encryption multiplies the vectors by the
// plaintext scale w = 2^Shift and adds noise e of at most 19 (package ive).
// |score|·w² must stay below 2⁶³.
//
// Bound on Dis = D_L1 + D_KL, an L1 distance and a divergence of histograms. A
// photo has six L1-normalised vectors with 864 fields (dimensions) in total.
// Each vector pair differs by at most 2, so D_L1 ≤ 12. Fields are rounded to
// levels 0…999, and 999/2 = 499.5 levels are one unit. Rounding adds at most
// one level for each of 864 pairs of levels, which is 864/499.5 = 1.73 units.
// KL is jointly convex, so it is largest between two one-bin histograms. With
// smoothing s = 10⁻³ over 48 bins, it is then log(1001)/1.048 = 6.59. The sum
// is below 20.4 if D_L1 is computed from levels rather than estimated through
// JL. The interval [0, 22] with r in its middle thus covers every pair of
// photos and uses 61.8 bits.
//
// Statistical bound on the JL estimate. ‖z_a − z_b‖² is a sum of m̂ squares of
// sums of independent signs. It exceeds (1+δ) times its mean with probability
// at most exp(−(m̂/2)·(δ − log(1+δ))). The estimated Dis of two photos with KL
// = 6.59 therefore leaves [0, 22] with probability at most 10⁻³⁰ at D_L1 = 10,
// 3·10⁻¹⁰ at 12 and 0.012 at the maximum of 13.73. Dis reaches 37, where
// scores wrap, with probability at most 10⁻¹¹². Leaving [0, 22] is harmless,
// but wrapping must not happen.
//
// Certain bound on the JL estimate. D_JL ≤ (‖z_a‖ + ‖z_b‖)²/F for all vectors,
// and the owner knows both norms. Record and Request reject vectors whose
// scores could wrap (CheckNorms). A record's Σz² must not exceed MaxSquare,
// 7.48·F. z is measured from a baseline that all photos share and that has one
// level per field. The baseline does not change distances, but Σz² is about F
// times a photo's L1 distance from it. If the baseline is each field's median,
// that distance is at most 5.5 for the collection Corel-5k, and 6.2 for blank
// images. If it were each field's minimum, blank images would have a distance
// of 11 and be rejected. Callers that must not fail use Clamp.
const (
	// MaxError is the maximum error in Dis from the encryption noise e and a
	// record's random term ε. It assumes that every e is 19 or −19, whichever
	// is worse. Actual errors are a hundred times smaller.
	MaxError = 2e-3

	// maxSum bounds the sum of a histogram after rounding 48 bins to multiples
	// of 2⁻¹⁸.
	maxSum = 1.001
)

// A Budget is a checked set of parameters under which no score can wrap.
type Budget struct {
	seed.Redacted      // r is secret
	params             vectorlayout.Params
	unit               float64 // F
	offset             int64   // r
	maxSquaredDistance float64
}

func New(p vectorlayout.Params) (*Budget, error) {
	if p.JL < 1 || p.KL < 0 || p.JL > 1<<13 || p.KL > 1<<12 || !(p.Unit >= 1 && p.Unit <= 1<<29) || !(p.Max > 0 && p.Max <= 1<<10) {
		return nil, fmt.Errorf("making a noise budget: %d coordinates, %d bins, a unit of %g, distances to %g: %w",
			p.JL, p.KL, p.Unit, p.Max, cpar.ErrInput)
	}
	b := &Budget{params: p, unit: p.Unit}
	if err := b.setOffset(b.maxOffset()); err != nil {
		return nil, err
	}
	return b, nil
}

// WithSecretOffset returns the budget with a secret r drawn from stream. If r
// were known, the server could read distances after guessing the eleven bits
// of r_s. A secret r multiplies the number of guesses by F/2.
func (b *Budget) WithSecretOffset(stream *seed.Stream) (*Budget, error) {
	hidden := *b
	r := b.maxOffset() - int64(stream.Uint64n(uint64(b.unit/2)))
	if err := hidden.setOffset(r); err != nil {
		return nil, err
	}
	return &hidden, nil
}

// maxOffset returns the largest r. WithSecretOffset subtracts up to F/2.
func (b *Budget) maxOffset() int64 { return int64(math.Round(b.params.Max / 2 * b.unit)) }

func (b *Budget) setOffset(r int64) error {
	p := b.params
	b.offset = r
	if err := b.Cipher().Validate(); err != nil {
		return fmt.Errorf("making a noise budget: %w", err)
	}
	if bits := b.Bits(); !(bits < 63) {
		return fmt.Errorf("making a noise budget: Dis up to %g needs %.1f bits of 63 at w = 2^%d: %w",
			p.Max, bits, p.Shift, cpar.ErrInput)
	}
	limit := math.Ldexp(1, 63-2*int(p.Shift)) / ive.MaxScale // upper bound of |F·Dis − r| plus its error
	divergence := 0.0
	if p.KL > 0 {
		divergence = vectorlayout.MaxLog * maxSum
	}
	b.maxSquaredDistance = limit + float64(b.offset) - (divergence+MaxError)*b.unit
	// Distances hardly exceed Max. A larger bound would admit longer vectors,
	// which have larger noise.
	b.maxSquaredDistance = math.Floor(min(b.maxSquaredDistance, 2.5*p.Max*b.unit))
	// The minimum of Dis is negative. Record and Request check bins one by one,
	// so the sums of v and c may differ. For a uniform v and a c with all bins
	// 1, Σ v log v − Σ v log c is −log m_KL. The JL part may be 0.
	lowest := float64(b.offset) + (math.Log(float64(max(p.KL, 1)))+MaxError)*b.unit
	if b.maxSquaredDistance < p.Max*b.unit || lowest > limit {
		return fmt.Errorf("making a noise budget: w = 2^%d leaves room for Dis up to %.1f: %w",
			p.Shift, b.maxSquaredDistance/b.unit, cpar.ErrInput)
	}
	for _, scale := range []int64{1 << ive.ScaleBits, ive.MaxScale} {
		if e := b.MaxDistanceError(scale); e > MaxError {
			return fmt.Errorf("making a noise budget: at w = 2^%d noise moves a distance by up to %.2g: %w",
				p.Shift, e, cpar.ErrInput)
		}
	}
	return nil
}

// NewLargestScale calls New with the largest plaintext scale, up to
// 2^ive.DistanceShift, at which distances fit. F and the scores grow with m̂,
// so the scale must fall. The paper's m̂ = 1296 allows 2¹⁴. With PCA-8, which
// keeps more wavelet components than the paper's choice, m̂ is 2448 and the
// scale 2¹³.
func NewLargestScale(p vectorlayout.Params) (*Budget, error) {
	var first error
	for p.Shift = ive.DistanceShift; p.Shift > 0; p.Shift-- {
		b, err := New(p)
		if err == nil {
			return b, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// Unit returns F, the number of squared JL units per unit of distance.
func (b *Budget) Unit() float64 { return b.unit }

// Offset returns r, which is Max/2·F, or up to F/2 less after WithSecretOffset.
func (b *Budget) Offset() int64 { return b.offset }

// Bits returns the number of bits, without the sign, of the largest scaled
// score of a Dis in [0, Max]. 63 are available.
func (b *Budget) Bits() float64 {
	half := max(float64(b.offset), b.params.Max*b.unit-float64(b.offset))
	return b.Cipher().Bits(half*ive.MaxScale, MaxError*b.unit*ive.MaxScale)
}

// MaxDistanceError bounds the error of a distance from noise and ε if the
// request's r_s is `scale`.
func (b *Budget) MaxDistanceError(scale int64) float64 {
	// CheckNorms bounds the sum of both norms, so one norm may reach the whole
	// bound if the other is 0. The L1 norm of m̂ coordinates is at most √m̂
	// times their Euclidean norm.
	norm1 := math.Sqrt(float64(b.params.JL) * b.maxSquaredDistance)
	s, bins := float64(scale), float64(b.params.KL)
	record := norm1 + math.Ldexp(maxSum, vectorlayout.ValueBits) + ive.EpsilonBound + 1 +
		max(b.maxSquaredDistance, float64(b.offset)+b.unit*math.Log(max(bins, 1)))
	request := 2*s*norm1 + bins*(s*math.Ldexp(b.unit, -vectorlayout.ValueBits)*vectorlayout.MaxLog+1) + s + 3
	return (b.Cipher().WorstNoise(record, request) + 3*ive.EpsilonBound) / (s * b.unit)
}

// CheckNorms returns an error if the score of a record and a request could
// wrap. The parameters are the Σz² of both.
func (b *Budget) CheckNorms(record, request int64) error {
	sum := math.Sqrt(float64(record)) + math.Sqrt(float64(request))
	// 10⁻⁹ allows for rounding in the square roots.
	if !(sum*sum <= b.maxSquaredDistance*(1+1e-9)) {
		return fmt.Errorf("vectors of squared norm %d and %d lie too far from the baseline, scores could wrap: %w",
			record, request, cpar.ErrInput)
	}
	return nil
}

// MaxSquare returns the maximum Σz² of a record, and of a request if the
// records are unknown.
func (b *Budget) MaxSquare() int64 { return int64(b.maxSquaredDistance / 4) }

// Clamp shortens z to Σz² ≤ MaxSquare if necessary and reports whether it did.
// Neighbours of a shortened photo, which lies far from the baseline, hardly
// change their order, because all records are far from it.
func (b *Budget) Clamp(z []int16) bool {
	square := SquaredNorm(z)
	if square <= b.MaxSquare() {
		return false
	}
	by := math.Sqrt(float64(b.MaxSquare()) / float64(square))
	for i, x := range z {
		z[i] = int16(float64(x) * by) // round towards 0, so that the norm cannot exceed the bound
	}
	return true
}

func SquaredNorm(z []int16) (s int64) {
	for _, x := range z {
		s += int64(x) * int64(x)
	}
	return s
}
