package estimate

import "math"

// A Model says what BKZ costs.
type Model struct {
	// log₂ of a sieve in dimension β is PerBlock·β + Constant.
	PerBlock, Constant float64
	// Tours counts 8·d sieves in a lattice of dimension d, instead of one.
	Tours bool
}

var (
	// CoreClassical and CoreQuantum are core-SVP (Alkim and others, USENIX Security 2016):
	// a single sieve, and of its cost the leading term (Becker, Ducas, Gama, Laarhoven,
	// SODA 2016; Laarhoven, 2015). A quantum sieve at 0.257·β (Chailloux and Loyer,
	// ASIACRYPT 2021) would take 3 % of the bits of CoreQuantum.
	CoreClassical = Model{PerBlock: 0.292}
	CoreQuantum   = Model{PerBlock: 0.265}
	// StandardClassical and StandardQuantum are those by which the Homomorphic Encryption
	// Standard (2018) made its tables.
	StandardClassical = Model{PerBlock: 0.292, Constant: 16.4, Tours: true}
	StandardQuantum   = Model{PerBlock: 0.265, Constant: 16.4, Tours: true}
)

// Cost returns log₂ of the operations of BKZ with blocks of block in dimension d.
func (m Model) Cost(block, d int) float64 {
	cost := m.PerBlock*float64(block) + m.Constant
	if m.Tours {
		cost += math.Log2(8 * float64(d))
	}
	return cost
}
