package sealed

import (
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/seed"
)

// Key encrypts records and requests of one index. It is safe for concurrent use.
type Key struct {
	seed.Redacted
	params lattice.Params
	id     cpar.IndexID
	// The polynomials below are stored as their evaluations and prepared as
	// factors for Ring.MulAdd. The package comment defines them.
	blocks [][]uint64 // secrets s_1 … s_B of the blocks
	addend []uint64   // secret s_n of the addends
	public [][]uint64 // a′_1 … a′_B
}

func NewKey(master seed.Secret, p lattice.Params, id cpar.IndexID) (*Key, error) {
	canonical, err := p.AppendBinary(nil)
	if err != nil {
		return nil, fmt.Errorf("deriving a sealed key: %w", err)
	}
	root := master.Derive("sealed", id[:], canonical)
	k := &Key{params: p, id: id, public: publicRequest(p, id)}
	for b := range p.Blocks() {
		k.blocks = append(k.blocks, secret(p.Ring(), root.Derive("sealed/block", seed.Number(uint64(b)))))
	}
	k.addend = secret(p.Ring(), root.Derive("sealed/addend"))
	return k, nil
}

func secret(r *lattice.Ring, s seed.Secret) []uint64 {
	p := ternary(r, seed.New(s))
	r.Evaluate(p)
	r.Factors(p)
	return p
}

// publicRequest returns a′_1 … a′_B, which are public and fixed for an index. It draws
// evaluations, because uniform evaluations correspond to a uniform polynomial.
func publicRequest(p lattice.Params, id cpar.IndexID) [][]uint64 {
	r, a := p.Ring(), make([][]uint64, p.Blocks())
	for b := range a {
		a[b] = make([]uint64, r.N)
		uniform(r, seed.New(seed.Derive([seed.Size]byte{}, "sealed/public request", id[:], seed.Number(uint64(b)))), a[b])
		r.Factors(a[b])
	}
	return a
}

// publicGroup fills slice a with the evaluations of a group's public a_g. It
// expands them from a public seed (publicSeed) by AES in counter mode, as
// Frodo expands its public matrix.
func publicGroup(r *lattice.Ring, a []uint64, public [seed.Size]byte) {
	uniform(r, seed.New(public), a)
}

func publicSeed(id cpar.IndexID, group [lattice.SeedSize]byte) [seed.Size]byte {
	return seed.Derive(group, "sealed/public group", id[:])
}
