package lattice

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"cpar"
)

// A State identifies the groups of an index, their order and their counts. With it the
// cloud says what it evaluated, and the owner what its hints are for. It is a sum over the groups,
// so that machines that have some of them each know their share.
type State [sha256.Size]byte

// A Roll counts groups of one part of an index, in order.
type Roll struct {
	begin [sha256.Size]byte // of the parameters and the index
	next  int
	state State
}

// NewRoll begins with the group of this number, the first of all having 0.
func NewRoll(p Params, id cpar.IndexID, first int) (Roll, error) {
	b, err := p.AppendBinary(id[:])
	return Roll{begin: sha256.Sum256(b), next: first}, err
}

// Append returns the roll with the next group.
func (r Roll) Append(seed [SeedSize]byte, count int) Roll {
	b := AppendCount(append(r.begin[:], seed[:]...), count)
	r.state = r.state.Plus(sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(r.next))))
	r.next++
	return r
}

// State is the share of the groups so far.
func (r Roll) State() State { return r.state }

// Plus is the state of the groups of both, modulo 2²⁵⁶: of two machines, or of two parts of an index.
func (s State) Plus(o State) (sum State) {
	carry := uint64(0)
	for i := 0; i < len(s); i += 8 {
		var word uint64
		word, carry = bits.Add64(binary.LittleEndian.Uint64(s[i:]), binary.LittleEndian.Uint64(o[i:]), carry)
		binary.LittleEndian.PutUint64(sum[i:], word)
	}
	return sum
}
