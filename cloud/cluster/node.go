package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/shard"
	"cpar/cloud/store"
)

var (
	// errNotReady means that the node is still loading the shard.
	errNotReady = errors.New("the shard is not loaded yet")
	// errOtherVersion means that the requested generation is not loaded, and
	// that another generation is active in the storage.
	errOtherVersion = errors.New("the storage has another generation of the index")
)

type Node struct {
	cloud   *cloud.Cloud
	log     *slog.Logger
	loads   chan struct{}
	running context.Context
	stop    context.CancelFunc
	loading sync.WaitGroup

	mu       sync.Mutex
	attempts map[shardRef]*attempt
	moves    uint64
}

type shardRef struct {
	key     store.IndexRef
	version cpar.Digest
	shard   shard.Range
}

type attempt struct {
	failed error
	at     time.Time
}

const remembered = time.Minute

// NewNode returns a node that loads shards in c. The caller closes c after the
// node.
func NewNode(c *cloud.Cloud, log *slog.Logger) *Node {
	n := &Node{cloud: c, log: log, loads: make(chan struct{}, 2), attempts: map[shardRef]*attempt{}}
	n.running, n.stop = context.WithCancel(context.Background())
	return n
}

func (n *Node) Close() {
	n.stop()
	n.loading.Wait()
}

func (n *Node) answer(ctx context.Context, q *shardQuery) ([]*cpar.Reply, error) {
	switch {
	case !n.cloud.ShardLoaded(q.key, q.version, q.shard):
		if err := n.startLoad(q); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", cpar.ErrCloud, errNotReady)
	case len(q.requests) == 0:
		return nil, n.get(ctx, q) // marks the shard as used, so that it stays loaded
	}
	return n.cloud.AnnotateShard(ctx, q.key, q.version, q.shard, n.manifest(ctx, q), q.requests)
}

// startLoad loads a shard in the background unless this is already happening. If
// loading failed recently, it returns the error once. The next call tries again.
func (n *Node) startLoad(q *shardQuery) error {
	x := shardRef{q.key, q.version, q.shard}
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.attempts, func(_ shardRef, a *attempt) bool { return a.failed != nil && time.Since(a.at) > remembered })
	if a := n.attempts[x]; a != nil {
		if a.failed != nil {
			delete(n.attempts, x)
		}
		return a.failed
	}
	a := new(attempt)
	n.attempts[x] = a
	n.moves++
	some := &shardQuery{key: q.key, version: q.version, shard: q.shard, manifest: q.manifest}
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

func (n *Node) load(q *shardQuery) (err error) {
	select {
	case n.loads <- struct{}{}:
	case <-n.running.Done():
		return fmt.Errorf("loading shard: %w", n.running.Err())
	}
	defer func() { <-n.loads }()
	if err = n.get(n.running, q); err != nil {
		n.log.Warn("loading a shard", "tenant", q.key.Tenant, "index", q.key.Index.String(), "first", q.shard.First, "error", err)
	}
	return err
}

func (n *Node) get(ctx context.Context, q *shardQuery) error {
	h, err := n.cloud.GetShard(ctx, q.key, q.version, q.shard, n.manifest(ctx, q))
	if err == nil {
		h.Release()
	}
	return err
}

// manifest returns a function that finds the manifest of the queried generation
// in the query or in the storage.
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
		m, err := decodeManifest(b, q.key)
		if err == nil {
			err = q.shard.Check(m)
		}
		return m, err
	}
}

func decodeManifest(b []byte, k store.IndexRef) (*cpar.Manifest, error) {
	m, err := cpar.DecodeManifest(b)
	if err == nil && m.ID != k.Index {
		err = fmt.Errorf("%w: the manifest belongs to index %v", cpar.ErrCorrupt, m.ID)
	}
	return m, err
}

type indexVersion struct {
	version  cpar.Digest
	manifest *cpar.Manifest
	shards   []shard.Range
}

func newIndexVersion(b []byte, k store.IndexRef, minShardBytes uint64) (*indexVersion, error) {
	m, err := decodeManifest(b, k)
	if err != nil {
		return nil, err
	}
	return &indexVersion{sha256.Sum256(b), m, shard.Split(m, minShardBytes)}, nil
}
