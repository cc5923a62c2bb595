package cloud

import (
	"context"
	"errors"
	"fmt"

	"cpar"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/cloud/trace"
)

// A Cloud answers requests to the indexes of one data folder.
type Cloud struct {
	*store.Store[loadedIndex]
	// Workers is the number of goroutines that share one request (search.Options); 0
	// means the number of cores. Set it before the first request.
	Workers int
}

// New opens the data folder, which no other process may have open.
func New(data string, o store.Options) (*Cloud, error) {
	s, err := store.Open(data, load, o)
	if err != nil {
		return nil, fmt.Errorf("opening the data folder: %w", err)
	}
	return &Cloud{Store: s}, nil
}

// Over is New for another place than a data folder. Close closes it.
func Over(b store.Backend, o store.Options) *Cloud { return &Cloud{Store: store.New(b, load, o)} }

// Annotate answers a request to index k. The reply owns its memory, so the index may be
// replaced straight afterwards.
func (c *Cloud) Annotate(ctx context.Context, k store.IndexRef, q *cpar.Request) (*cpar.Reply, error) {
	replies, err := c.AnnotateBatch(ctx, k, []*cpar.Request{q})
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// Load loads an active index, unless it is loaded, within a turn.
func (c *Cloud) Load(ctx context.Context, k store.IndexRef, turn func() (done func(), err error)) error {
	if c.Loaded(k) {
		return nil
	}
	// An index that is not there takes no turn.
	if _, err := c.Active(ctx, k); err != nil {
		return err
	}
	done, err := turn()
	if err != nil {
		return err
	}
	defer done()
	defer trace.Enter(ctx, trace.Load)()
	h, err := c.Get(ctx, k)
	if err != nil {
		return err
	}
	h.Release()
	return nil
}

// AnnotateBatch answers requests to index k together. Scans share one read of the index
// (search.Options.AnnotateBatch).
func (c *Cloud) AnnotateBatch(ctx context.Context, k store.IndexRef, requests []*cpar.Request) ([]*cpar.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// A memory map that cannot be read is given up; what is then loaded is checked.
	replies, err := c.annotate(ctx, k, requests)
	if errors.Is(err, store.ErrDamaged) {
		replies, err = c.annotate(ctx, k, requests)
	}
	return replies, err
}

func (c *Cloud) annotate(ctx context.Context, k store.IndexRef, requests []*cpar.Request) ([]*cpar.Reply, error) {
	loaded := trace.Enter(ctx, trace.Load)
	h, err := c.Get(ctx, k)
	loaded()
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, h, requests)
}

// AnnotateShard answers requests to a part of index k, in the state that a manifest of this digest
// describes (store.Store.GetShard).
func (c *Cloud) AnnotateShard(ctx context.Context, k store.IndexRef, version cpar.Digest, p shard.Range, manifest func() (*cpar.Manifest, error), requests []*cpar.Request) ([]*cpar.Reply, error) {
	h, err := c.GetShard(ctx, k, version, p, manifest)
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, h, requests)
}

// answer answers requests to what h holds, and releases it.
func (c *Cloud) answer(ctx context.Context, h *store.Handle[loadedIndex], requests []*cpar.Request) (replies []*cpar.Reply, err error) {
	defer h.Release()
	defer trace.Enter(ctx, trace.Search)()
	err = h.Reading(func() error {
		replies, err = h.Value().annotate(ctx, c.Workers, requests)
		return err
	})
	for _, r := range replies {
		visited, touched := Work(h.Manifest(), r)
		trace.AddWork(ctx, visited, touched)
	}
	return replies, err
}

// ReplyBytes bounds the memory that the replies to requests will take, as they are and
// encoded. It does not load the index.
func (c *Cloud) ReplyBytes(ctx context.Context, k store.IndexRef, requests []*cpar.Request) (int64, error) {
	m, err := c.Active(ctx, k)
	if err != nil {
		return 0, err
	}
	return ReplyBytes(m, requests), nil
}
