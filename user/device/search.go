package device

import (
	"cmp"
	"context"

	"cpar"
	"cpar/model/rank"
	"cpar/user"
)

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
	s, unfit := prepare(x.Owner)
	if unfit != nil {
		return f, unfit
	}
	var pending []*user.Pending
	var all []*photoRequest
	in, answered := x.Owner, false
	err = x.untilSettled(ctx, func() (worse bool, err error) {
		if x.Owner != in {
			in = x.Owner
			next, err := prepare(in)
			if unfit = err; err != nil { // send requests anyway, as for a photo
				next = s.Again(in)
			}
			s = next
		}
		var requests []*cpar.Request
		if pending, requests, err = s.Requests(exact); err != nil {
			answered = true
			return false, err
		}
		all = make([]*photoRequest, len(requests))
		for i, q := range requests {
			all[i] = &photoRequest{request: q}
		}
		if requests[0] != nil {
			err = x.ask(ctx, all)
		}
		for _, a := range all {
			f.Sent, f.Received = f.Sent+a.Sent, f.Received+a.Received
		}
		worse, answered = answered && err != nil, answered || err == nil
		return worse, err
	})
	err = cmp.Or(err, unfit)
	lists := make([][]rank.Neighbour, len(all))
	for i, a := range all {
		if err = cmp.Or(err, a.Err); err != nil {
			return f, err
		}
		if lists[i], err = pending[i].Neighbours(a.reply); err != nil {
			return f, err
		}
	}
	if err == nil {
		f.Hits, err = s.Hits(lists...)
	}
	return f, err
}
