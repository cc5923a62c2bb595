package lattice

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// A Reply holds D times the evaluations of every c_g at the K points, group by
// group. They are exact, so that the owner can verify them
// (user/internal/sealed, check.go).
type Reply struct {
	Index  cpar.IndexID
	Number [NumberSize]byte
	State  State
	// Words holds encrypted scores below Q, K per group.
	Words []uint64
}

func (p Params) ReplySize(groups int) int {
	return headerSize + NumberSize + sha256.Size + 8 + groups*p.Records()*WordBytes
}

func (a *Reply) AppendBinary(p Params, b []byte) []byte {
	b = AppendHeader(b, KindReply, a.Index)
	b = append(b, a.Number[:]...)
	b = append(b, a.State[:]...)
	b = AppendCount(b, len(a.Words)/p.Records())
	return AppendWords(b, a.Words)
}

// DecodeReply decodes a reply under valid parameters.
func DecodeReply(p Params, b []byte) (*Reply, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	id, err := ReadHeader(r, KindReply)
	if err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindReply, err)
	}
	a := &Reply{Index: id}
	copy(a.Number[:], r.Bytes(NumberSize, "number"))
	copy(a.State[:], r.Bytes(len(a.State), "state"))
	n := ReadCount(r, "count of groups") * p.Records()
	packed := p.Ring().elements(r, n, "the scores")
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindReply, err)
	}
	a.Words = make([]uint64, n)
	Words(a.Words, packed)
	return a, nil
}

// JoinReplies joins the encoded replies of nodes that each hold some groups of
// an index, in the order of the groups.
func JoinReplies(parts [][]byte) ([]byte, error) {
	const start, head = headerSize + NumberSize, headerSize + NumberSize + sha256.Size + 8
	var state State
	groups, size := 0, 0
	for i, b := range parts {
		if len(b) < head || !bytes.Equal(b[:start], parts[0][:start]) {
			return nil, fmt.Errorf("joining replies: %w: part %d of %d bytes does not answer what the first does", cpar.ErrCorrupt, i, len(b))
		}
		r := wire.NewReader(b[start+sha256.Size:head], cpar.ErrCorrupt)
		state = state.Plus(State(b[start:]))
		groups += ReadCount(r, "count of groups")
		if size += len(b) - head; r.Err() != nil {
			return nil, fmt.Errorf("joining replies: %w", r.Err())
		}
	}
	out := append(make([]byte, 0, head+size), parts[0][:start]...)
	out = AppendCount(append(out, state[:]...), groups)
	for _, b := range parts {
		out = append(out, b[head:]...)
	}
	return out, nil
}
