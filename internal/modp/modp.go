// Package modp sums products modulo the prime Q = 2⁶⁰ − 2¹⁴ + 1: the arithmetic of a cloud that
// answers requests of scheme sealed.
//
//	in   []uint64, each word an element of Z/Q below Q
//	out  Σ a[i]·b[i] mod Q, below Q
//
// It knows nothing of keys, and running time depends only on lengths.
//
//	one vector      Dot
//	one request     Rows, four matrices at once: the memory system sees four streams
//	many requests   Operand, which multiplies rows by up to sixteen of them
//
// Plain Go (plain.go) defines what these mean. On amd64 they run in assembly for AVX2 or AVX-512
// IFMA, whichever the processor has (level.go); build tag purego leaves the assembly out. Package
// gen, below, writes it: edit that and run go generate. Tests compare every kernel that the
// processor supports with big integers.
//
// What limits them, per core with IFMA: Rows waits for memory. An Operand of sixteen requests waits
// for the multiplier, 2.5 cycles for eight products.
package modp

import "math/bits"

// Q is the modulus, a prime.
const Q = modulus

const (
	modulus = 1<<60 - 1<<14 + 1
	// excess is 2⁶⁰ modulo Q.
	excess = 1<<14 - 1
)

// Add returns x + y mod Q for x, y below Q.
func Add(x, y uint64) uint64 { return reduceOnce(x + y) }

// reduceOnce returns x mod Q for x below 2Q, without a branch.
func reduceOnce(x uint64) uint64 {
	less, borrow := bits.Sub64(x, Q, 0)
	return less + Q&-borrow
}

// reduce returns hi·2⁶⁴ + lo modulo Q: 2⁶⁴ is 16·excess.
func reduce(hi, lo uint64) uint64 {
	for range 2 { // hi shrinks to 18 bits, then to nothing but a carry
		h, l := bits.Mul64(hi, 16*excess)
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi = h + carry
	}
	// A carry of the second round leaves lo small.
	lo += hi * 16 * excess
	return reduceOnce(lo&(1<<60-1) + lo>>60*excess)
}
