package attack

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cloud/sealed"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
	"cpar/model/feature"
	"cpar/user"
)

// sealedCloud is the cloud of scheme sealed. For every record it computes a
// ciphertext from a request, a coefficient modulo Q, which replaces the
// unreadable score.
type sealedCloud struct {
	index  *sealed.Index
	params lattice.Params
	counts []int // records per group
	stored StoredIndex
}

func openSealedCloud(files *indexdir.Index) (*sealedCloud, error) {
	m := files.Manifest()
	x, err := sealed.Load(m, files.Segments())
	if err != nil {
		return nil, err
	}
	parts, err := lattice.DecodeSections(files.Segment(cpar.SegmentParams))
	if err != nil {
		return nil, err
	}
	p := parts.Open // the attacks build no cells
	c := &sealedCloud{index: x, params: p, stored: StoredIndex{Records: int(m.Records)}}
	for i, s := range m.Segments {
		if s.Kind != cpar.SegmentVectors {
			continue
		}
		for b := files.Segments()[i]; len(b) > 0; b = b[p.GroupSize():] { // Load guarantees whole groups
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

// Observe implements Cloud. Every record is returned, so none appears nearer.
func (c *sealedCloud) Observe(request []byte) (*Observation, error) {
	q, err := cpar.DecodeRequest(request)
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	replies, err := c.index.Annotate(context.Background(), 1, []*cpar.Request{q})
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	s := &Observation{Request: request}
	if s.Reply, err = replies[0].MarshalBinary(); err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	reply, err := lattice.DecodeReply(c.params, replies[0].Opaque)
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	ring, k := c.params.Ring(), c.params.Records()
	for g, n := range c.counts {
		group := reply.Words[g*k : (g+1)*k]
		ring.InterpolateFolded(group) // the coefficient of each record
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
	return &Target{Owner: &sealedOwner{o}, Cloud: c, TrainIndex: b.trainIndex}, err
}

type sealedOwner struct{ *user.Owner }

// Request implements Owner. The cloud does not see how the owner reads a reply,
// so no pending state is needed.
func (o *sealedOwner) Request(f *feature.Vectors, _ bool) ([]byte, *user.Pending, error) {
	_, q, err := o.Owner.Request(f, o.DefaultParams())
	if err != nil {
		return nil, nil, err
	}
	b, err := q.MarshalBinary()
	return b, nil, err
}
