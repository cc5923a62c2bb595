package estimate

import "math"

// An Estimate is the cost of a lattice attack that is not carried out.
type Estimate struct {
	// Samples is the number of ciphertexts that the cheapest attack uses, Dimension that
	// of the lattice.
	Samples   int `json:"samples"`
	Dimension int `json:"dimension"`
	// BlockSize is BKZ's β, Delta the root Hermite factor that it achieves.
	BlockSize int     `json:"block_size"`
	Delta     float64 `json:"delta"`
	// Bits is log₂ of the cost by a Model. Primal and Dense leave it at classical
	// core-SVP, one sieve in dimension β.
	Bits float64 `json:"bits"`
}

// LWE is b = ⟨a, s⟩ + e mod q: Dim words of s, e with standard deviation Sigma; q has LogQ bits.
type LWE struct {
	Dim         int
	LogQ, Sigma float64
	// Secret is the standard deviation of s, at most Sigma. 0 is uniform, or as small as e
	// (which makes no difference, since Dim samples turn one into the other).
	Secret float64
	// Most is the greatest number of samples; 0 for no limit.
	MaxSamples int
}

// Ternary is the standard deviation of a secret uniform in {−1, 0, 1}.
var Ternary = math.Sqrt(2. / 3)

// samples returns how many make s small, and the greatest number of others.
func (p LWE) samples() (spent, most int) {
	if p.Secret == 0 {
		spent = p.Dim
	}
	if p.MaxSamples == 0 {
		return spent, 4 * p.Dim
	}
	return spent, p.MaxSamples - spent
}

// logScale is log₂ of what the coordinates of s are multiplied with to be as large as
// those of e (Bai and Galbraith, ACISP 2014).
func (p LWE) logScale() float64 {
	if p.Secret == 0 {
		return 0
	}
	return math.Log2(p.Sigma / p.Secret)
}

// Primal returns the cost of the primal attack by unique-SVP embedding, with the success
// condition of Alkim, Ducas, Pöppelmann and Schwabe ("Post-quantum key exchange: a new
// hope", USENIX Security 2016, section 6.3), confirmed by experiments (Albrecht, Göpfert,
// Virdia, Wunderer, ASIACRYPT 2017). With m samples and s scaled by ξ to the size of e the
// lattice has dimension d = Dim + m + 1 and volume q^m·ξ^Dim, and BKZ-β finds the error as
// soon as
//
//	σ·√β ≤ δ(β)^(2β−d−1) · (q^m·ξ^Dim)^(1/d)
//
// The estimate is the least β over all m.
func (p LWE) Primal() Estimate {
	spent, most := p.samples()
	best := Estimate{Bits: math.Inf(1)}
	for m := max(1, p.Dim/8); m <= most; m += max(1, p.Dim/256) {
		d := p.Dim + m + 1
		volume := (float64(m)*p.LogQ + float64(p.Dim)*p.logScale()) / float64(d)
		fits := func(block int) bool {
			left := math.Log2(p.Sigma) + math.Log2(float64(block))/2
			return left <= float64(2*block-d-1)*math.Log2(hermite(block))+volume
		}
		// δ falls with β, so fits becomes true at one point.
		low, high := 2, min(d, 4096)
		if !fits(high) {
			continue
		}
		for low < high {
			if mid := (low + high) / 2; fits(mid) {
				high = mid
			} else {
				low = mid + 1
			}
		}
		if best.BlockSize == 0 || low < best.BlockSize {
			best = Estimate{Samples: spent + m, Dimension: d, BlockSize: low, Delta: hermite(low), Bits: CoreClassical.Cost(low, d)}
		}
	}
	return best
}
