package sealed

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cloud/shard"
	"cpar/internal/lattice"
)

// openSections opens an index or a shard. Every index has an open section, to
// which records can be added. It may also have a clustered section, whose records
// are divided into hidden cells.
func openSections(p lattice.Sections, m *cpar.Manifest, some shard.Range, segments [][]byte) (*Index, error) {
	cell := int(m.Dim)
	if p.Clustered != nil {
		cell = p.Clustered.SlotDim() - lattice.SlotDim(0)
	}
	if p.Open.Dim != int(m.Dim) || cell != int(m.Dim) {
		return nil, fmt.Errorf("%w: sealed parameters for %d and %d coordinates, its manifest says %d", cpar.ErrCorrupt, p.Open.Dim, cell, m.Dim)
	}
	open, clustered := &sectionGroups{params: p.Open}, &sectionGroups{params: p.Open}
	if p.Clustered != nil {
		clustered = &sectionGroups{params: *p.Clustered, rows: p.Rows()}
	}
	for i, needed := range some.Needs(m) {
		s := m.Segments[i]
		if s.Kind != cpar.SegmentVectors {
			continue
		}
		to := open
		if clustered.groups < clustered.params.Groups(clustered.rows) {
			to = clustered // the segments of the clustered section come first
		}
		if err := to.add(s, segments[i], needed); err != nil {
			return nil, fmt.Errorf("segment %v (%v): %w", s.Kind, s.Digest, err)
		}
	}
	x, err := NewIndex(p.Open, m.ID, open.first, open.here)
	if err != nil || p.Clustered == nil {
		return x, err
	}
	x.asked = int(m.Records) > p.Records
	if x.clustered, err = NewIndex(*p.Clustered, m.ID, clustered.first, clustered.here); err == nil && some.Whole() && x.clustered.records != p.Rows() {
		err = fmt.Errorf("%w: %d rows in its clusters, not %d", cpar.ErrCorrupt, x.clustered.records, p.Rows())
	}
	x.clustered.asked, x.inClusters = true, p.Records
	return x, err
}

// A sectionGroups collects the groups of one section from its segments.
type sectionGroups struct {
	params lattice.Params
	rows   int              // rows in the clustered section; 0 in the open section
	groups int              // groups seen so far, loaded or not
	first  int              // number of the first loaded group
	here   []*lattice.Group // loaded groups
}

func (g *sectionGroups) add(s cpar.Segment, b []byte, needed bool) error {
	n := int(s.Bytes) / g.params.GroupSize()
	if needed {
		some, err := decodeGroups(g.params, b)
		if err != nil {
			return err
		}
		if len(g.here) == 0 {
			g.first = g.groups
		}
		g.here = append(g.here, some...)
	}
	g.groups += n
	return nil
}

// sections returns the sections that have groups in any shard, in their order in
// requests and replies.
func (x *Index) sections() (sections []*Index) {
	for _, section := range []*Index{x.clustered, x} {
		if section != nil && section.asked {
			sections = append(sections, section)
		}
	}
	return sections
}

func (x *Index) joined() lattice.State {
	if x.clustered == nil {
		return x.roll.State()
	}
	return x.clustered.roll.State().Plus(x.roll.State())
}

func (x *Index) size() (groups int, bytes uint64) {
	for _, section := range x.sections() {
		groups += len(section.groups)
		bytes += uint64(len(section.groups) * section.params.GroupSize())
	}
	return groups, bytes
}

// Evaluate multiplies every record by every request, on at most `workers`
// goroutines, and returns encoded replies.
func (x *Index) Evaluate(ctx context.Context, workers int, requests ...*lattice.Request) ([][]byte, error) {
	replies, words, matrices := make([][]byte, len(requests)), make([][]byte, len(requests)), make([][]byte, len(requests))
	groups, _ := x.size()
	for i, q := range requests {
		if q.Index != x.id {
			return nil, fmt.Errorf("evaluating a sealed request: %w: it is for another index", cpar.ErrInput)
		}
		a := lattice.Reply{Index: x.id, Number: q.Number, State: x.joined()}
		replies[i] = a.AppendBinary(x.params, nil, groups)
		words[i], matrices[i] = replies[i][x.params.ReplySize(0):], q.Matrix
	}
	for _, section := range x.sections() {
		if err := section.evaluate(ctx, workers, words, matrices); err != nil {
			return nil, err
		}
	}
	return replies, nil
}
