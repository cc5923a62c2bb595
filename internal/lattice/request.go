package lattice

import (
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// A Request is an encrypted vector, as the owner sends it.
type Request struct {
	Index cpar.IndexID
	// Number is random; the reply repeats it.
	Number [NumberSize]byte
	// Matrix holds the evaluations of the R_b, in the layout of a group.
	Matrix []byte
}

// RequestSize is the length of a request's encoding.
func (p Params) RequestSize() int { return headerSize + NumberSize + p.MatrixBytes() }

// AppendBinary appends the canonical encoding of q.
func (q *Request) AppendBinary(b []byte) []byte {
	b = AppendHeader(b, KindRequest, q.Index)
	b = append(b, q.Number[:]...)
	return append(b, q.Matrix...)
}

// DecodeRequest reads a request under valid parameters. The request keeps b.
func DecodeRequest(p Params, b []byte) (*Request, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	id, err := ReadHeader(r, KindRequest)
	if err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindRequest, err)
	}
	q := &Request{Index: id}
	copy(q.Number[:], r.Bytes(NumberSize, "number"))
	q.Matrix = p.Ring().elements(r, p.Words(), "the matrix")
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindRequest, err)
	}
	return q, nil
}
