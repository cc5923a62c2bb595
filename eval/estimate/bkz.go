package estimate

import "math"

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
