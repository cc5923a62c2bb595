package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/hint"
	"cpar/internal/parallel"
)

type Status struct {
	Nodes []Beat `json:"nodes"`
	// Servers is the number of NATS servers that respond.
	Servers int `json:"servers"`
	// Named is the number of configured NATS servers.
	Named int `json:"named_servers"`
	// Indexes is the number of active indexes, or −1 if unknown.
	Indexes int `json:"indexes"`
}

const listening = time.Second

// An Operator inspects and changes a cluster without being a member.
type Operator struct {
	broker   *broker
	members  *members
	pointers *kv
}

func Operate(o Options) (*Operator, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	b, err := connect(o)
	if err != nil {
		return nil, err
	}
	x := &Operator{broker: b, members: newMembers(func() {}), pointers: newKV(b)}
	if err := b.listen(beatSubject, func(b []byte) { _ = x.members.hear(b, time.Now()) }); err != nil {
		b.close()
		return nil, err
	}
	b.tell(whoSubject, nil)
	return x, nil
}

func (x *Operator) Close() { x.broker.close() }

func (x *Operator) Status(ctx context.Context) (*Status, error) {
	if err := parallel.Sleep(ctx, listening); err != nil {
		return nil, err
	}
	s := &Status{Nodes: x.members.list(), Servers: x.broker.connected(), Named: len(x.broker.lines), Indexes: -1}
	if keys, err := x.pointers.all(ctx); err == nil {
		s.Indexes = len(keys)
	}
	return s, nil
}

// Drain stops assigning shards to a node and waits for its confirmation. Other
// nodes take over its shards.
func (x *Operator) Drain(ctx context.Context, node string) error {
	if err := CheckName(node); err != nil {
		return err
	}
	for range 50 {
		x.broker.tell(drainSubject+node, nil)
		if err := parallel.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		for _, b := range x.members.list() {
			if b.Node == node && b.Leaving {
				return nil
			}
		}
	}
	return hint.Add(fmt.Errorf("draining node %s: %w: it is not in the cluster", node, cpar.ErrInput), "cpard cluster status lists the nodes")
}

// Rebuild makes the pointers in JetStream match the active generations in
// storage b and returns the number of active generations. It changes only wrong
// pointers, so it may run at any time.
func (x *Operator) Rebuild(ctx context.Context, b store.Backend) (n int, err error) {
	if err := x.pointers.wait(ctx); err != nil {
		return 0, err
	}
	keys, err := x.pointers.all(ctx)
	if err != nil {
		return 0, fmt.Errorf("listing pointers: %w: %w: %w", cpar.ErrStorage, store.ErrAway, err)
	}
	active, err := store.AllKeys(ctx, b)
	if err != nil {
		return 0, err
	}
	v, seen := newVersions(x.pointers, b.Manifest, MinShardBytes), map[store.IndexRef]bool{}
	for _, k := range append(keys, active...) {
		if seen[k] {
			continue
		}
		seen[k] = true
		if err := v.endChange(ctx, k); err != nil {
			return n, err
		}
		p, err := x.pointers.get(ctx, k, true)
		if err != nil {
			return n, fmt.Errorf("reading a pointer: %w: %w: %w", cpar.ErrStorage, store.ErrAway, err)
		}
		if p.digest != (cpar.Digest{}) { // zero if the index was deleted or never activated
			n++
		}
	}
	return n, nil
}
