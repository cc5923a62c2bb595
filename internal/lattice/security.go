package lattice

import (
	"fmt"

	"cpar"
	"cpar/internal/modp"
)

// The ring is fixed. A different ring would be a new format version.
const (
	// N is the number of coefficients; X^N = −1.
	N = 1 << logN
	// Q is the largest prime below 2⁶⁰ that is 1 modulo 2N, so that X^N+1
	// splits into linear factors.
	Q = modp.Q
	// Sigma is the width of all noise, from the standard. Secrets are uniform in {−1, 0, 1}.
	Sigma = 3.2

	logN = 12
	logQ = 60
	// gap − 1 is 2⁶⁰ mod Q: so small that rounding may pretend that the modulus is 2⁶⁰.
	gap = 1<<logQ - Q + 1
)

// standard holds the 128-bit rows of the tables for ternary secrets and σ = 3.2 in
// Albrecht et al., "Homomorphic Encryption Security Standard" (HomomorphicEncryption.org,
// 2018; "Homomorphic Encryption Standard" in Protecting Privacy through Homomorphic
// Encryption, Springer 2021): the greatest log₂ q against classical and quantum attacks,
// by ring degree.
var standard = map[int]struct{ classical, quantum float64 }{
	1 << 10: {27, 25},
	1 << 11: {54, 51},
	1 << 12: {109, 101},
	1 << 13: {218, 202},
	1 << 14: {438, 411},
	1 << 15: {881, 827},
}

// Standard returns that row: the greatest log₂ q for 128 bits at ring degree n.
func Standard(n int) (classical, quantum float64, ok bool) {
	row, ok := standard[n]
	return row.classical, row.quantum, ok
}

// secure refuses a ring for which the standard does not give 128 bits of security, also
// against quantum computers.
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
