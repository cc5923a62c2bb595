package device

import (
	"cmp"
	"context"

	"cpar/model/rank"
	"cpar/user"
)

// Found holds the result of a search.
type Found struct {
	Hits []user.Hit // most similar first
	// Sent and Received are bytes.
	Sent, Received int
}

// Search searches the index as Annotate does for a single photo, with the same
// requests to the cloud in the same order. Function prepare makes the search for
// the open generation, and is called again after a change of the index. If exact
// is set, Search requests every cell.
func (x *Index) Search(ctx context.Context, prepare func(*user.Owner) (*user.Search, error), exact bool) (f Found, err error) {
	for left := x.tries(); ; left-- {
		s, err := prepare(x.Owner)
		if err != nil {
			return f, err
		}
		pending, requests, err := s.Requests(exact)
		if err != nil {
			return f, err
		}
		all := make([]*photoRequest, len(requests))
		for i, q := range requests {
			all[i] = &photoRequest{request: q}
		}
		if requests[0] != nil {
			err = x.ask(ctx, all)
		}
		for _, a := range all {
			f.Sent, f.Received, err = f.Sent+a.Sent, f.Received+a.Received, cmp.Or(err, a.Err)
		}
		if x.tries() > 0 {
			if moved, e := x.reopenIfMoved(ctx); moved && e == nil && left > 0 {
				continue
			} else if err = cmp.Or(err, e); err != nil {
				return f, err
			}
		}
		if err != nil {
			return f, err
		}
		lists := make([][]rank.Neighbour, len(all))
		for i, a := range all {
			if lists[i], err = pending[i].Neighbours(a.reply); err != nil {
				return f, err
			}
		}
		f.Hits, err = s.Hits(lists...)
		return f, err
	}
}
