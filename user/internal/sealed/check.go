package sealed

import (
	"fmt"
	"math/bits"
	"slices"

	"cpar"

	"cpar/internal/hint"
	"cpar/user/internal/seed"
)

// How an owner notices scores that the cloud made up, altered, swapped, replayed
// or left out (Freivalds, "Probabilistic machines can use less running time",
// 1977). Every record i has a secret number ρ_i, uniform modulo the prime
// p = 2⁶¹ − 1, and the ledger keeps
//
//	h = Σ ρ_i·v_i mod p (a word a coordinate)    a = Σ ρ_i·addend_i mod p
//
// Scores of a request u are accepted if Σ ρ_i·score_i = ⟨h, u⟩ + a mod p. The right
// ones are. Let others differ by e_i, not all 0 and below p: they pass for one of
// p values of any ρ_i with e_i ≠ 0, the others given. Nothing that the cloud sees
// depends on ρ, but whether earlier replies were accepted; so of r made-up replies
// one passes with a chance of at most r/(p − r).
//
// ρ_i follows from the key, the index id and the record's number. A number may
// come to stand for another vector where a backup is restored; the sums are then
// others, and ρ is still nothing that the cloud knows.
const checkPrime = 1<<61 - 1

// checkSums are h and a.
type checkSums struct {
	vector []uint64
	addend uint64
}

// rho is ρ_i, from the stream of the index's secret `check`.
func rho(s *seed.Stream, record int) uint64 {
	return addMod(s.At(8*uint64(record)).Uint64()&checkPrime, 0)
}

// rhos writes ρ of record first and those that follow.
func rhos(s *seed.Stream, dst []uint64, first int) {
	s.At(8 * uint64(first)).Words(dst)
	for i, x := range dst {
		dst[i] = addMod(x&checkPrime, 0)
	}
}

// add counts one more record.
func (c *checkSums) add(rho uint64, row []int16, addend int64) {
	for i, x := range row {
		c.vector[i] = addMod(c.vector[i], mulMod(rho, liftMod(int64(x))))
	}
	c.addend = addMod(c.addend, mulMod(rho, liftMod(addend)))
}

// fit is whether these are the scores of u, all of them.
func (c *checkSums) fit(s *seed.Stream, scores []int64, u []int16) bool {
	want := c.addend
	for i, x := range u {
		want = addMod(want, mulMod(c.vector[i], liftMod(int64(x))))
	}
	numbers := make([]uint64, len(scores))
	rhos(s, numbers, 0)
	got := uint64(0)
	for i, x := range scores {
		got = addMod(got, mulMod(numbers[i], liftMod(x)))
	}
	return got == want
}

// liftMod is x modulo p, for |x| < p.
func liftMod(x int64) uint64 {
	if x < 0 {
		return uint64(x + checkPrime)
	}
	return uint64(x)
}

// addMod is x + y modulo p, for x, y ≤ p.
func addMod(x, y uint64) uint64 {
	s := x + y
	if s >= checkPrime {
		s -= checkPrime
	}
	if s >= checkPrime { // both were p
		s -= checkPrime
	}
	return s
}

// mulMod is x·y modulo p, for x, y < p: 2⁶¹ is 1.
func mulMod(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return addMod(lo&checkPrime, hi<<3|lo>>61)
}

func (c *checkSums) equal(o checkSums) bool {
	return c.addend == o.addend && slices.Equal(c.vector, o.vector)
}

// ErrRefused must not lead anybody to do something that the cloud could see, such
// as to push again: it could alter replies a little and watch which are refused.
var ErrRefused = hint.Add(fmt.Errorf("%w: its scores are not those of the index", cpar.ErrCloud),
	"this photo gets no keywords; go on as if it had, and let nothing show that it did not. See SECURITY.md, on refused replies")
