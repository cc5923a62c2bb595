package estimate

import (
	"math"
	"sort"

	"cpar/internal/lattice"
)

// A Ring is Z[X]/(X^N+1) modulo a prime just below 2^LogQ. Its noise has
// standard deviation lattice.Sigma, and its secrets are ternary.
type Ring struct {
	N    int `json:"n"`
	LogQ int `json:"log_q"`
}

// LWE returns the learning-with-errors problem behind requests and records of
// the ring, with one sample per record.
func (r Ring) LWE() LWE {
	return LWE{Dim: r.N, LogQ: float64(r.LogQ), Sigma: lattice.Sigma, Secret: Ternary}
}

// An Estimate is the cost of a lattice attack that was not run.
type Estimate struct {
	// Samples is the number of ciphertexts that the cheapest attack uses.
	Samples int `json:"samples"`
	// Dimension is the dimension of the attack's lattice.
	Dimension int `json:"dimension"`
	// BlockSize is β, the block size of BKZ. Delta is its root Hermite factor.
	BlockSize int     `json:"block_size"`
	Delta     float64 `json:"delta"`
	// Bits is log₂ of the cost in a Model. Primal and Dense use CoreClassical,
	// which counts one sieve in dimension β.
	Bits float64 `json:"bits"`
}

// LWE is the problem of finding s from b = ⟨a, s⟩ + e mod q. The secret s has
// Dim elements, e has standard deviation Sigma, and q has LogQ bits.
type LWE struct {
	Dim         int
	LogQ, Sigma float64
	// Secret is the standard deviation of s, at most Sigma. The value 0 means
	// that s is uniform or as small as e. Both are equivalent, because Dim
	// samples turn a uniform secret into one as small as e.
	Secret float64
	// MaxSamples bounds the number of samples. 0 means no limit.
	MaxSamples int
}

// Ternary is the standard deviation of a secret uniform in {−1, 0, 1}.
var Ternary = math.Sqrt(2. / 3)

// samples returns the number of samples spent on making s as small as e, and
// the maximum number of further samples.
func (p LWE) samples() (spent, most int) {
	if p.Secret == 0 {
		spent = p.Dim
	}
	if p.MaxSamples == 0 {
		return spent, 4 * p.Dim
	}
	return spent, p.MaxSamples - spent
}

// logScale returns log₂ ξ, where ξ is the factor that scales s to the size of e
// (Bai and Galbraith, ACISP 2014).
func (p LWE) logScale() float64 {
	if p.Secret == 0 {
		return 0
	}
	return math.Log2(p.Sigma / p.Secret)
}

// Primal returns the cost of the primal attack by unique-SVP embedding. The
// success condition is from Alkim, Ducas, Pöppelmann and Schwabe ("Post-quantum
// key exchange: a new hope", USENIX Security 2016, section 6.3). Experiments
// confirm it (Albrecht, Göpfert, Virdia, Wunderer, ASIACRYPT 2017). With m
// samples and s scaled by ξ to the size of e, the lattice has dimension d = Dim
// + m + 1 and volume q^m·ξ^Dim. BKZ-β finds e once
//
//	σ·√β ≤ δ(β)^(2β−d−1) · (q^m·ξ^Dim)^(1/d)
//
// The returned estimate is for the smallest such β over all m.
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
		// δ falls as β grows, so `fits` changes from false to true only once.
		largest := min(d, 4096)
		block := 2 + sort.Search(largest-1, func(i int) bool { return fits(2 + i) })
		if block <= largest && (best.BlockSize == 0 || block < best.BlockSize) {
			best = Estimate{Samples: spent + m, Dimension: d, BlockSize: block, Delta: hermite(block), Bits: CoreClassical.Cost(block, d)}
		}
	}
	return best
}

// A Model is a cost model of BKZ, a lattice reduction that calls a sieve on
// blocks.
type Model struct {
	// A sieve in dimension β costs 2^(PerBlock·β + Constant) operations.
	PerBlock, Constant float64
	// Tours, if set, counts 8·d sieves for BKZ in a lattice of dimension d,
	// instead of one sieve.
	Tours bool
}

var (
	// CoreClassical and CoreQuantum are core-SVP models (Alkim and others,
	// USENIX Security 2016). They count the leading term of a single sieve
	// (Becker, Ducas, Gama, Laarhoven, SODA 2016, and Laarhoven, 2015). A
	// quantum sieve with exponent 0.257·β (Chailloux and Loyer, ASIACRYPT 2021)
	// would subtract 3 % of the bits of CoreQuantum.
	CoreClassical = Model{PerBlock: 0.292}
	CoreQuantum   = Model{PerBlock: 0.265}
	// StandardClassical and StandardQuantum are the models behind the tables of
	// the Homomorphic Encryption Standard (2018).
	StandardClassical = Model{PerBlock: 0.292, Constant: 16.4, Tours: true}
	StandardQuantum   = Model{PerBlock: 0.265, Constant: 16.4, Tours: true}
)

// Cost returns log₂ of the operations of BKZ with a block size in dimension d.
func (m Model) Cost(block, d int) float64 {
	cost := m.PerBlock*float64(block) + m.Constant
	if m.Tours {
		cost += math.Log2(8 * float64(d))
	}
	return cost
}

// smallBlocks holds experimental root Hermite factors of small blocks, from the
// lattice estimator (Albrecht, Player, Scott, J. Math. Cryptol. 9, 2015). They
// are needed because Chen's formula does not hold for blocks below 40.
var smallBlocks = []struct {
	block int
	delta float64
}{{2, 1.02190}, {5, 1.01862}, {10, 1.01616}, {15, 1.01485}, {20, 1.01420}, {25, 1.01342}, {28, 1.01331}, {40, 1.01295}}

// hermite returns δ(β), the root Hermite factor: BKZ-β finds a vector of length
// δ^d·vol^(1/d) in dimension d. It uses Chen's limit for β ≥ 50, and measured
// values for smaller β.
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

// sieveExponent·β is log₂ of √(4/3)^β, the number of short vectors that a sieve
// in dimension β yields.
const sieveExponent = 0.2075

// Dual returns the cost of the dual attack, which distinguishes samples from
// uniform ones, as in Kyber's specification (Alkim and others, USENIX Security
// 2016, section 6.4). The vectors (x, y/ξ) with y = xA mod q form a lattice of
// dimension d = m + Dim and volume (q/ξ)^Dim. If such a vector is short, ⟨x, b⟩
// = ⟨x, e⟩ + ⟨y, s⟩ is small modulo q. BKZ-β finds vectors of length
//
//	ℓ = δ(β)^(d−1) · (q/ξ)^(Dim/d)
//
// Each of them distinguishes with advantage ε = exp(−2π²·(ℓσ/q)²), where σ is
// the standard deviation of e. The attack needs 1/ε² such vectors. One sieve
// yields √(4/3)^β vectors, and all are assumed to have length ℓ.
func (p LWE) Dual(model Model) Estimate {
	spent, most := p.samples()
	best := Estimate{Bits: math.Inf(1)}
	volume := float64(p.Dim) * (p.LogQ - p.logScale())
	for block := 50; model.Cost(block, p.Dim) < best.Bits; block++ {
		delta := math.Log2(hermite(block))
		// This d minimises the length ℓ.
		d := min(max(int(math.Round(math.Sqrt(volume/delta))), p.Dim+1), p.Dim+most)
		length := float64(d-1)*delta + volume/float64(d)
		tau := math.Exp2(length + math.Log2(p.Sigma) - p.LogQ)
		again := max(0, 4*math.Pi*math.Pi*tau*tau*math.Log2E-sieveExponent*float64(block))
		if bits := model.Cost(block, d) + again; bits < best.Bits {
			best = Estimate{Samples: spent + d - p.Dim, Dimension: d, BlockSize: block, Delta: hermite(block), Bits: bits}
		}
	}
	return best
}

// Dense returns the cost of an attack without known plaintext. It finds a
// sublattice spanned by `rank` short secret combinations of the ciphertexts.
// The whole lattice holds all combinations of `dim` rows modulo q. In k
// ciphertexts, a short combination has k elements with standard deviation σ.
// The attack chooses k. It succeeds once the sublattice's volume is below the
// product of the last `rank` Gram–Schmidt norms of a basis reduced by BKZ-β:
//
//	log σ√k ≤ (1 − dim/k)·log q − (k − rank)·log δ(β)
//
// (Kirchner and Fouque, EUROCRYPT 2017, after Pataki and Tural). Ducas and van
// Woerden (ASIACRYPT 2021) show that the attack succeeds even earlier, so the
// true cost is lower.
func Dense(dim, rank int, logQ, sigma float64) Estimate {
	best := Estimate{Bits: math.Inf(1)}
	for k := dim + dim/8; k <= 6*dim; k += max(1, dim/64) {
		d := float64(k)
		slack := (1-float64(dim)/d)*logQ - math.Log2(sigma) - math.Log2(d)/2
		need := math.Exp2(slack / (d - float64(rank)))
		for block := 2; block <= 4096 && (best.BlockSize == 0 || block < best.BlockSize); block++ {
			if hermite(block) <= need {
				best = Estimate{Samples: k, Dimension: k, BlockSize: block, Delta: hermite(block), Bits: CoreClassical.Cost(block, k)}
			}
		}
	}
	return best
}
