package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/shard"
	"cpar/cloud/store"
)

var (
	// errNotReady: the node has begun to load the part. Others may have it.
	errNotReady = errors.New("the part is not loaded here yet")
	// errOtherVersion: neither what is loaded nor what the storage has is of the state that was asked.
	errOtherVersion = errors.New("the storage has another state of the index")
)

// A Node has parts of indexes in memory and answers requests to them.
type Node struct {
	cloud *cloud.Cloud
	log   *slog.Logger
	// loads bounds the parts that are loaded at once.
	loads   chan struct{}
	running context.Context // until Close
	stop    context.CancelFunc
	loading sync.WaitGroup

	mu       sync.Mutex
	attempts map[shardRef]*attempt
	moves    uint64
}

// A spot is what is loaded.
type shardRef struct {
	key     store.IndexRef
	version cpar.Digest
	shard   shard.Range
}

// An attempt to load something goes on, or has failed.
type attempt struct {
	failed error
	at     time.Time
}

// remembered is how long it is known why a part could not be loaded.
const remembered = time.Minute

// NewNode makes a node of a cloud, which the caller closes after Close.
func NewNode(c *cloud.Cloud, log *slog.Logger) *Node {
	n := &Node{cloud: c, log: log, loads: make(chan struct{}, 2), attempts: map[shardRef]*attempt{}}
	n.running, n.stop = context.WithCancel(context.Background())
	return n
}

// Close gives up what is being loaded.
func (n *Node) Close() {
	n.stop()
	n.loading.Wait()
}

// answer answers a question.
func (n *Node) answer(ctx context.Context, q *shardQuery) ([]*cpar.Reply, error) {
	switch {
	case !n.cloud.ShardLoaded(q.key, q.version, q.shard):
		if err := n.startLoad(q); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", cpar.ErrCloud, errNotReady)
	case len(q.requests) == 0:
		return nil, n.get(ctx, q) // it is used, so it stays
	}
	return n.cloud.AnnotateShard(ctx, q.key, q.version, q.shard, n.manifest(ctx, q), q.requests)
}

// begin loads a part in the background, once. If that has failed lately, it says why, and begins
// anew when it is asked again.
func (n *Node) startLoad(q *shardQuery) error {
	x := shardRef{q.key, q.version, q.shard}
	n.mu.Lock()
	defer n.mu.Unlock()
	for other, a := range n.attempts {
		if a.failed != nil && time.Since(a.at) > remembered {
			delete(n.attempts, other) // nobody asks for it any more
		}
	}
	if a := n.attempts[x]; a != nil {
		if a.failed != nil {
			delete(n.attempts, x)
		}
		return a.failed
	}
	a := new(attempt)
	n.attempts[x] = a
	n.moves++
	some := &shardQuery{key: q.key, version: q.version, shard: q.shard, manifest: q.manifest} // the requests may go
	n.loading.Go(func() {
		err := n.load(some)
		n.mu.Lock()
		defer n.mu.Unlock()
		if a.failed, a.at = err, time.Now(); err == nil {
			delete(n.attempts, x)
		}
	})
	return nil
}

// load has a part ready, when it is its turn.
func (n *Node) load(q *shardQuery) (err error) {
	select {
	case n.loads <- struct{}{}:
	case <-n.running.Done():
		return fmt.Errorf("loading a part: %w", n.running.Err())
	}
	defer func() { <-n.loads }()
	if err = n.get(n.running, q); err != nil {
		n.log.Warn("loading a part", "tenant", q.key.Tenant, "index", q.key.Index.String(), "first", q.shard.First, "error", err)
	}
	return err
}

// get has a part ready.
func (n *Node) get(ctx context.Context, q *shardQuery) error {
	h, err := n.cloud.GetShard(ctx, q.key, q.version, q.shard, n.manifest(ctx, q))
	if err == nil {
		h.Release()
	}
	return err
}

// manifest is that of the state that a question is about: sent along, before the state is active, or
// the active one. Whoever asks says its digest, and tenant and index are in it or in its place.
func (n *Node) manifest(ctx context.Context, q *shardQuery) func() (*cpar.Manifest, error) {
	return func() (*cpar.Manifest, error) {
		b := q.manifest
		if len(b) == 0 {
			var err error
			if b, err = n.cloud.ManifestBytes(ctx, q.key); err != nil {
				return nil, err
			}
		}
		if sha256.Sum256(b) != q.version {
			return nil, fmt.Errorf("index %v: %w: %w", q.key.Index, cpar.ErrCloud, errOtherVersion)
		}
		m, err := cpar.DecodeManifest(b)
		if err == nil && m.ID != q.key.Index {
			err = fmt.Errorf("%w: the manifest is that of index %v", cpar.ErrCorrupt, m.ID)
		}
		if err == nil {
			err = q.shard.Check(m)
		}
		return m, err
	}
}

// An indexVersion is what is known of the state of an index that is asked.
type indexVersion struct {
	version  cpar.Digest
	manifest *cpar.Manifest
	shards   []shard.Range
}

func newIndexVersion(b []byte, k store.IndexRef, partBytes uint64) (*indexVersion, error) {
	m, err := cpar.DecodeManifest(b)
	if err == nil && m.ID != k.Index {
		err = fmt.Errorf("%w: the manifest is that of index %v", cpar.ErrCorrupt, m.ID)
	}
	if err != nil {
		return nil, err
	}
	return &indexVersion{sha256.Sum256(b), m, shard.Split(m, partBytes)}, nil
}
