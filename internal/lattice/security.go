package lattice

import (
	"fmt"

	"cpar"
)

// standard holds the 128-bit rows for ternary secrets and σ = 3.2 of Albrecht
// et al., "Homomorphic Encryption Security Standard"
// (HomomorphicEncryption.org, 2018, also in Protecting Privacy through
// Homomorphic Encryption, Springer 2021). Values are the maximum log₂ q against
// classical and quantum attacks, by ring degree.
var standard = map[int]struct{ classical, quantum float64 }{
	1 << 10: {27, 25},
	1 << 11: {54, 51},
	1 << 12: {109, 101},
	1 << 13: {218, 202},
	1 << 14: {438, 411},
	1 << 15: {881, 827},
}

// Standard returns the maximum log₂ q for 128-bit security at ring degree n.
func Standard(n int) (classical, quantum float64, ok bool) {
	row, ok := standard[n]
	return row.classical, row.quantum, ok
}

// secure rejects a ring to which the standard does not assign 128 bits of
// security against both classical and quantum attacks.
func secure(n int, bitsOfQ float64) error {
	row, ok := standard[n]
	switch {
	case !ok:
		return fmt.Errorf("%w: the homomorphic encryption standard has no row for ring degree %d", cpar.ErrInput, n)
	case bitsOfQ > min(row.classical, row.quantum):
		return fmt.Errorf("%w: a modulus of %.0f bits at ring degree %d has less than 128 bits of security (the standard allows %.0f)",
			cpar.ErrInput, bitsOfQ, n, min(row.classical, row.quantum))
	}
	return nil
}
