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
	// Workers is the number of goroutines that compute one batch of requests.
	// The default is the number of cores. Set it before the first request.
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

// Over returns a Cloud for the indexes of b. Closing the Cloud closes b.
func Over(b store.Backend, o store.Options) *Cloud { return &Cloud{Store: store.New(b, load, o)} }

// Load implements api.Annotator.
func (c *Cloud) Load(ctx context.Context, k store.IndexRef, turn func() (done func(), err error)) error {
	if c.Loaded(k) {
		return nil
	}
	// Check first that the index exists, so that a missing index takes no turn.
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

// Annotate answers requests to index k together. Requests that scan the whole
// index share one read of its rows. Replies own their memory, so they stay valid
// when the index is replaced.
func (c *Cloud) Annotate(ctx context.Context, k store.IndexRef, requests []*cpar.Request) ([]*cpar.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Retry once, because the store unloads an index whose memory map fails.
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

// AnnotateShard answers requests to shard p of one generation of index k.
// `version` is the digest of that generation's manifest.
func (c *Cloud) AnnotateShard(ctx context.Context, k store.IndexRef, version cpar.Digest, p shard.Range, manifest func() (*cpar.Manifest, error), requests []*cpar.Request) ([]*cpar.Reply, error) {
	h, err := c.GetShard(ctx, k, version, p, manifest)
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, h, requests)
}

func (c *Cloud) answer(ctx context.Context, h *store.Handle[loadedIndex], requests []*cpar.Request) (replies []*cpar.Reply, err error) {
	defer h.Release()
	defer trace.Enter(ctx, trace.Search)()
	err = h.Reading(func() error {
		replies, err = h.Value()(ctx, c.Workers, requests)
		return err
	})
	for _, r := range replies {
		visited, touched := Work(h.Manifest(), r)
		trace.AddWork(ctx, visited, touched)
	}
	return replies, err
}

// ReplyBytes implements api.Annotator without loading the index.
func (c *Cloud) ReplyBytes(ctx context.Context, k store.IndexRef, requests []*cpar.Request) (int64, error) {
	m, err := c.Active(ctx, k)
	if err != nil {
		return 0, err
	}
	return ReplyBytes(m, requests), nil
}
