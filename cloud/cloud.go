// Package cloud is the cloud's side: it keeps encrypted indexes and answers
// encrypted requests. It holds no key, and no package that does is linked
// into it (wall_test.go of package cpar).
//
//	store    indexes in a data folder, activated in one step
//	score    ⟨C(V), t⟩ of records and planes
//	search   the forest or the inverted file (cpar), or the scan (capia)
//	api      HTTP
//	daemon   a process that serves a data folder
package cloud

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/search"
	"cpar/cloud/store"
)

// A Cloud answers requests to the indexes of one data folder.
type Cloud struct {
	*store.Store[*score.Index]
	// Workers is how many goroutines share one request (search.Options); as
	// many as there are cores where 0. It is set before the first request.
	Workers int
}

// New opens the data folder, which no other process may have open.
func New(data string, o store.Options) (*Cloud, error) {
	s, err := store.Open(data, store.Loader[*score.Index](score.Load), o)
	if err != nil {
		return nil, fmt.Errorf("opening the data folder: %w", err)
	}
	return &Cloud{Store: s}, nil
}

// Annotate answers a request to the index id. The reply owns its memory: the
// index may be replaced the moment after.
func (c *Cloud) Annotate(ctx context.Context, id cpar.IndexID, q *cpar.Request) (*cpar.Reply, error) {
	var reply *cpar.Reply
	err := c.with(ctx, id, func(x *score.Index) (err error) {
		if reply, err = c.options().Annotate(ctx, x, q); err == nil {
			own(reply)
		}
		return err
	})
	return reply, err
}

// AnnotateBatch answers requests to the index id together, reading its memory
// once for those that scan it (search.Options.AnnotateBatch).
func (c *Cloud) AnnotateBatch(ctx context.Context, id cpar.IndexID, requests []*cpar.Request) ([]*cpar.Reply, error) {
	var replies []*cpar.Reply
	err := c.with(ctx, id, func(x *score.Index) (err error) {
		replies, err = c.options().AnnotateBatch(ctx, x, requests)
		for _, r := range replies {
			own(r)
		}
		return err
	})
	return replies, err
}

func (c *Cloud) options() search.Options { return search.Options{Workers: c.Workers} }

// with calls f with an index, which stays as long as f runs.
func (c *Cloud) with(ctx context.Context, id cpar.IndexID, f func(*score.Index) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h, err := c.Get(id)
	if err != nil {
		return err
	}
	defer h.Release()
	return f(h.Value())
}

// own copies what of a reply lies in the index.
func own(r *cpar.Reply) {
	for i, m := range r.Matches {
		r.Matches[i].Keywords = append([]byte(nil), m.Keywords...)
	}
}
