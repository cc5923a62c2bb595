package sealed

import (
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/user/internal/seed"
)

// Key encrypts records and requests of one index. It may be used by several
// goroutines at once.
type Key struct {
	seed.Redacted
	params lattice.Params
	id     cpar.IndexID
	// blocks are the evaluations of s_1 … s_B, addend those of s_n, public those
	// of a′_1 … a′_B; all as factors for lattice.MulAdd.
	blocks [][]uint64
	addend []uint64
	public [][]uint64
}

// NewKey derives the key of an index.
func NewKey(master seed.Secret, p lattice.Params, id cpar.IndexID) (*Key, error) {
	canonical, err := p.AppendBinary(nil)
	if err != nil {
		return nil, fmt.Errorf("deriving a sealed key: %w", err)
	}
	root := master.Derive("sealed", id[:], canonical)
	k := &Key{params: p, id: id, public: publicRequest(p, id)}
	for b := range p.Blocks() {
		k.blocks = append(k.blocks, secret(root.Derive("sealed/block", seed.Number(uint64(b)))))
	}
	k.addend = secret(root.Derive("sealed/addend"))
	return k, nil
}

func secret(s seed.Secret) []uint64 {
	p := ternary(seed.New(s))
	lattice.Evaluate(p)
	lattice.Factors(p)
	return p
}

// publicRequest is a′_1 … a′_B: public, fixed for an index. Uniform evaluations
// are the evaluations of a uniform polynomial.
func publicRequest(p lattice.Params, id cpar.IndexID) [][]uint64 {
	a := make([][]uint64, p.Blocks())
	for b := range a {
		a[b] = make([]uint64, lattice.N)
		uniform(seed.New(seed.Derive([seed.Size]byte{}, "sealed/public request", id[:], seed.Number(uint64(b)))), a[b], lattice.Q)
		lattice.Factors(a[b])
	}
	return a
}

// publicGroup writes the evaluations of a_g into a. AES in counter mode under
// a key that everybody knows expands it, as in Frodo's public matrix.
func publicGroup(a []uint64, id cpar.IndexID, group [lattice.SeedSize]byte) {
	uniform(seed.New(seed.Derive(group, "sealed/public group", id[:])), a, lattice.Q)
}
