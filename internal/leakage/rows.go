package leakage

import (
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/lattice"
)

func localSegment(p *Observation, x index, s cpar.Segment, _ []byte) error {
	m := x.manifest
	p.What = fmt.Sprintf("vectors of %d coordinates in %d blocks of at most %d records (AES-256-GCM)", m.Dim, s.Bytes/cpar.LocalBlockBytes(m.Dim), cpar.LocalBlockRecords)
	p.Learns = "about how many records there are and how many coordinates each has; it never receives a request for one of them"
	return nil
}

func sealedSegment(p *Observation, x index, s cpar.Segment, _ []byte) error {
	parts, err := x.sealedParams()
	if err != nil {
		return err
	}
	params := parts.Open
	switch s.Kind {
	case cpar.SegmentVectors:
		if c := parts.Clustered; c != nil && s.Bytes%uint64(c.GroupSize()) == 0 {
			p.What = fmt.Sprintf("vectors of %d coordinates, %d in a row, in %d groups of at most %d rows (ring-LWE)", x.manifest.Dim, c.Slots(), s.Bytes/uint64(c.GroupSize()), c.Records())
			p.Learns = "how many records there are, how many coordinates each has, and how many clusters of equal size hold them; no vector, not which record is in which cluster, and not which cluster a request selects"
			return nil
		}
		p.What = fmt.Sprintf("vectors of %d coordinates in %d groups of at most %d records (ring-LWE)", x.manifest.Dim, s.Bytes/uint64(params.GroupSize()), params.Records())
		p.Learns = "how many records there are, how many coordinates each has, and in which groups they lie; no vector, and no distance to any request"
	case cpar.SegmentParams:
		p.What = fmt.Sprintf("the constants of the scheme: %d coordinates, blocks of %d, scores modulo 2^%d", params.Dim, params.Block, params.LogT)
		p.Learns = "these constants, which reveal the profile and how many numbers it compares"
	case cpar.SegmentCells:
		p.What = "which record is in which cluster, and the centres of clusters (AES-256-GCM)"
		p.Learns = "nothing: its length follows from the number of records"
	case cpar.SegmentHints:
		p.What = "what the owner needs to read replies (public: it follows from the groups)"
		p.Learns = "nothing: the cloud could compute it"
	}
	return nil
}

func (x index) sealedParams() (p lattice.Sections, err error) {
	for i, s := range x.manifest.Segments {
		if s.Kind == cpar.SegmentParams {
			return lattice.DecodeSections(x.segments[i])
		}
	}
	return p, fmt.Errorf("%w: the index has no parameters", cpar.ErrCorrupt)
}

// sealedRequest describes a request: a header of 24 bytes, a random number, and
// words (integers modulo Q). Their number depends on the index, so only the
// completeness of the last word is checked.
func sealedRequest(q *cpar.Request, _ []byte) ([]Observation, error) {
	const head = 24 + lattice.NumberSize
	bytes := len(q.Opaque) - head
	if bytes <= 0 || bytes%lattice.WordBytes != 0 {
		return nil, fmt.Errorf("reading sealed request: %w: %d bytes", cpar.ErrCorrupt, len(q.Opaque))
	}
	return []Observation{
		{What: fmt.Sprintf("the header and a random number of %d bytes", lattice.NumberSize), Bytes: head, Start: start(q.Opaque),
			Learns: "which index is asked, and when; not how many records are wanted"},
		{What: fmt.Sprintf("the encrypted vector, %d words (ring-LWE)", bytes/lattice.WordBytes),
			Bytes: uint64(bytes), Start: start(q.Opaque[head:]),
			Learns: "nothing: every request has its own secret, so one for the same photo looks like any other"},
	}, nil
}

// sealedReply describes a reply: a header, the request's number, the state of
// the index, a count, and packed scores.
func sealedReply(a *cpar.Reply, _ []byte) ([]Observation, error) {
	const head = 24 + lattice.NumberSize + len(lattice.State{})
	if len(a.Opaque) < head+8 {
		return nil, fmt.Errorf("reading sealed reply: %w: %d bytes", cpar.ErrCorrupt, len(a.Opaque))
	}
	groups, bytes := uint64(binary.LittleEndian.Uint32(a.Opaque[head:])), len(a.Opaque)-head-8
	words := bytes / lattice.WordBytes
	if groups == 0 || bytes%lattice.WordBytes != 0 || uint64(words)%groups != 0 {
		return nil, fmt.Errorf("reading sealed reply: %w: %d groups in %d bytes", cpar.ErrCorrupt, groups, bytes)
	}
	return []Observation{
		{What: "the header, the request's number and the state of the index", Bytes: uint64(head + 8), Start: start(a.Opaque),
			Learns: "which request it answers"},
		{What: fmt.Sprintf("%d words, which hold an encrypted score for each record", words), Bytes: uint64(bytes), Start: start(a.Opaque[head+8:]),
			Learns: "the cloud made them, and can read none: it does not know which records are near"},
	}, nil
}
