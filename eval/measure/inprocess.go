package measure

import (
	"context"

	"cpar"
	"cpar/cparhttp"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

// InProcess is a server in the same process, reached by a function call.
type InProcess func(*cpar.Request) (*cpar.Reply, error)

func (f InProcess) Annotate(_ context.Context, q *cpar.Request) (*cpar.Reply, cparhttp.Stats, error) {
	a, err := f(q)
	if err != nil {
		return nil, cparhttp.Stats{}, err
	}
	sent, received, err := BytesOf(q, a)
	return a, cparhttp.Stats{Sent: sent, Received: received}, err
}

func (f InProcess) AnnotateBatch(ctx context.Context, requests []*cpar.Request) ([]*cpar.Reply, []cparhttp.Stats, error) {
	replies, stats := make([]*cpar.Reply, len(requests)), make([]cparhttp.Stats, len(requests))
	for i, q := range requests {
		var err error
		if replies[i], stats[i], err = f.Annotate(ctx, q); err != nil {
			return nil, nil, err
		}
	}
	return replies, stats, nil
}

// AnnotatePhoto annotates one photo end to end, as cpar annotate does.
func AnnotatePhoto(ctx context.Context, x *device.Index, photo device.Photo, p cpar.Params, most int) (*device.Annotated, error) {
	all, err := x.Annotate(ctx, []device.Photo{photo}, device.AnnotateOptions{
		Params:  func(*device.Index) (cpar.Params, error) { return p, nil },
		Ranking: user.Ranking{MaxKeywords: most},
	})
	if err != nil {
		return nil, err
	}
	return &all[0], all[0].Err
}

func BytesOf(q *cpar.Request, a *cpar.Reply) (request, reply int, err error) {
	sent, err := q.MarshalBinary()
	if err != nil {
		return 0, 0, err
	}
	received, err := a.MarshalBinary()
	return len(sent), len(received), err
}

func ReadReply(o *user.Owner, pending *user.Pending, a *cpar.Reply) ([]rank.Keyword, error) {
	near, err := pending.Neighbours(a)
	if err != nil {
		return nil, err
	}
	return o.Rank(near, user.Ranking{MaxKeywords: StandardKeywords})
}
