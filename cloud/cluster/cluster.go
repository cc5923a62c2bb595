// Package cluster lets many machines be one cloud. Routers take requests of clients, nodes have parts
// of indexes in memory; a machine may be both. Object storage holds all that must last.
//
//	client ─HTTPS─▶ router ─NATS─▶ node, node, … ─▶ replies of parts, joined ─▶ client
//	                  │              │
//	                  └── object storage: segments, manifests ──┘
//
// Nobody is told what to hold. A node says every two seconds that it lives; whoever knows who lives
// knows where each part belongs (package place). A node that is asked for a part that it does not have
// refuses, and fetches it. Which state of an index is active is a pointer in JetStream, which is set when the
// manifest is in the storage and the nodes have loaded it, and can be made again from the storage.
//
// An answer is whole or there is none, and always of one state: questions name the digest of its manifest.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"sync"
	"time"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/placement"
	"cpar/cloud/store"
	"cpar/internal/hint"
)

// MinShardBytes is how much of an index makes a part, at least: reading it takes a hundred times as long as the
// message that asks for it.
const MinShardBytes = 200 << 20

// holdEvery is how often a node looks at what it is to hold though nothing has changed, at least: what it is not
// to hold any more is unloaded for want of use, and what it is to hold is not, though others are asked.
const holdEvery = 5 * time.Minute

// A Role is what a machine does.
type Role struct{ Router, Node bool }

// ParseRole reads all, router or node.
func ParseRole(name string) (Role, error) {
	for _, r := range []struct {
		name string
		Role
	}{{"all", Role{true, true}}, {"router", Role{Router: true}}, {"node", Role{Node: true}}} {
		if r.name == name {
			return r.Role, nil
		}
	}
	return Role{}, fmt.Errorf("%w: no role %q; there are all, router and node", cpar.ErrInput, name)
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)

// CheckName refuses names that cannot be part of a subject. Those of hosts may have dots.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return hint.Add(fmt.Errorf("%w: a machine of a cluster cannot be called %q", cpar.ErrInput, name), "pass --node-name with up to 63 letters, digits, - and _")
	}
	return nil
}

// A Machine is this machine's share of a cluster.
type Member struct {
	Router *Router
	// node is nil where there is none; me is what it says of itself.
	node *Node
	role Role
	me   Beat

	broker   *broker
	members  *members
	versions *versions
	pointers *kv
	log      *slog.Logger

	stop      context.CancelFunc
	silence   func() // ends the answers of the node, nil where there is none
	running   sync.WaitGroup
	settle    chan struct{} // has one element while who holds what is to be looked at
	mu        sync.Mutex    // guards me and twin
	duplicate uint64        // the life of another machine that has our name, 0 if none is known
}

// Config is what a machine is in a cluster.
type Config struct {
	Options
	Role
	// Name is unique, Rack what may be lost with it.
	Name, Rack string
	// MinShardBytes is MinShardBytes, but for tests.
	MinShardBytes uint64
	// Idle is how long a part stays loaded though nobody asks for it (store.Options).
	Idle time.Duration
}

// Open connects c to the brokers, which must be there. The caller closes c after Close.
func Open(ctx context.Context, c *cloud.Cloud, o Config) (*Member, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b, err := connect(o.Options)
	if err != nil {
		return nil, err
	}
	m := &Member{broker: b, log: o.Log, me: Beat{Node: o.Name, Rack: o.Rack, Life: rand.Uint64()}, role: o.Role, settle: make(chan struct{}, 1)}
	m.members = newMembers(m.scheduleReconcile)
	m.pointers = newKV(b)
	m.versions = newVersions(m.pointers, c, o.MinShardBytes)
	m.Router = &Router{transport: b, members: m.members, versions: m.versions}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := m.begin(ctx, c, o); err != nil {
		m.stop()
		b.close()
		return nil, err
	}
	return m, nil
}

// begin hears of others, and as a node lets them hear.
func (m *Member) begin(ctx context.Context, c *cloud.Cloud, o Config) error {
	if err := m.broker.listen(beatSubject, m.hear); err != nil {
		return err
	}
	if err := m.pointers.wait(ctx); err != nil {
		return err
	}
	m.broker.tell(whoSubject, nil)
	time.Sleep(answerWithin) // who asks us then knows whom to ask
	if o.Node {
		if m.seen() != 0 {
			return hint.Add(fmt.Errorf("%w: another machine of the cluster is called %s", cpar.ErrInput, o.Name), "pass another --node-name, or stop that one")
		}
		if err := m.beNode(ctx, c); err != nil {
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

// answerWithin is how long nodes may take to say that they live.
const answerWithin = 300 * time.Millisecond

// hear takes a beat, which may be that of another machine with our name: parts would be where nobody finds them.
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

// seen is the life of another machine that has our name, 0 if none was heard of.
func (m *Member) seen() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.duplicate
}

func (m *Member) beNode(ctx context.Context, c *cloud.Cloud) error {
	m.node = NewNode(c, m.log)
	stop, err := m.broker.serve(m.me.Node, func(b []byte) []byte {
		ctx, cancel := context.WithTimeout(ctx, longest)
		defer cancel()
		q, err := decodeShardQuery(b)
		if err != nil { // it is not the client's
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

// every calls f at once and then again and again.
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

// beat says that this node lives.
func (m *Member) beat() {
	if m.node == nil {
		return
	}
	m.mu.Lock()
	me := m.me
	m.mu.Unlock()
	me.Shards = m.node.cloud.Stats().Loaded
	b, _ := json.Marshal(me)          // of strings and numbers
	_ = m.members.hear(b, time.Now()) // a node counts itself live, whatever the network does
	m.broker.tell(beatSubject, b)
}

// Drain has this node answer what it holds and take nothing more.
func (m *Member) Drain() {
	m.mu.Lock()
	m.me.Leaving = true
	m.mu.Unlock()
	m.log.Info("leaving: others take over what this node holds")
	m.beat()
}

// look has hold look at who holds what.
func (m *Member) scheduleReconcile() {
	select {
	case m.settle <- struct{}{}:
	default: // it will
	}
}

// hold begins to load what this node is to hold and does not.
func (m *Member) reconcile(ctx context.Context) {
	keys, err := m.pointers.all(ctx)
	if err != nil {
		m.log.Warn("listing indexes", "error", err)
		return // what is asked is loaded then
	}
	for _, k := range keys {
		s, err := m.versions.active(ctx, k)
		if err != nil || ctx.Err() != nil {
			continue
		}
		for i, p := range s.shards {
			if m.holdsSlot(placement.SlotOf(k.Tenant, k.Index, i)) {
				_, _ = m.node.answer(ctx, &shardQuery{key: k, version: s.version, shard: p})
			}
		}
	}
}

// mine reports whether a slot belongs here.
func (m *Member) holdsSlot(s placement.Slot) bool {
	stay := m.members.current().stay
	for _, i := range stay.Nodes(s, Replicas) {
		if stay.Name(i) == m.me.Node {
			return true
		}
	}
	return false
}

// Stats counts since the start; Nodes, Servers and Parts are of now.
type Stats struct {
	// Nodes that live, as far as this machine has heard, and NATS servers that answer.
	Nodes, Servers int
	// Parts that this machine holds, and those that it began to load.
	Shards int
	Moves  uint64
	// What its router sent besides one question a part, and what nodes refused because they were not ready.
	Hedges, Retries, Cold uint64
}

// Stats returns what was counted.
func (m *Member) Stats() Stats {
	r := m.Router
	s := Stats{Nodes: m.members.current().all.Len(), Servers: m.broker.there(), Hedges: r.hedges.Load(), Retries: r.retries.Load(), Cold: r.cold.Load()}
	if m.node != nil {
		s.Shards = m.node.cloud.Stats().Loaded
		m.node.mu.Lock()
		s.Moves = m.node.moves
		m.node.mu.Unlock()
	}
	return s
}

// Close says goodbye, ends what runs and closes the connections.
func (m *Member) Close() {
	if m.node != nil {
		m.mu.Lock()
		m.me.Gone = true
		m.mu.Unlock()
		m.beat()
		m.silence() // what it was asked before is answered
	}
	m.stop()
	if m.node != nil {
		m.node.Close()
	}
	m.running.Wait()
	m.broker.close()
}

// Store is what routers need of a store.Store of any type of value.
type Store interface {
	PutManifestWithoutLoading(ctx context.Context, k store.IndexRef, b []byte, ready func(*cpar.Manifest) error) error
	Delete(ctx context.Context, k store.IndexRef) error
	OpenStored(ctx context.Context, k store.IndexRef, d cpar.Digest) (*store.SegmentReader, error)
	List(ctx context.Context, tenant string) ([]store.Info, error)
	Manifest(ctx context.Context, k store.IndexRef) ([]byte, error)
	Missing(ctx context.Context, k store.IndexRef, m *cpar.Manifest) ([]cpar.Digest, error)
	HasSegment(ctx context.Context, k store.IndexRef, d cpar.Digest) (size int64, ok bool, err error)
	PutSegment(ctx context.Context, k store.IndexRef, d cpar.Digest, size int64, r io.Reader) error
	Usage(ctx context.Context, tenant string) (store.Usage, error)
}

// A Routed is a store whose indexes nodes serve: it implements api.Store.
type Routed struct {
	Store
	router *Router
}

// Routed returns s for routers.
func (m *Member) Routed(s Store) *Routed { return &Routed{s, m.Router} }

// PutManifest activates an index once the nodes that are to hold it have loaded it. Until then, and if
// it fails, the old one is served by all.
func (r *Routed) PutManifest(ctx context.Context, k store.IndexRef, b []byte) error {
	v, marked := r.router.versions, false
	err := r.PutManifestWithoutLoading(ctx, k, b, func(m *cpar.Manifest) error {
		s, err := newIndexVersion(b, k, v.minShardBytes)
		if err == nil {
			err = r.router.waitLoaded(ctx, k, s, b)
		}
		if err == nil {
			err = v.changing(ctx, k)
			marked = err == nil
		}
		return err
	})
	switch {
	case err == nil:
		return v.settled(ctx, k)
	case marked:
		_ = v.settled(ctx, k) // else whoever asks later does it
	}
	return err
}

// Delete removes an index for all, also if an earlier call was stopped in the middle.
func (r *Routed) Delete(ctx context.Context, k store.IndexRef) error {
	v := r.router.versions
	if err := v.changing(ctx, k); err != nil {
		return err
	}
	err := r.Store.Delete(ctx, k)
	if settled := v.settled(ctx, k); err == nil || errors.Is(err, store.ErrNotFound) && settled != nil {
		return settled
	}
	return err
}

// OpenSegment streams a segment from the storage.
func (r *Routed) OpenSegment(ctx context.Context, k store.IndexRef, d cpar.Digest) (*store.SegmentReader, error) {
	return r.OpenStored(ctx, k, d)
}
