package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/part"
	"cpar/cloud/store"
)

var (
	// errNotReady: the node has begun to load the part. Others may have it.
	errNotReady = errors.New("the part is not loaded here yet")
	// errOtherState: neither what is loaded nor what the storage has is of the state that was asked.
	errOtherState = errors.New("the storage has another state of the index")
)

// A Node has parts of indexes in memory and answers requests to them.
type Node struct {
	cloud *cloud.Cloud
	log   *slog.Logger
	// loads bounds the parts that are loaded at once.
	loads   chan struct{}
	loading sync.WaitGroup
	mu      sync.Mutex
	begun   map[string]error // nil while it is being loaded
}

// NewNode makes a node of a cloud, which the caller closes after Close.
func NewNode(c *cloud.Cloud, log *slog.Logger) *Node {
	return &Node{cloud: c, log: log, loads: make(chan struct{}, 2), begun: map[string]error{}}
}

// Close waits for what is being loaded.
func (n *Node) Close() { n.loading.Wait() }

// answer answers a question.
func (n *Node) answer(ctx context.Context, q *question) ([]*cpar.Reply, error) {
	switch {
	case q.version == (cpar.Digest{}): // one machine, which has it as it is
		return n.cloud.AnnotateBatch(ctx, q.key, q.requests)
	case !n.cloud.PartLoaded(q.key, q.version, q.part):
		if err := n.begin(ctx, q); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", cpar.ErrCloud, errNotReady)
	case len(q.requests) == 0:
		return nil, n.load(ctx, q) // it is used, so it stays
	}
	return n.cloud.AnnotatePart(ctx, q.key, q.version, q.part, n.manifest(ctx, q), q.requests)
}

// begin loads a part in the background, once. If that has failed before, it says why, and begins
// anew when it is asked again.
func (n *Node) begin(ctx context.Context, q *question) error {
	name := fmt.Sprint(q.key, q.version, q.part)
	n.mu.Lock()
	defer n.mu.Unlock()
	if failed, begun := n.begun[name]; begun {
		if failed != nil {
			delete(n.begun, name)
		}
		return failed
	}
	n.begun[name] = nil
	n.loading.Go(func() {
		err := n.load(context.WithoutCancel(ctx), q)
		if err != nil {
			n.log.Warn("loading a part", "tenant", q.key.Tenant, "index", q.key.Index.String(), "first", q.part.First, "error", err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.begun[name] = err; err == nil {
			delete(n.begun, name)
		}
	})
	return nil
}

// load has a part ready.
func (n *Node) load(ctx context.Context, q *question) error {
	select {
	case n.loads <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("loading a part: %w", ctx.Err())
	}
	defer func() { <-n.loads }()
	h, err := n.cloud.GetPart(ctx, q.key, q.version, q.part, n.manifest(ctx, q))
	if err == nil {
		h.Release()
	}
	return err
}

// manifest is that of the state that a question is about: sent along, before the state is active, or
// the active one. Whoever asks says its digest, and tenant and index are in it or in its place.
func (n *Node) manifest(ctx context.Context, q *question) func() (*cpar.Manifest, error) {
	return func() (*cpar.Manifest, error) {
		b := q.manifest
		if len(b) == 0 {
			var err error
			if b, err = n.cloud.ManifestBytes(ctx, q.key); err != nil {
				return nil, err
			}
		}
		if sha256.Sum256(b) != q.version {
			return nil, fmt.Errorf("index %v: %w: %w", q.key.Index, cpar.ErrCloud, errOtherState)
		}
		m, err := cpar.DecodeManifest(b)
		if err == nil && m.ID != q.key.Index {
			err = fmt.Errorf("%w: the manifest is that of index %v", cpar.ErrCorrupt, m.ID)
		}
		if err == nil {
			err = q.part.Check(m)
		}
		return m, err
	}
}

// An indexState is what is known of the state of an index that is asked.
type indexState struct {
	version  cpar.Digest
	manifest *cpar.Manifest
	parts    []part.Part
}

func newState(b []byte, k store.Key, partBytes uint64) (*indexState, error) {
	m, err := cpar.DecodeManifest(b)
	if err == nil && m.ID != k.Index {
		err = fmt.Errorf("%w: the manifest is that of index %v", cpar.ErrCorrupt, m.ID)
	}
	if err != nil {
		return nil, err
	}
	return &indexState{sha256.Sum256(b), m, part.Of(m, partBytes)}, nil
}
