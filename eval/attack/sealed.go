package attack

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cloud/sealed"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
	"cpar/user"
	"cpar/user/feature"
)

// sealedCloud is the cloud of scheme sealed: for every record it computes a ciphertext
// from a request. The word of the ciphertext stands in for the score, which it cannot
// read.
type sealedCloud struct {
	index  *sealed.Index
	params lattice.Params
	stored Stored
}

func openSealedCloud(files *indexdir.Index) (*sealedCloud, error) {
	m := files.Manifest()
	x, err := sealed.Load(m, files.Segments())
	if err != nil {
		return nil, err
	}
	p, err := lattice.DecodeParams(files.Segment(cpar.SegmentParams))
	if err != nil {
		return nil, err
	}
	return &sealedCloud{index: x, params: p, stored: Stored{Records: int(m.Records)}}, nil
}

func (c *sealedCloud) Scheme() string  { return cpar.SchemeSealed.String() }
func (c *sealedCloud) Stored() *Stored { return &c.stored }

// Observe implements Cloud. Every record is returned, so no record appears nearer than another.
func (c *sealedCloud) Observe(request []byte) (*Seen, error) {
	q, err := cpar.DecodeRequest(request)
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	replies, err := c.index.Annotate(context.Background(), 1, []*cpar.Request{q})
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	s := &Seen{Request: request}
	if s.Reply, err = replies[0].MarshalBinary(); err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	words, err := lattice.DecodeReply(c.params, s.Reply)
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	half := int64(1) << (c.params.ReplyBits() - 1)
	for i, w := range words.Scores {
		x := int64(w)
		if x >= half {
			x -= 2 * half
		}
		s.Scores = append(s.Scores, float64(x))
		s.Returned = append(s.Returned, uint32(i))
	}
	return s, nil
}

// sealedTarget returns an index with scheme sealed over the same images, in its own order.
func (b *built) sealedTarget() (*Target, error) {
	c, err := openSealedCloud(b.files)
	if err != nil {
		return nil, err
	}
	held := map[cpar.Digest][]byte{}
	m := b.files.Manifest()
	for _, need := range b.builder.Needs(m) {
		held[need.Digest] = b.files.Segment(need.Kind)
	}
	if err := b.builder.Hold(m, held); err != nil {
		return nil, err
	}
	return &Target{Owner: &sealedOwner{b.builder.Owner}, Cloud: c, Place: b.place}, nil
}

type sealedOwner struct{ *user.Owner }

// Request implements Owner. The cloud does not see what the owner does with a reply, so
// nothing is kept to read it.
func (o *sealedOwner) Request(f *feature.Vectors, _ bool) ([]byte, *user.Pending, error) {
	_, q, err := o.Owner.Request(f, o.DefaultParams())
	if err != nil {
		return nil, nil, err
	}
	b, err := q.MarshalBinary()
	return b, nil, err
}
