package lattice

import (
	"crypto/sha256"

	"cpar"
)

// A State names the groups of an index, their order and their counts: the
// cloud tells with it what it evaluated, the owner what its hints are of.
type State [sha256.Size]byte

// NewState starts from the parameters and the name of an index.
func NewState(p Params, id cpar.IndexID) (State, error) {
	b, err := p.AppendBinary(id[:])
	return sha256.Sum256(b), err
}

// Append is the state with one more group behind.
func (s State) Append(seed [SeedSize]byte, count int) State {
	return sha256.Sum256(AppendCount(append(s[:], seed[:]...), count))
}
