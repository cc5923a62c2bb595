package attack

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cloud/sealed"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
)

// A sealedIndex is the cloud's view of an index of scheme sealed. If the index
// has cells (hidden clusters), every record is in a cell, and `params`
// describes the cells.
type sealedIndex struct {
	index  *sealed.Index
	params lattice.Params
}

func openSealed(files *indexdir.Index) (*sealedIndex, error) {
	x, err := sealed.Load(files.Manifest(), files.Segments())
	if err != nil {
		return nil, err
	}
	parts, err := lattice.DecodeSections(files.Segment(cpar.SegmentParams))
	if parts.Clustered != nil {
		return &sealedIndex{x, *parts.Clustered}, err
	}
	return &sealedIndex{x, parts.Open}, err
}

func (x *sealedIndex) annotate(ctx context.Context, q *cpar.Request) (*cpar.Reply, *lattice.Reply, error) {
	replies, err := x.index.Annotate(ctx, 1, []*cpar.Request{q})
	if err != nil {
		return nil, nil, err
	}
	words, err := lattice.DecodeReply(x.params, replies[0].Opaque)
	return replies[0], words, err
}

// A sealedCloud is the cloud of scheme sealed. For every record it computes a
// ciphertext (a coefficient modulo Q) instead of a readable score.
type sealedCloud struct {
	*sealedIndex
	counts []int // records in each group that shares ciphertexts
	stored StoredIndex
}

func openSealedCloud(files *indexdir.Index) (*sealedCloud, error) {
	x, err := openSealed(files) // the index has no cells
	if err != nil {
		return nil, err
	}
	m, p := files.Manifest(), x.params
	c := &sealedCloud{sealedIndex: x, stored: StoredIndex{Records: int(m.Records)}}
	for i, s := range m.Segments {
		if s.Kind != cpar.SegmentVectors {
			continue
		}
		for b := files.Segments()[i]; len(b) > 0; b = b[p.GroupSize():] { // sealed.Load guarantees whole groups
			g, err := lattice.DecodeGroup(p, b[:p.GroupSize()])
			if err != nil {
				return nil, err
			}
			c.counts = append(c.counts, g.Count)
		}
	}
	return c, nil
}

func (c *sealedCloud) Scheme() string       { return cpar.SchemeSealed.String() }
func (c *sealedCloud) Stored() *StoredIndex { return &c.stored }

// Observe implements Cloud. The reply covers every record, so it does not show
// which records are nearer.
func (c *sealedCloud) Observe(request []byte) (*Observation, error) {
	q, err := cpar.DecodeRequest(request)
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	reply, decoded, err := c.annotate(context.Background(), q)
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	s := &Observation{Request: request}
	if s.Reply, err = reply.MarshalBinary(); err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	ring, k := c.params.Ring(), c.params.Records()
	for g, n := range c.counts {
		group := decoded.Words[g*k : (g+1)*k]
		ring.InterpolateFolded(group) // `group` now holds one coefficient per record
		for _, x := range group[:n] {
			s.Returned = append(s.Returned, uint32(len(s.Returned)))
			s.Scores = append(s.Scores, float64(ring.Centred(x)))
		}
	}
	return s, nil
}

func (b *built) sealedTarget() (*Target, error) {
	c, err := openSealedCloud(b.Files)
	if err != nil {
		return nil, err
	}
	o, err := b.Device()
	if err != nil {
		return nil, err
	}
	return &Target{Owner: &indexOwner{o, o.DefaultParams()}, Cloud: c, TrainIndex: b.trainIndex}, nil
}
