package estimate

import "math"

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
				best = Estimate{Samples: k, Dimension: k, BlockSize: block, Delta: hermite(block), Bits: CoreClassical.Cost(block, k)}
			}
		}
	}
	return best
}
