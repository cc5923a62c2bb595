package lattice

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"cpar"
	"cpar/internal/wire"
)

// A Group holds K encrypted rows, in the notation of doc.go. It is not secret.
type Group struct {
	Index cpar.IndexID
	// Seed generates a_g. Every write draws a new seed.
	Seed [SeedSize]byte
	// Count is the number of rows in use, 1 to K. The other rows encrypt zeros.
	Count int
	// Addends holds D times the evaluations of A_g at the K points, packed.
	Addends []byte
	// Matrix holds the evaluations of W_{g,b} as K rows of B·D packed words.
	Matrix []byte
}

// Fits reports whether g can be a group of index id under p.
func (g *Group) Fits(p Params, id cpar.IndexID) bool {
	return g.Index == id && g.Count >= 1 && g.Count <= p.Records() &&
		len(g.Addends) == p.Records()*WordBytes && len(g.Matrix) == p.MatrixBytes()
}

func (p Params) GroupSize() int {
	return headerSize + SeedSize + 8 + p.Records()*WordBytes + p.MatrixBytes()
}

func (g *Group) AppendBinary(b []byte) []byte {
	b = AppendHeader(b, KindGroup, g.Index)
	b = append(b, g.Seed[:]...)
	b = AppendCount(b, g.Count)
	b = append(b, g.Addends...)
	return append(b, g.Matrix...)
}

// DecodeGroup decodes a group under valid parameters. The group aliases b,
// which may be a read-only memory map. Errors wrap cpar.ErrCorrupt or
// cpar.ErrVersion.
func DecodeGroup(p Params, b []byte) (*Group, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	id, err := ReadHeader(r, KindGroup)
	if err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindGroup, err)
	}
	g := &Group{Index: id}
	copy(g.Seed[:], r.Bytes(SeedSize, "seed"))
	g.Count = ReadCount(r, "count of records")
	if r.Err() == nil && (g.Count < 1 || g.Count > p.Records()) {
		r.Fail("%d records in a group of 1 to %d", g.Count, p.Records())
	}
	g.Addends = p.Ring().elements(r, p.Records(), "the addends")
	g.Matrix = p.Ring().elements(r, p.Words(), "the matrix")
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindGroup, err)
	}
	return g, nil
}

// A Request is an encrypted vector.
type Request struct {
	Index cpar.IndexID
	// Number is random and repeated in the reply.
	Number [NumberSize]byte
	// Matrix holds the evaluations of R_b in the layout of a group. For an
	// index with two sections, the matrices of both are concatenated.
	Matrix []byte
}

func (p Params) RequestSize() int { return headerSize + NumberSize + p.MatrixBytes() }

func (q *Request) AppendBinary(b []byte) []byte {
	b = AppendHeader(b, KindRequest, q.Index)
	b = append(b, q.Number[:]...)
	return append(b, q.Matrix...)
}

// DecodeRequest decodes a request to one or more sections with valid parameters
// of one ring. The request aliases b.
func DecodeRequest(b []byte, parts ...Params) (*Request, error) {
	words := 0
	for _, p := range parts {
		words += p.Words()
	}
	r := wire.NewReader(b, cpar.ErrCorrupt)
	id, err := ReadHeader(r, KindRequest)
	if err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindRequest, err)
	}
	q := &Request{Index: id}
	copy(q.Number[:], r.Bytes(NumberSize, "number"))
	q.Matrix = parts[0].Ring().elements(r, words, "the matrix")
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindRequest, err)
	}
	return q, nil
}

// A Reply holds D times the evaluations of every c_g at the K points, group by
// group. The values are exact, so that the owner can verify them (check.go in
// user/internal/sealed).
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

// AppendBinary encodes the words of `groups` groups, or of more if a has more.
// Missing words are zero.
func (a *Reply) AppendBinary(p Params, b []byte, groups int) []byte {
	groups = max(groups, len(a.Words)/p.Records())
	b = AppendHeader(b, KindReply, a.Index)
	b = append(b, a.Number[:]...)
	b = append(b, a.State[:]...)
	b = AppendCount(b, groups)
	b = append(b, make([]byte, groups*p.Records()*WordBytes)...)
	AppendWords(b[len(b)-groups*p.Records()*WordBytes:][:0], a.Words)
	return b
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
			return nil, fmt.Errorf("joining replies: %w: part %d (%d bytes) does not answer the same request as the first", cpar.ErrCorrupt, i, len(b))
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

// A State identifies the groups of an index, their order and their counts. A
// reply names the state that the cloud evaluated, and a hint is valid for one
// state. A State is a sum over groups, so each node can compute its share.
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

// State returns the sum over the groups appended so far.
func (r Roll) State() State { return r.state }

// Plus returns the state of the union of two sets of groups.
func (s State) Plus(o State) (sum State) {
	carry := uint64(0)
	for i := 0; i < len(s); i += 8 {
		var word uint64
		word, carry = bits.Add64(binary.LittleEndian.Uint64(s[i:]), binary.LittleEndian.Uint64(o[i:]), carry)
		binary.LittleEndian.PutUint64(sum[i:], word)
	}
	return sum
}
