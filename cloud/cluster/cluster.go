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
	"cpar/cloud/place"
	"cpar/cloud/store"
	"cpar/internal/hint"
)

// PartBytes is how much of an index makes a part, at least: reading it takes a hundred times as long as the
// message that asks for it.
const PartBytes = 200 << 20

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
type Machine struct {
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

	stop    context.CancelFunc
	silence func() // ends the answers of the node, nil where there is none
	running sync.WaitGroup
	settle  chan struct{} // has one element while who holds what is to be looked at
	mu      sync.Mutex    // guards me and twin
	twin    uint64        // the life of another machine that has our name, 0 if none is known
}

// Config is what a machine is in a cluster.
type Config struct {
	Options
	Role
	// Name is unique, Rack what may be lost with it.
	Name, Rack string
	// PartBytes is PartBytes, but for tests.
	PartBytes uint64
	// Idle is how long a part stays loaded though nobody asks for it (store.Options).
	Idle time.Duration
}

// Open connects c to the brokers, which must be there. The caller closes c after Close.
func Open(ctx context.Context, c *cloud.Cloud, o Config) (*Machine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b, err := connect(o.Options)
	if err != nil {
		return nil, err
	}
	m := &Machine{broker: b, log: o.Log, me: Beat{Node: o.Name, Rack: o.Rack, Life: rand.Uint64()}, role: o.Role, settle: make(chan struct{}, 1)}
	m.members = newMembers(m.look)
	m.pointers = newKV(b)
	m.versions = newVersions(m.pointers, c, o.PartBytes)
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
func (m *Machine) begin(ctx context.Context, c *cloud.Cloud, o Config) error {
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
	m.running.Go(func() { every(ctx, min(holdEvery, max(o.Idle/3, time.Second)), m.look) })
	return nil
}

// answerWithin is how long nodes may take to say that they live.
const answerWithin = 300 * time.Millisecond

// hear takes a beat, which may be that of another machine with our name: parts would be where nobody finds them.
func (m *Machine) hear(b []byte) {
	beat := m.members.hear(b, time.Now())
	if beat.Node != m.me.Node || beat.Life == m.me.Life || beat.Gone {
		return
	}
	m.mu.Lock()
	known := m.twin == beat.Life
	m.twin = beat.Life
	m.mu.Unlock()
	if m.role.Node && !known {
		m.log.Error("another machine of the cluster has the name of this one; stop one of them", "node", m.me.Node)
	}
}

// seen is the life of another machine that has our name, 0 if none was heard of.
func (m *Machine) seen() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.twin
}

func (m *Machine) beNode(ctx context.Context, c *cloud.Cloud) error {
	m.node = NewNode(c, m.log)
	stop, err := m.broker.serve(m.me.Node, func(b []byte) []byte {
		ctx, cancel := context.WithTimeout(ctx, longest)
		defer cancel()
		q, err := decodeQuestion(b)
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
				m.hold(ctx)
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
func (m *Machine) beat() {
	if m.node == nil {
		return
	}
	m.mu.Lock()
	me := m.me
	m.mu.Unlock()
	me.Parts = m.node.cloud.Stats().Loaded
	b, _ := json.Marshal(me)          // of strings and numbers
	_ = m.members.hear(b, time.Now()) // a node counts itself live, whatever the network does
	m.broker.tell(beatSubject, b)
}

// Drain has this node answer what it holds and take nothing more.
func (m *Machine) Drain() {
	m.mu.Lock()
	m.me.Leaving = true
	m.mu.Unlock()
	m.log.Info("leaving: others take over what this node holds")
	m.beat()
}

// look has hold look at who holds what.
func (m *Machine) look() {
	select {
	case m.settle <- struct{}{}:
	default: // it will
	}
}

// hold begins to load what this node is to hold and does not.
func (m *Machine) hold(ctx context.Context) {
	keys, err := m.pointers.all(ctx)
	if err != nil {
		m.log.Warn("listing indexes", "error", err)
		return // what is asked is loaded then
	}
	for _, k := range keys {
		s, err := m.versions.state(ctx, k)
		if err != nil || ctx.Err() != nil {
			continue
		}
		for i, p := range s.parts {
			if m.mine(place.Of(k.Tenant, k.Index, i)) {
				_, _ = m.node.answer(ctx, &question{key: k, version: s.version, part: p})
			}
		}
	}
}

// mine reports whether a slot belongs here.
func (m *Machine) mine(s place.Slot) bool {
	stay := m.members.now().stay
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
	Parts int
	Moves uint64
	// What its router sent besides one question a part, and what nodes refused because they were not ready.
	Hedges, Retries, Cold uint64
}

// Stats returns what was counted.
func (m *Machine) Stats() Stats {
	r := m.Router
	s := Stats{Nodes: m.members.now().all.Len(), Servers: m.broker.there(), Hedges: r.hedges.Load(), Retries: r.retries.Load(), Cold: r.cold.Load()}
	if m.node != nil {
		s.Parts = m.node.cloud.Stats().Loaded
		m.node.mu.Lock()
		s.Moves = m.node.moves
		m.node.mu.Unlock()
	}
	return s
}

// Close says goodbye, ends what runs and closes the connections.
func (m *Machine) Close() {
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
	PutManifestElsewhere(ctx context.Context, k store.Key, b []byte, ready func(*cpar.Manifest) error) error
	Delete(ctx context.Context, k store.Key) error
	OpenStored(ctx context.Context, k store.Key, d cpar.Digest) (*store.SegmentReader, error)
	List(ctx context.Context, tenant string) ([]store.Info, error)
	Manifest(ctx context.Context, k store.Key) ([]byte, error)
	Missing(ctx context.Context, k store.Key, m *cpar.Manifest) ([]cpar.Digest, error)
	HasSegment(ctx context.Context, k store.Key, d cpar.Digest) (size int64, ok bool, err error)
	PutSegment(ctx context.Context, k store.Key, d cpar.Digest, size int64, r io.Reader) error
	Usage(ctx context.Context, tenant string) (store.Usage, error)
}

// A Routed is a store whose indexes nodes serve: it implements api.Store.
type Routed struct {
	Store
	router *Router
}

// Routed returns s for routers.
func (m *Machine) Routed(s Store) *Routed { return &Routed{s, m.Router} }

// PutManifest activates an index once the nodes that are to hold it have loaded it. Until then, and if
// it fails, the old one is served by all.
func (r *Routed) PutManifest(ctx context.Context, k store.Key, b []byte) error {
	v, marked := r.router.versions, false
	err := r.PutManifestElsewhere(ctx, k, b, func(m *cpar.Manifest) error {
		s, err := newState(b, k, v.partBytes)
		if err == nil {
			err = r.router.ready(ctx, k, s, b)
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
func (r *Routed) Delete(ctx context.Context, k store.Key) error {
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
func (r *Routed) OpenSegment(ctx context.Context, k store.Key, d cpar.Digest) (*store.SegmentReader, error) {
	return r.OpenStored(ctx, k, d)
}
