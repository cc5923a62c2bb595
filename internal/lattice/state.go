package lattice

import (
	"crypto/sha256"

	"cpar"
)

// A State identifies the groups of an index, their order and their counts. With it the
// cloud says what it evaluated, and the owner what its hints are for.
type State [sha256.Size]byte

// NewState returns the initial state for these parameters and this index.
func NewState(p Params, id cpar.IndexID) (State, error) {
	b, err := p.AppendBinary(id[:])
	return sha256.Sum256(b), err
}

// Append returns the state with another group appended.
func (s State) Append(seed [SeedSize]byte, count int) State {
	return sha256.Sum256(AppendCount(append(s[:], seed[:]...), count))
}
