package search

import (
	"context"
	"fmt"

	"cpar"
	"cpar/internal/parallel"
	"cpar/kdforest"
)

// forest answers requests that prune or are traced. Each is searched by one
// goroutine.
func (o Options) forest(ctx context.Context, t task) ([]*cpar.Reply, error) {
	replies := make([]*cpar.Reply, len(t.requests))
	return replies, parallel.Runs(o.workers(), len(t.requests), 1, func(_ int, first, last int) error {
		for i := first; i < last; i++ {
			var err error
			if replies[i], err = o.searchForest(t, i); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o Options) searchForest(t task, i int) (*cpar.Reply, error) {
	opt, err := o.forestOptions(t, i)
	if err != nil {
		return nil, err
	}
	hits, stats, err := t.x.Forest.Search(t.spaces[i], opt)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	if o.Stats != nil {
		o.Stats(stats)
	}
	return t.reply(i, hits, stats.Visited), nil
}

func (o Options) forestOptions(t task, i int) (kdforest.Options, error) {
	p := t.requests[i].Params
	visits, err := t.visits(i)
	opt := kdforest.Options{
		Visits: visits,
		L:      int(p.L),
		Prune:  prunes(p),
		Order:  Order(p),
		Trace:  o.Trace,
	}
	if opt.Order == kdforest.ByRank {
		opt.Ballots = t.x.Ballots()
	}
	return opt, err
}

func prunes(p cpar.Params) bool { return p.Prune && p.UsesPlanes() }
