package lattice

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"cpar"
)

// A State identifies the groups of an index, their order and their counts. A
// reply names the state that the cloud evaluated, and hints belong to one
// state. It is a sum over groups, so that each node can compute the share of
// its groups.
type State [sha256.Size]byte

// A Roll accumulates the State of consecutive groups of one section.
type Roll struct {
	begin [sha256.Size]byte // digest of the parameters and the index id
	next  int
	state State
}

// NewRoll starts at the group with the given number, counted from 0.
func NewRoll(p Params, id cpar.IndexID, first int) (Roll, error) {
	b, err := p.AppendBinary(id[:])
	return Roll{begin: sha256.Sum256(b), next: first}, err
}

// Append returns the roll extended by the next group.
func (r Roll) Append(seed [SeedSize]byte, count int) Roll {
	b := AppendCount(append(r.begin[:], seed[:]...), count)
	r.state = r.state.Plus(sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(r.next))))
	r.next++
	return r
}

// State returns the share of the groups so far.
func (r Roll) State() State { return r.state }

// Plus returns the state of the union of two sets of groups, the sum modulo
// 2²⁵⁶.
func (s State) Plus(o State) (sum State) {
	carry := uint64(0)
	for i := 0; i < len(s); i += 8 {
		var word uint64
		word, carry = bits.Add64(binary.LittleEndian.Uint64(s[i:]), binary.LittleEndian.Uint64(o[i:]), carry)
		binary.LittleEndian.PutUint64(sum[i:], word)
	}
	return sum
}
