package cloud

import (
	"fmt"

	"cpar"
	"cpar/cloud/search"
	"cpar/internal/lattice"
)

// Join merges the replies that all parts of an index gave to one request, in the order of the parts, into
// the reply that the whole index would have given.
func Join(q *cpar.Request, parts []*cpar.Reply) (*cpar.Reply, error) {
	var opaque [][]byte
	for _, r := range parts {
		if r.Index != q.Index || (r.Opaque != nil) != q.Params.Scheme.Opaque() {
			return nil, fmt.Errorf("joining replies: %w: one is not of the index that was asked", cpar.ErrCorrupt)
		}
		opaque = append(opaque, r.Opaque)
	}
	if !q.Params.Scheme.Opaque() {
		return search.Join(q, parts), nil
	}
	b, err := lattice.JoinReplies(opaque)
	return &cpar.Reply{Index: q.Index, Opaque: b}, err
}
