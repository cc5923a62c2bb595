// Package cloud is the cloud's side: it keeps encrypted indexes and answers
// encrypted requests. It holds no key, and no package that does is linked
// into it (wall_test.go of package cpar).
//
//	store    indexes in a data folder, activated in one step
//	score    ⟨C(V), t⟩ of records and planes
//	search   the forest (cpar) or the scan (capia)
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
}

// New opens the data folder, which no other process may have open.
func New(data string, o store.Options) (*Cloud, error) {
	s, err := store.Open(data, store.Loader[*score.Index](score.Load), o)
	if err != nil {
		return nil, fmt.Errorf("opening the data folder: %w", err)
	}
	return &Cloud{s}, nil
}

// Annotate answers a request to the index id. The reply owns its memory: the
// index may be replaced the moment after.
func (c *Cloud) Annotate(ctx context.Context, id cpar.IndexID, q *cpar.Request) (*cpar.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := c.Get(id)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	reply, err := search.Annotate(h.Value(), q)
	if err != nil {
		return nil, err
	}
	for i, m := range reply.Matches {
		reply.Matches[i].Keywords = append([]byte(nil), m.Keywords...)
	}
	return reply, nil
}
