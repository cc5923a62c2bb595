package sealed

import (
	"context"
	"fmt"

	"cpar"
	"cpar/internal/lattice"
)

// newParts opens an index of one part or of two, from the segments of its vectors.
func newParts(p lattice.Parts, m *cpar.Manifest, segments [][]byte) (*Index, error) {
	cell := int(m.Dim)
	if p.Clustered != nil {
		cell = p.Clustered.CellDim() - lattice.CellDim(0)
	}
	if p.Open.Dim != int(m.Dim) || cell != int(m.Dim) {
		return nil, fmt.Errorf("%w: sealed parameters for %d and %d coordinates, its manifest says %d", cpar.ErrCorrupt, p.Open.Dim, cell, m.Dim)
	}
	var groups, clustered []*lattice.Group
	missing := 0 // groups of the clustered part, which come first
	if p.Clustered != nil {
		missing = p.Clustered.Groups(p.Rows())
	}
	for i, s := range m.Segments {
		if s.Kind != cpar.SegmentVectors {
			continue
		}
		params, to := p.Open, &groups
		if missing > 0 {
			params, to = *p.Clustered, &clustered
		}
		some, err := decodeGroups(params, segments[i])
		if err != nil {
			return nil, fmt.Errorf("segment %v (%v): %w", s.Kind, s.Digest, err)
		}
		if to == &clustered {
			missing -= len(some)
		}
		*to = append(*to, some...)
	}
	x, err := NewIndex(p.Open, m.ID, groups)
	if err != nil || p.Clustered == nil {
		return x, err
	}
	if x.clustered, err = NewIndex(*p.Clustered, m.ID, clustered); err == nil && x.clustered.records != p.Rows() {
		err = fmt.Errorf("%w: %d rows in its clusters, not %d", cpar.ErrCorrupt, x.clustered.records, p.Rows())
	}
	x.inClusters = p.Records
	return x, err
}

// parts are those that have groups, as requests ask them and replies answer.
func (x *Index) parts() (parts []*Index) {
	for _, part := range []*Index{x.clustered, x} {
		if part != nil && len(part.groups) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// joined is the state of all parts.
func (x *Index) joined() lattice.State {
	if x.clustered == nil {
		return x.state
	}
	return x.clustered.state.Join(x.state)
}

// size is the number of groups of all parts, and their bytes.
func (x *Index) size() (groups int, bytes uint64) {
	for _, part := range x.parts() {
		groups += len(part.groups)
		bytes += uint64(len(part.groups) * part.params.GroupSize())
	}
	return groups, bytes
}

// evaluateParts evaluates every request over all parts.
func (x *Index) evaluateParts(ctx context.Context, workers int, requests []*lattice.Request) ([]*lattice.Reply, error) {
	replies := make([]*lattice.Reply, len(requests))
	for i, q := range requests {
		replies[i] = &lattice.Reply{Index: x.id, Number: q.Number, State: x.joined()}
	}
	at := 0
	for _, part := range x.parts() {
		n := part.params.MatrixBytes()
		some := make([]*lattice.Request, len(requests))
		for i, q := range requests {
			some[i] = &lattice.Request{Index: q.Index, Number: q.Number, Matrix: q.Matrix[at : at+n]}
		}
		answers, err := part.Evaluate(ctx, workers, some...)
		if err != nil {
			return nil, err
		}
		for i, a := range answers {
			replies[i].Words = append(replies[i].Words, a.Words...)
		}
		at += n
	}
	return replies, nil
}
