package main

import (
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/lattice"
)

// sealedParams are the public constants of an index of scheme sealed.
func sealedParams(m *cpar.Manifest, segments [][]byte) (p lattice.Params, err error) {
	for i, s := range m.Segments {
		if s.Kind == cpar.SegmentParams {
			p, err = lattice.DecodeParams(segments[i])
		}
	}
	return p, err
}

// describeHidden says in plain words what a segment of schemes sealed and local is.
func describeHidden(item *seen, m *cpar.Manifest, s cpar.Segment, p lattice.Params) {
	switch {
	case m.Scheme == cpar.SchemeLocal:
		blocks := s.Bytes / cpar.LocalBlockBytes(m.Dim)
		item.What = fmt.Sprintf("vectors of %d coordinates in %d blocks of at most %d records (AES-256-GCM)", m.Dim, blocks, cpar.LocalBlockRecords)
		item.Learns = "about how many records there are and how many coordinates each has; it is never asked for one of them"
	case s.Kind == cpar.SegmentVectors:
		item.What = fmt.Sprintf("vectors of %d coordinates in %d groups of at most %d records (ring-LWE)", m.Dim, s.Bytes/uint64(p.GroupSize()), p.Records())
		item.Learns = "how many records there are, how many coordinates each has, and in which groups they were added; no vector, and no distance to any request"
	case s.Kind == cpar.SegmentParams:
		item.What = fmt.Sprintf("the constants of the scheme: %d coordinates, blocks of %d, scores modulo 2^%d", p.Dim, p.Block, p.LogT)
		item.Learns = "these constants, which are the same for every collection"
	case s.Kind == cpar.SegmentHints:
		item.What = "what the owner needs to read replies (AES-256-GCM)"
		item.Learns = "nothing: its length follows from the number of groups"
	}
}

// inspectSealedRequest describes a request of scheme sealed: a header of 24 bytes,
// a random number, and words of the ring. How many words it must have is known to
// the index alone; here only that they are whole polynomials.
func inspectSealedRequest(q *cpar.Request) (*inspected, error) {
	const head = 24 + lattice.NumberSize
	words := len(q.Opaque) - head
	if words <= 0 || words%(8*lattice.N) != 0 {
		return nil, fmt.Errorf("reading sealed request: %w: %d bytes", cpar.ErrCorrupt, len(q.Opaque))
	}
	r := &inspected{Kind: "request", Scheme: cpar.SchemeSealed.String(), Index: q.Index.String()}
	r.add(seen{What: fmt.Sprintf("the header and a random number of %d bytes", lattice.NumberSize), Bytes: head, Start: start(q.Opaque),
		Learns: "which index is asked, and when; not how many records are wanted"})
	r.add(seen{What: fmt.Sprintf("the encrypted vector, %d polynomials of %d words (ring-LWE)", words/8/lattice.N, lattice.N),
		Bytes: uint64(words), Start: start(q.Opaque[head:]),
		Learns: "nothing: a request for the same photo looks as any other does, under a secret of its own"})
	return r, nil
}

// inspectSealedReply describes a reply of scheme sealed: a header, the request's
// number, the state of the index, a count, and packed scores.
func inspectSealedReply(a *cpar.Reply) (*inspected, error) {
	const head = 24 + lattice.NumberSize + len(lattice.State{})
	if len(a.Opaque) < head+8 {
		return nil, fmt.Errorf("reading sealed reply: %w: %d bytes", cpar.ErrCorrupt, len(a.Opaque))
	}
	n, bytes := int(binary.LittleEndian.Uint32(a.Opaque[head:])), len(a.Opaque)-head-8
	if n > 8*bytes || n == 0 {
		return nil, fmt.Errorf("reading sealed reply: %w: %d scores in %d bytes", cpar.ErrCorrupt, n, bytes)
	}
	r := &inspected{Kind: "reply", Scheme: cpar.SchemeSealed.String(), Index: a.Index.String()}
	r.add(seen{What: "the header, the request's number and the state of the index", Bytes: uint64(head + 8), Start: start(a.Opaque),
		Learns: "which request it answers"})
	r.add(seen{What: fmt.Sprintf("an encrypted score for each of %d records", n), Bytes: uint64(bytes), Start: start(a.Opaque[head+8:]),
		Learns: "the cloud made them, and can read none: it does not know which records are near"})
	return r, nil
}
