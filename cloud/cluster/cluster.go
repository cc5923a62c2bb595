// Package cluster spreads a server over several machines. Routers take requests
// from clients, and nodes hold shards (parts) of indexes in memory. A machine
// may be both. Object storage holds all durable data.
//
//	client ─HTTPS─▶ router ─NATS─▶ node, node, … ─▶ replies of shards, joined ─▶ client
//	                  │              │
//	                  └── object storage: segments, manifests ──┘
//
// Each node sends a heartbeat every two seconds. The set of live nodes
// determines the nodes for each shard (package placement). If a node gets a
// request for a shard that is not loaded, it refuses and starts to load the
// shard. A pointer (an entry in NATS JetStream) names the active generation
// (version) of an index. It is set after the nodes have loaded the shards and
// the storage has the manifest. Pointers can be rebuilt from the storage.
//
// A reply is always complete and from a single generation, because requests to
// nodes contain the digest of the generation's manifest.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"time"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/placement"
	"cpar/cloud/store"
	"cpar/internal/hint"
)

// MinShardBytes is the minimum size of a shard. Reading a shard of this size
// takes a hundred times as long as the message that requests it.
const MinShardBytes = 200 << 20

// holdEvery is the longest interval between two reconciliations. A
// reconciliation loads the shards assigned to this node, and marks them as used
// so that they stay loaded while other replicas serve all queries.
const holdEvery = 5 * time.Minute

type Role struct{ Router, Node bool }

func ParseRole(name string) (Role, error) {
	for _, r := range []struct {
		name string
		Role
	}{{"all", Role{true, true}}, {"router", Role{Router: true}}, {"node", Role{Node: true}}} {
		if r.name == name {
			return r.Role, nil
		}
	}
	return Role{}, fmt.Errorf("%w: no role %q; use all, router or node", cpar.ErrInput, name)
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)

// CheckName returns an error for names that cannot be part of a NATS subject,
// such as names with dots.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return hint.Add(fmt.Errorf("%w: a machine of a cluster cannot be called %q", cpar.ErrInput, name), "pass --node-name with up to 63 letters, digits, - and _")
	}
	return nil
}

// A Member is this machine's part in a cluster.
type Member struct {
	Router *Router
	node   *Node // nil on a machine that is only a router
	role   Role
	me     Beat // the node's next heartbeat

	broker   *broker
	members  *members
	versions *versions
	pointers *kv
	log      *slog.Logger

	stop      context.CancelFunc
	silence   func() // stops answering queries; nil if node is nil
	running   sync.WaitGroup
	settle    chan struct{} // has one element while a reconciliation is due
	mu        sync.Mutex    // guards me and duplicate
	duplicate uint64        // Beat.Life of another machine with the same name, or 0
}

type Config struct {
	Options
	Role
	// Name is unique in the cluster.
	Name string
	// Rack is the same for machines that may fail together.
	Rack string
	// MinShardBytes is the constant MinShardBytes, or a smaller value in tests.
	MinShardBytes uint64
	// Idle is the time for which an unused shard stays loaded (store.Options).
	Idle time.Duration
}

// Open connects c to the NATS servers. At least one must be running. The caller
// closes c after the Member.
func Open(ctx context.Context, c *cloud.Cloud, o Config) (*Member, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	b, err := connect(o.Options)
	if err != nil {
		return nil, err
	}
	m := &Member{broker: b, log: o.Log, me: Beat{Node: o.Name, Rack: o.Rack, Life: rand.Uint64()}, role: o.Role, settle: make(chan struct{}, 1)}
	m.members = newMembers(m.scheduleReconcile)
	m.pointers = newKV(b)
	m.versions = newVersions(m.pointers, c.ManifestBytes, o.MinShardBytes)
	m.Router = &Router{transport: b, members: m.members, versions: m.versions}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := m.begin(ctx, c, o); err != nil {
		m.stop()
		b.close()
		return nil, err
	}
	return m, nil
}

func (m *Member) begin(ctx context.Context, c *cloud.Cloud, o Config) error {
	if err := m.broker.listen(beatSubject, m.hear); err != nil {
		return err
	}
	if err := m.pointers.wait(ctx); err != nil {
		return err
	}
	m.broker.tell(whoSubject, nil)
	time.Sleep(answerWithin) // wait for heartbeats, so that first requests find live nodes
	if o.Node {
		m.mu.Lock()
		taken := m.duplicate != 0
		m.mu.Unlock()
		if taken {
			return hint.Add(fmt.Errorf("%w: another machine of the cluster is called %s", cpar.ErrInput, o.Name), "pass another --node-name, or stop that one")
		}
		if err := m.startNode(ctx, c); err != nil {
			return err
		}
	}
	m.running.Go(func() {
		every(ctx, beatEvery, func() {
			m.members.expire(time.Now())
			m.beat()
		})
	})
	m.running.Go(func() { every(ctx, min(holdEvery, max(o.Idle/3, time.Second)), m.scheduleReconcile) })
	return nil
}

const answerWithin = 300 * time.Millisecond

// hear records a heartbeat and detects another machine with the same name.
func (m *Member) hear(b []byte) {
	beat := m.members.hear(b, time.Now())
	if beat.Node != m.me.Node || beat.Life == m.me.Life || beat.Gone {
		return
	}
	m.mu.Lock()
	known := m.duplicate == beat.Life
	m.duplicate = beat.Life
	m.mu.Unlock()
	if m.role.Node && !known {
		m.log.Error("another machine of the cluster has the name of this one; stop one of them", "node", m.me.Node)
	}
}

func (m *Member) startNode(ctx context.Context, c *cloud.Cloud) error {
	m.node = NewNode(c, m.log)
	stop, err := m.broker.serve(m.me.Node, func(b []byte) []byte {
		ctx, cancel := context.WithTimeout(ctx, longest)
		defer cancel()
		q, err := decodeShardQuery(b)
		if err != nil {
			return encodeAnswer(nil, fmt.Errorf("%w: %w: %v", cpar.ErrStorage, store.ErrAway, err))
		}
		return encodeAnswer(m.node.answer(ctx, q))
	})
	if err != nil {
		return err
	}
	m.silence = stop
	if err := m.broker.listen(whoSubject, func([]byte) { m.beat() }); err != nil {
		return err
	}
	if err := m.broker.listen(drainSubject+m.me.Node, func([]byte) { m.Drain() }); err != nil {
		return err
	}
	m.beat()
	m.running.Go(func() {
		for {
			select {
			case <-m.settle:
				m.reconcile(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

func every(ctx context.Context, d time.Duration, f func()) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		f()
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

func (m *Member) beat() {
	if m.node == nil {
		return
	}
	m.mu.Lock()
	me := m.me
	m.mu.Unlock()
	me.Shards = m.node.cloud.Stats().Loaded
	b, _ := json.Marshal(me)          // cannot fail for strings and numbers
	_ = m.members.hear(b, time.Now()) // a node counts itself as live even without a network
	m.broker.tell(beatSubject, b)
}

// Drain makes the node take no new shards. It still serves loaded shards.
func (m *Member) Drain() {
	m.mu.Lock()
	m.me.Leaving = true
	m.mu.Unlock()
	m.log.Info("leaving: other nodes take over the shards of this node")
	m.beat()
}

func (m *Member) scheduleReconcile() {
	select {
	case m.settle <- struct{}{}:
	default:
	}
}

func (m *Member) reconcile(ctx context.Context) {
	keys, err := m.pointers.all(ctx)
	if err != nil {
		m.log.Warn("listing indexes", "error", err)
		return // requests will load the shards
	}
	for _, k := range keys {
		s, err := m.versions.active(ctx, k)
		if err != nil || ctx.Err() != nil {
			continue
		}
		for i, p := range s.shards {
			stay := m.members.current().stay
			nodes := stay.Nodes(placement.SlotOf(k.Tenant, k.Index, i), Replicas)
			if slices.ContainsFunc(nodes, func(i int) bool { return stay.Name(i) == m.me.Node }) {
				_, _ = m.node.answer(ctx, &shardQuery{key: k, version: s.version, shard: p})
			}
		}
	}
}

type Stats struct {
	Nodes   int    // live nodes known to this machine
	Servers int    // NATS servers that respond
	Shards  int    // shards loaded on this machine
	Moves   uint64 // shards that this node began to load
	Hedges  uint64 // requests to a second node because the first was slow
	Retries uint64 // requests to another node because the first failed
	Cold    uint64 // refusals by nodes that had not loaded the shard
}

func (m *Member) Stats() Stats {
	r := m.Router
	s := Stats{Nodes: m.members.current().all.Len(), Servers: m.broker.connected(), Hedges: r.hedges.Load(), Retries: r.retries.Load(), Cold: r.cold.Load()}
	if m.node != nil {
		s.Shards = m.node.cloud.Stats().Loaded
		m.node.mu.Lock()
		s.Moves = m.node.moves
		m.node.mu.Unlock()
	}
	return s
}

// Close announces that the node leaves, and stops all work.
func (m *Member) Close() {
	if m.node != nil {
		m.mu.Lock()
		m.me.Gone = true
		m.mu.Unlock()
		m.beat()
		m.silence() // waits for running queries
	}
	m.stop()
	if m.node != nil {
		m.node.Close()
	}
	m.running.Wait()
	m.broker.close()
}

// A Routed is the store of a router, over object storage. It implements
// api.Store.
type Routed struct {
	*cloud.Cloud
	router *Router
}

func (m *Member) Routed(c *cloud.Cloud) *Routed { return &Routed{c, m.Router} }

// PutManifest activates an index after the assigned nodes have loaded it. Until
// then, and on failure, all nodes serve the old generation.
func (r *Routed) PutManifest(ctx context.Context, k store.IndexRef, b []byte) error {
	v, marked := r.router.versions, false
	err := r.PutManifestWithoutLoading(ctx, k, b, func(m *cpar.Manifest) error {
		s, err := newIndexVersion(b, k, v.minShardBytes)
		if err == nil {
			err = r.router.waitLoaded(ctx, k, s, b)
		}
		if err == nil {
			err = v.beginChange(ctx, k)
			marked = err == nil
		}
		return err
	})
	switch {
	case err == nil:
		return v.endChange(ctx, k)
	case marked:
		_ = v.endChange(ctx, k) // if this fails, a later request repairs the pointer
	}
	return err
}

// Delete removes an index for all machines. It also completes an interrupted
// deletion.
func (r *Routed) Delete(ctx context.Context, k store.IndexRef) error {
	v := r.router.versions
	if err := v.beginChange(ctx, k); err != nil {
		return err
	}
	err := r.Cloud.Delete(ctx, k)
	if failed := v.endChange(ctx, k); err == nil || errors.Is(err, store.ErrNotFound) && failed != nil {
		return failed
	}
	return err
}

func (r *Routed) OpenSegment(ctx context.Context, k store.IndexRef, d cpar.Digest) (*store.SegmentReader, error) {
	return r.OpenStored(ctx, k, d)
}
