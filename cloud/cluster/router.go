package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/placement"
	"cpar/cloud/scatter"
	"cpar/cloud/store"
	"cpar/cloud/trace"
	"cpar/internal/hint"
	"cpar/internal/parallel"
)

// Replicas is the number of nodes that hold a shard.
const Replicas = 2

// A transport sends a query to a node, or returns errNobody if the node is not
// connected.
type transport interface {
	ask(ctx context.Context, node string, q *shardQuery) ([]*cpar.Reply, error)
}

var errNobody = errors.New("the node is not connected")

// A Router answers requests by querying the nodes that hold the shards and
// joining their replies. It keeps only manifests.
type Router struct {
	transport transport
	members   *members
	versions  *versions
	busy      scatter.NodeLoad
	recent    scatter.Latencies

	hedges, retries, cold atomic.Uint64
}

// Load implements api.Annotator. It only finds the manifest, because queries
// make nodes load shards.
func (r *Router) Load(ctx context.Context, k store.IndexRef, _ func() (func(), error)) error {
	_, err := r.versions.last(ctx, k)
	return err
}

func (r *Router) ReplyBytes(ctx context.Context, k store.IndexRef, requests []*cpar.Request) (int64, error) {
	s, err := r.versions.last(ctx, k)
	if err != nil {
		return 0, err
	}
	return 2 * cloud.ReplyBytes(s.manifest, requests), nil // for the shards' replies and the joined replies
}

func (r *Router) Annotate(ctx context.Context, k store.IndexRef, requests []*cpar.Request) ([]*cpar.Reply, error) {
	for again := 0; ; again++ {
		s, err := r.versions.active(ctx, k)
		if err != nil {
			return nil, err
		}
		replies, err := r.searchAll(ctx, k, s, requests)
		if !errors.Is(err, errOtherVersion) || again == 3 {
			return replies, err
		}
		r.versions.forget(k) // another generation has been activated
	}
}

func (r *Router) searchAll(ctx context.Context, k store.IndexRef, s *indexVersion, requests []*cpar.Request) ([]*cpar.Reply, error) {
	defer trace.Enter(ctx, trace.Search)()
	answers, err := r.askShards(ctx, k, s, requests)
	if err != nil {
		return nil, damaged(k, err)
	}
	out := make([]*cpar.Reply, len(requests))
	for i, q := range requests {
		var parts []*cpar.Reply
		for _, replies := range answers {
			parts = append(parts, replies[i])
		}
		if out[i], err = cloud.Join(q, parts); err != nil {
			return nil, damaged(k, err)
		}
		visited, touched := cloud.Work(s.manifest, out[i])
		trace.AddWork(ctx, visited, touched)
	}
	return out, nil
}

// damaged marks corruption found by nodes as store.ErrDamaged, not as damage to
// the request.
func damaged(k store.IndexRef, err error) error {
	if errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrInput) {
		return hint.Add(fmt.Errorf("index %v: %w: %w", k.Index, store.ErrDamaged, err), "push the index again")
	}
	return err
}

type result struct {
	shard   int
	node    string
	replies []*cpar.Reply
	err     error
	took    time.Duration
}

const longest = 30 * time.Second

func (r *Router) askShards(ctx context.Context, k store.IndexRef, s *indexVersion, requests []*cpar.Request) ([][]*cpar.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	deadline, _ := ctx.Deadline()
	q := scatter.New(len(s.shards), func(i int) []string {
		v := r.members.current()
		return r.busy.Order(placement.Candidates(v.stay, v.all, placement.SlotOf(k.Tenant, k.Index, i), Replicas), Replicas, time.Now())
	}, scatter.Options{Hedge: r.recent.Hedge(), Patience: r.recent.Patience(), Pause: 50 * time.Millisecond, Deadline: deadline,
		Slow: func(node string) { r.busy.MarkSlow(node, time.Now()) }})
	defer func() {
		r.recent.Spent(q.Hedges)
		r.hedges.Add(uint64(q.Hedges))
		r.retries.Add(uint64(q.Retries))
	}()
	answers := make([][]*cpar.Reply, len(s.shards))
	results := make(chan result)
	for {
		sends, again := q.Step(time.Now())
		for _, send := range sends {
			go r.send(ctx, send, &shardQuery{key: k, version: s.version, shard: s.shards[send.Shard], requests: requests}, results)
		}
		if done, err := q.Done(); done {
			return answers, err
		}
		select {
		case <-time.After(time.Until(again)):
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return nil, err
			}
		case x := <-results:
			switch {
			case x.err == nil && slices.EqualFunc(x.replies, requests, cloud.Answers):
				if q.Answered(x.shard) {
					answers[x.shard] = x.replies
				}
				r.recent.Add(x.took)
			case errors.Is(x.err, errNotReady):
				r.cold.Add(1)
				q.Failed(x.shard, x.node)
			case x.err == nil || errors.Is(x.err, errNobody):
				q.Failed(x.shard, x.node)
			default:
				q.Refused(x.shard, x.node, x.err)
			}
		}
	}
}

func (r *Router) send(ctx context.Context, to scatter.Send, q *shardQuery, results chan<- result) {
	r.busy.Add(to.Node, 1)
	defer r.busy.Add(to.Node, -1)
	began := time.Now()
	replies, err := r.transport.ask(ctx, to.Node, q)
	select {
	case results <- result{to.Shard, to.Node, replies, err, time.Since(began)}:
	case <-ctx.Done():
	}
}

// waitLoaded asks nodes to load the shards of a generation. It returns when all
// shards are loaded and the set of nodes did not change meanwhile.
func (r *Router) waitLoaded(ctx context.Context, k store.IndexRef, s *indexVersion, manifest []byte) error {
	for {
		nodes, waits := r.members.current(), atomic.Bool{}
		asking, each := errgroup.WithContext(ctx)
		asking.SetLimit(16)
		for i, p := range s.shards {
			asking.Go(func() error {
				q := &shardQuery{key: k, version: s.version, shard: p, manifest: manifest}
				cold, err := r.loadedBy(each, nodes.stay, placement.SlotOf(k.Tenant, k.Index, i), q)
				if cold {
					waits.Store(true)
				}
				return err
			})
		}
		if err := asking.Wait(); err != nil || !waits.Load() && nodes == r.members.current() {
			return err
		}
		if err := parallel.Sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("waiting until nodes have loaded index %v: %w", k.Index, err)
		}
	}
}

// loadedBy asks the nodes that hold a slot to load a shard of the slot (a group
// of shards, see package placement). Result `cold` reports whether a node has
// not loaded the shard yet.
func (r *Router) loadedBy(ctx context.Context, stay *placement.Map, slot placement.Slot, q *shardQuery) (cold bool, err error) {
	nodes := stay.Nodes(slot, Replicas)
	if len(nodes) == 0 {
		return false, fmt.Errorf("index %v: %w: %w: no node is available to hold it", q.key.Index, cpar.ErrStorage, store.ErrAway)
	}
	for _, i := range nodes {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := r.transport.ask(ctx, stay.Name(i), q)
		cancel()
		switch {
		case err == nil:
		case errors.Is(err, errNotReady), errors.Is(err, errNobody), errors.Is(err, context.DeadlineExceeded):
			cold = true
		default:
			return false, err
		}
	}
	return cold, nil
}
