package attack

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
	// Bits is core-SVP: log₂ of the classical cost of one sieve in dimension β,
	// 2^(0.292·β). An attack takes thousands of sieves and more memory than this counts,
	// so its real cost is always above this.
	Bits float64 `json:"bits"`
}

// LWE is b = ⟨a, s⟩ + e mod q: Dim words of s, uniform or as small as e (which makes no
// difference, since Dim samples turn one into the other), and e with standard deviation
// Sigma; q has LogQ bits.
type LWE struct {
	Dim         int
	LogQ, Sigma float64
	// Most is the greatest number of samples; 0 for no limit.
	Most int
}

// Primal returns the cost of the primal attack by unique-SVP embedding, with the success
// condition of Alkim, Ducas, Pöppelmann and Schwabe ("Post-quantum key exchange: a new
// hope", USENIX Security 2016, section 6.3), confirmed by experiments (Albrecht, Göpfert,
// Virdia, Wunderer, ASIACRYPT 2017). With m samples
// beyond the Dim that make s small, the lattice has dimension d = Dim + m + 1 and
// volume q^m, and BKZ-β finds the error as soon as
//
//	σ·√β ≤ δ(β)^(2β−d−1) · q^(m/d)
//
// The estimate is the least β over all m.
func (p LWE) Primal() Estimate {
	most := p.Most - p.Dim
	if p.Most == 0 {
		most = 4 * p.Dim
	}
	best := Estimate{Bits: math.Inf(1)}
	for m := max(1, p.Dim/8); m <= most; m += max(1, p.Dim/256) {
		d := p.Dim + m + 1
		fits := func(block int) bool {
			left := math.Log2(p.Sigma) + math.Log2(float64(block))/2
			return left <= float64(2*block-d-1)*math.Log2(hermite(block))+float64(m)/float64(d)*p.LogQ
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
			best = Estimate{Samples: p.Dim + m, Dimension: d, BlockSize: low, Delta: hermite(low), Bits: 0.292 * float64(low)}
		}
	}
	return best
}

// Dense returns the cost of finding, without known plaintext, the sublattice spanned by
// rank short secret combinations of the ciphertexts: vectors of k elements with standard
// deviation σ in the lattice of all combinations of dim rows modulo q, for any number k
// of ciphertexts. It is found once its volume is below the product of the last rank
// Gram–Schmidt norms of a basis reduced by BKZ-β, that is
//
//	log σ√k ≤ (1 − dim/k)·log q − (k − rank)·log δ(β)
//
// (Kirchner and Fouque, EUROCRYPT 2017, after Pataki and Tural). Ducas and van Woerden
// (ASIACRYPT 2021) show that it happens even earlier, so the cost is lower.
func Dense(dim, rank int, logQ, sigma float64) Estimate {
	best := Estimate{Bits: math.Inf(1)}
	for k := dim + dim/8; k <= 6*dim; k += max(1, dim/64) {
		d := float64(k)
		slack := (1-float64(dim)/d)*logQ - math.Log2(sigma) - math.Log2(d)/2
		need := math.Exp2(slack / (d - float64(rank)))
		for block := 2; block <= 4096 && (best.BlockSize == 0 || block < best.BlockSize); block++ {
			if hermite(block) <= need {
				best = Estimate{Samples: k, Dimension: k, BlockSize: block, Delta: hermite(block), Bits: 0.292 * float64(block)}
			}
		}
	}
	return best
}

// smallBlocks are experimental root Hermite factors of small blocks, from the lattice
// estimator (Albrecht, Player, Scott, J. Math. Cryptol. 9, 2015): the formula does not
// hold below 40.
var smallBlocks = []struct {
	block int
	delta float64
}{{2, 1.02190}, {5, 1.01862}, {10, 1.01616}, {15, 1.01485}, {20, 1.01420}, {25, 1.01342}, {28, 1.01331}, {40, 1.01295}}

// hermite is δ(β): BKZ-β finds a vector of length δ^d·vol^(1/d) in dimension d
// (Chen's limit for β ≥ 50, measured values below).
func hermite(block int) float64 {
	last := smallBlocks[0].delta
	for _, s := range smallBlocks {
		if block < s.block {
			return last
		}
		last = s.delta
	}
	if block == smallBlocks[len(smallBlocks)-1].block {
		return last
	}
	b := float64(block)
	return math.Pow(math.Pow(math.Pi*b, 1/b)*b/(2*math.Pi*math.E), 1/(2*(b-1)))
}
