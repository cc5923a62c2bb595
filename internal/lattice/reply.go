package lattice

import (
	"crypto/sha256"
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// A Reply holds the rounded coefficients 0, D, 2D, … of every c_g, in the order of the
// groups and without padding: one number per record.
type Reply struct {
	Index  cpar.IndexID
	Number [NumberSize]byte
	State  State
	// Scores are encrypted, ReplyBits bits each.
	Scores []uint64
}

// ReplySize is the length of the encoding of a reply for n records.
func (p Params) ReplySize(n int) int {
	return headerSize + NumberSize + sha256.Size + 8 + PackedSize(n, p.ReplyBits())
}

// AppendBinary appends the canonical encoding of a, a reply under p.
func (a *Reply) AppendBinary(p Params, b []byte) []byte {
	b = AppendHeader(b, KindReply, a.Index)
	b = append(b, a.Number[:]...)
	b = append(b, a.State[:]...)
	b = AppendCount(b, len(a.Scores))
	return Pack(b, a.Scores, p.ReplyBits())
}

// DecodeReply reads a reply under valid parameters.
func DecodeReply(p Params, b []byte) (*Reply, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	id, err := ReadHeader(r, KindReply)
	if err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindReply, err)
	}
	a := &Reply{Index: id}
	copy(a.Number[:], r.Bytes(NumberSize, "number"))
	copy(a.State[:], r.Bytes(len(a.State), "state"))
	n := ReadCount(r, "count of scores")
	// A score takes at least one byte (minLogT), so the memory for n scores is at most
	// eight times the remaining input.
	packed := r.Bytes(PackedSize(n, p.ReplyBits()), "scores")
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindReply, err)
	}
	a.Scores = make([]uint64, n)
	if !Unpack(a.Scores, packed, p.ReplyBits()) {
		return nil, fmt.Errorf("reading %v: %w: the bits after the last score are not zero", KindReply, cpar.ErrCorrupt)
	}
	return a, nil
}
