package estimate

import "math"

// sieved·β is log₂ of the number of short vectors that a sieve in dimension β ends with, √(4/3)^β.
const sieveExponent = 0.2075

// Dual returns the cost of the dual attack, which tells samples from uniform ones, as
// Kyber's specification counts it (Alkim and others, USENIX Security 2016, section 6.4).
// Vectors (x, y/ξ) with y = xA mod q make a lattice of dimension d = m + Dim and volume
// (q/ξ)^Dim; ⟨x, b⟩ is then ⟨x, e⟩ + ⟨y, s⟩, small modulo q. BKZ-β finds vectors of length
//
//	ℓ = δ(β)^(d−1) · (q/ξ)^(Dim/d)
//
// each of which tells the difference with advantage ε = exp(−2π²·(ℓσ/q)²). 1/ε² of them
// are needed; one sieve gives √(4/3)^β, all assumed to be of that length.
func (p LWE) Dual(model Model) Estimate {
	spent, most := p.samples()
	best := Estimate{Bits: math.Inf(1)}
	volume := float64(p.Dim) * (p.LogQ - p.logScale())
	for block := 50; model.Cost(block, p.Dim) < best.Bits; block++ {
		delta := math.Log2(hermite(block))
		// ℓ is least at this d.
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
