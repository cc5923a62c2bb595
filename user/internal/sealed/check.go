package sealed

import (
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/lattice"
	"cpar/internal/seed"
	"cpar/internal/wire"
)

// Reply checks detect replies that the server invented, altered, reordered,
// replayed or truncated (Freivalds, "Probabilistic machines can use less
// running time", 1977). The encrypted group g consists of a matrix W_g and
// addends A_g modulo Q (package lattice). Every group has a secret number ρ_g
// modulo Q, and the ledger keeps
//
//	S = Σ ρ_g·W_g   (the matrix)      T = Σ ρ_g·A_g   (the addends, each in D copies)
//
// both modulo Q, where D is the block width. With row k of the request, R[k],
// the reply c is accepted if at every one of the K points
//
//	Σ ρ_g·c_g[k] = T[k] + ⟨S[k], R[k]⟩ mod Q
//
// Correct replies pass because c_g[k] = A_g[k] + ⟨W_g[k], R[k]⟩ holds exactly,
// without rounding. Suppose a reply has errors e_g[k], not all 0. At a point
// with e_g[k] ≠ 0, the equation holds for only one value of ρ_g, given the
// other ρ. That value has probability at most 1.0001/Q (Q has 47 or 48 bits,
// and ρ is a 64-bit word modulo Q).
//
// Except with that probability, acceptance depends only on correctness, which
// the server knows before it replies. A rejection reveals nothing about photo,
// key or records, so the owner may react to it freely. Nothing else visible to
// the server depends on ρ. At least one of r wrong replies passes with
// probability at most 1.0001·r/(Q − r).
//
// ρ_g derives from the key, the index id and the group's number. If the last
// group is refilled or a backup is restored, ρ_g stays the same for other
// records. The sums change accordingly, and the server still does not know ρ.
type checkSums struct {
	matrix, addends []uint64
}

func newCheckSums(p lattice.Params) checkSums {
	return checkSums{matrix: make([]uint64, p.Words()), addends: make([]uint64, p.Records())}
}

func (c checkSums) clone() checkSums {
	return checkSums{matrix: slices.Clone(c.matrix), addends: slices.Clone(c.addends)}
}

// rhos returns ρ for n groups from number first on, as factors for package lattice.
func rhos(r *lattice.Ring, s *seed.Stream, first, n int) []uint64 {
	out := make([]uint64, n)
	s.At(8 * uint64(first)).Words(out)
	for i, x := range out {
		out[i] = r.Mod(x)
	}
	r.Factors(out)
	return out
}

func (c checkSums) add(p lattice.Params, s *seed.Stream, n int, g *lattice.Group) {
	c.addScaled(p, g, rhos(p.Ring(), s, n, 1)[0])
}

func (c checkSums) remove(p lattice.Params, s *seed.Stream, n int, g *lattice.Group) {
	c.addScaled(p, g, p.Ring().Sub(0, rhos(p.Ring(), s, n, 1)[0]))
}

func (c checkSums) addScaled(p lattice.Params, g *lattice.Group, rho uint64) {
	r := p.Ring()
	words := make([]uint64, len(c.matrix))
	lattice.Words(words, g.Matrix)
	r.AddScaled(c.matrix, words, rho)
	words = words[:len(c.addends)]
	lattice.Words(words, g.Addends)
	r.AddScaled(c.addends, words, rho)
}

func (c checkSums) wanted(p lattice.Params, request []byte) []uint64 {
	words, sums := make([]uint64, p.Words()), make([]uint64, p.Words()/p.Block)
	lattice.Words(words, request)
	p.Ring().DotRows(sums, c.matrix, words) // block by block, because a whole row may be too long for DotRows
	out := slices.Clone(c.addends)
	for i, sum := range sums {
		k := i / p.Blocks()
		out[k] = p.Ring().Add(out[k], sum)
	}
	return out
}

func fits(p lattice.Params, s *seed.Stream, reply, wanted []uint64) bool {
	r, k := p.Ring(), p.Records()
	sum := make([]uint64, k)
	for at, rho := range rhos(r, s, 0, len(reply)/k) {
		r.AddScaled(sum, reply[at*k:(at+1)*k], rho)
	}
	return slices.Equal(sum, wanted)
}

// ErrRefused reports a reply that does not match the records and the request.
var ErrRefused = hint.Add(fmt.Errorf("%w: its reply does not match the index", cpar.ErrCloud),
	"the cloud is damaged or lies; if it persists, ask its operator to check the index, or push it again")

func readCheckSums(p lattice.Params, r *wire.Reader) (checkSums, error) {
	check := newCheckSums(p)
	for _, words := range [][]uint64{check.matrix, check.addends} {
		packed := r.Bytes(len(words)*lattice.WordBytes, "check of replies")
		if r.Err() != nil {
			return check, r.Err()
		}
		lattice.Words(words, packed)
		if slices.ContainsFunc(words, func(x uint64) bool { return x >= p.Ring().Q }) {
			return check, fmt.Errorf("%w: a check that is not below its modulus", cpar.ErrCorrupt)
		}
	}
	return check, nil
}

func (c checkSums) append(b []byte) []byte {
	return lattice.AppendWords(lattice.AppendWords(b, c.matrix), c.addends)
}
