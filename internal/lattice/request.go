package lattice

import (
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// A Request is an encrypted vector.
type Request struct {
	Index cpar.IndexID
	// Number is random and repeated in the reply.
	Number [NumberSize]byte
	// Matrix holds the evaluations of R_b in the layout of a group. For an
	// index of two sections it holds two matrices in sequence.
	Matrix []byte
}

func (p Params) RequestSize() int { return headerSize + NumberSize + p.MatrixBytes() }

func (q *Request) AppendBinary(b []byte) []byte {
	b = AppendHeader(b, KindRequest, q.Index)
	b = append(b, q.Number[:]...)
	return append(b, q.Matrix...)
}

// DecodeRequest decodes a request to sections with the given parameters: at
// least one, valid, and of the same ring. The request aliases b.
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
