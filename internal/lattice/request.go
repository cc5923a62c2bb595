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
	// Matrix holds the evaluations of the R_b, in the layout of a group; of an index of two
	// parts one matrix behind the other.
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

// DecodeRequest reads a request to parts with these parameters, one at least, valid and of
// one ring. The request keeps b.
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
