package sealed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"cpar"
	"cpar/cloud/shard"
	"cpar/internal/lattice"
)

// Load prepares an index for search. `segments` holds the bytes of all segments
// in the order of the manifest. The caller has verified their digests and keeps
// them in memory. Errors wrap cpar.ErrCorrupt.
func Load(m *cpar.Manifest, segments [][]byte) (*Index, error) {
	return LoadShard(m, shard.Range{}, segments)
}

// LoadShard prepares one shard (`some`) like Load. Segments that the shard does
// not need are nil.
func LoadShard(m *cpar.Manifest, some shard.Range, segments [][]byte) (*Index, error) {
	if err := some.CheckSegments(m, segments); err != nil {
		return nil, err
	}
	// Find the parameters first, because the manifest lists them after the
	// vectors.
	i := slices.IndexFunc(m.Segments, func(s cpar.Segment) bool { return s.Kind == cpar.SegmentParams })
	if i < 0 {
		return nil, fmt.Errorf("%w: an index of scheme %v has no sealed parameters", cpar.ErrCorrupt, m.Scheme)
	}
	p, err := lattice.DecodeSections(segments[i])
	if err != nil {
		return nil, err
	}
	x, err := openSections(p, m, some, segments)
	if err == nil && some.Whole() && x.Records() != int(m.Records) {
		err = fmt.Errorf("%w: %d records in its groups, its manifest says %d", cpar.ErrCorrupt, x.Records(), m.Records)
	}
	return x, err
}

func decodeGroups(p lattice.Params, b []byte) (groups []*lattice.Group, err error) {
	size := p.GroupSize()
	if len(b)%size != 0 {
		return nil, fmt.Errorf("%w: %d bytes are not whole groups of %d", cpar.ErrCorrupt, len(b), size)
	}
	for at := 0; at < len(b); at += size {
		g, err := lattice.DecodeGroup(p, b[at:at+size])
		if err != nil {
			return nil, fmt.Errorf("group %d: %w", at/size, err)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// Annotate answers all requests, in order, or returns an error. It runs
// `workers` goroutines, or one per core if `workers` is 0.
func (x *Index) Annotate(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error) {
	workers = cmp.Or(workers, runtime.GOMAXPROCS(0))
	// Decode all requests first, because one bad request fails the batch.
	decoded := make([]*lattice.Request, len(requests))
	for i, r := range requests {
		var err error
		if decoded[i], err = x.decode(r); err != nil {
			if len(requests) > 1 {
				err = fmt.Errorf("request %d of %d: %w", i+1, len(requests), err)
			}
			return nil, err
		}
	}
	answers, err := x.Evaluate(ctx, workers, decoded...)
	if err != nil {
		return nil, err
	}
	_, bytes := x.size()
	replies := make([]*cpar.Reply, len(requests))
	for i, a := range answers {
		replies[i] = &cpar.Reply{Index: x.id, Visited: uint32(x.Records()), Touched: bytes, Opaque: a}
	}
	return replies, nil
}

// decode decodes a client's request. Errors wrap cpar.ErrInput.
func (x *Index) decode(r *cpar.Request) (*lattice.Request, error) {
	var params []lattice.Params
	for _, section := range x.sections() {
		params = append(params, section.params)
	}
	if len(params) == 0 {
		return nil, fmt.Errorf("%w: the index has no records", cpar.ErrInput)
	}
	q, err := lattice.DecodeRequest(r.Opaque, params...)
	switch {
	case errors.Is(err, cpar.ErrCorrupt):
		return nil, fmt.Errorf("%w: %v", cpar.ErrInput, err)
	case err != nil:
		return nil, err
	case q.Index != x.id:
		return nil, fmt.Errorf("%w: it is for index %v", cpar.ErrInput, q.Index)
	}
	return q, nil
}
