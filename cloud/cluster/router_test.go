package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/scatter"
	"cpar/cloud/shard"
	"cpar/cloud/store"
)

func TestRouterAnswersAsOneMachine(t *testing.T) {
	for name, x := range map[string]*index{"capia": scanned(1, 1, 4), "cpar": forested(t, 2), "sealed": sealedIndex(t, 3)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := x.want(t)
			for _, nodes := range []int{1, 2, 4} {
				f := newFleet(t, nodes)
				r, c := f.router()
				k := store.IndexRef{Tenant: "0123456789abcdef", Index: x.m.ID}
				if err := x.push(t, c, k, r.PutManifest); err != nil {
					t.Fatal(err)
				}
				f.held(k, x)
				f.check(r, k, x, want, "at once")
				other, _ := f.router()
				f.check(other, k, x, want, "another router")
				if cold := r.router.cold.Load() + other.router.cold.Load(); cold != 0 {
					t.Errorf("%d nodes: %d queries reached nodes that were not ready", nodes, cold)
				}
				if c.Stats().Loaded != 0 {
					t.Error("the router has loaded the index itself")
				}
			}
		})
	}
}

func TestRepliesSurviveFailingNode(t *testing.T) {
	x := scanned(1, 1, 3)
	want, k := x.want(t), store.IndexRef{Index: cpar.IndexID{1}}
	stranger := &cpar.Reply{Index: cpar.IndexID{9}}
	for name, meet := range map[string]func(q *shardQuery) ([]*cpar.Reply, error, bool){
		"is not there":             func(*shardQuery) ([]*cpar.Reply, error, bool) { return nil, errNobody, true },
		"is cold":                  func(*shardQuery) ([]*cpar.Reply, error, bool) { return nil, errNotReady, true },
		"is damaged":               func(*shardQuery) ([]*cpar.Reply, error, bool) { return nil, cpar.ErrCorrupt, true },
		"has no storage":           func(*shardQuery) ([]*cpar.Reply, error, bool) { return nil, store.ErrAway, true },
		"replies nothing":          func(*shardQuery) ([]*cpar.Reply, error, bool) { return nil, nil, true },
		"replies too little":       func(*shardQuery) ([]*cpar.Reply, error, bool) { return []*cpar.Reply{{Index: x.m.ID}}, nil, true },
		"replies of another index": func(q *shardQuery) ([]*cpar.Reply, error, bool) { return repeat(stranger, len(q.requests)), nil, true },
		"replies of another scheme": func(q *shardQuery) ([]*cpar.Reply, error, bool) {
			return repeat(&cpar.Reply{Index: x.m.ID, Opaque: []byte("opaque")}, len(q.requests)), nil, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3)
			r, c := f.router()
			if err := x.push(t, c, k, r.PutManifest); err != nil {
				t.Fatal(err)
			}
			met := 0
			f.meet = func(node string, q *shardQuery) ([]*cpar.Reply, error, bool) {
				if node != "n1" {
					return nil, nil, false
				}
				f.mu.Lock()
				met++
				f.mu.Unlock()
				return meet(q)
			}
			for range 5 {
				f.check(r, k, x, want, name)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if met == 0 || r.router.retries.Load() == 0 {
				t.Errorf("it was asked %d times, and others instead %d times", met, r.router.retries.Load())
			}
		})
	}
}

func repeat(r *cpar.Reply, n int) (out []*cpar.Reply) {
	for range n {
		out = append(out, r)
	}
	return out
}

// A silent node costs only the wait for a hedge.
func TestRepliesSurviveDeadNodes(t *testing.T) {
	f, x, k := newFleet(t, 3), scanned(1, 1, 3), store.IndexRef{Index: cpar.IndexID{1}}
	want := x.want(t)
	r, c := f.router()
	if err := x.push(t, c, k, r.PutManifest); err != nil {
		t.Fatal(err)
	}
	hang := make(chan struct{})
	f.meet = func(node string, _ *shardQuery) ([]*cpar.Reply, error, bool) {
		if node == "n2" {
			<-hang
			return nil, errNobody, true
		}
		return nil, nil, false
	}
	for range 4 {
		f.check(r, k, x, want, "n2 stands still")
	}
	if r.router.hedges.Load()+r.router.retries.Load() == 0 {
		t.Error("no other node was asked")
	}
	close(hang)
	f.mu.Lock()
	f.meet = nil
	f.mu.Unlock()
	f.join("n2")
	f.check(r, k, x, want, "n2 is back")
	for name := range f.nodes {
		delete(f.nodes, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := r.router.Annotate(ctx, k, x.requests); !errors.Is(err, scatter.ErrIncomplete) {
		t.Errorf("without live nodes: %v", err)
	}
}

func TestBadRequestsEndAtOnce(t *testing.T) {
	f, x, k := newFleet(t, 4), scanned(1, 1, 3), store.IndexRef{Index: cpar.IndexID{1}}
	r, c := f.router()
	if err := x.push(t, c, k, r.PutManifest); err != nil {
		t.Fatal(err)
	}
	bad := *x.requests[0]
	bad.Vector = []uint64{1, 2}
	f.asked = 0
	_, err := r.router.Annotate(t.Context(), k, []*cpar.Request{x.requests[0], &bad})
	if !errors.Is(err, cpar.ErrInput) || errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "2") {
		t.Errorf("a bad request: %v", err)
	}
	time.Sleep(50 * time.Millisecond)
	f.mu.Lock()
	asked := f.asked
	f.mu.Unlock()
	if asked > 3 {
		t.Errorf("%d queries were sent for it", asked)
	}
	if _, err := r.router.Annotate(t.Context(), store.IndexRef{Tenant: "0123456789abcdef", Index: x.m.ID}, x.requests[:1]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another tenant's: %v", err)
	}
	if _, err := r.router.Annotate(t.Context(), store.IndexRef{Index: cpar.IndexID{77}}, x.requests[:1]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a missing index: %v", err)
	}
}

func TestNodeRefusesForeignManifests(t *testing.T) {
	f, x, k := newFleet(t, 1), scanned(1, 1, 3), store.IndexRef{Tenant: "0123456789abcdef", Index: cpar.IndexID{1}}
	r, c := f.router()
	if err := x.push(t, c, k, r.PutManifest); err != nil {
		t.Fatal(err)
	}
	x.upload(t, c, store.IndexRef{Tenant: k.Tenant, Index: cpar.IndexID{2}})
	n := f.join("other")
	version := cpar.Digest(sha256.Sum256(x.manifest(t)))
	for name, q := range map[string]*shardQuery{
		"another digest":              {key: k, version: cpar.Digest{1}, shard: shard.Range{First: 0, Last: 1}},
		"no digest":                   {key: k},
		"another tenant":              {key: store.IndexRef{Tenant: "fedcba9876543210", Index: x.m.ID}, version: version, shard: shard.Range{First: 0, Last: 1}},
		"another tenant, all is sent": {key: store.IndexRef{Tenant: "fedcba9876543210", Index: x.m.ID}, version: version, shard: shard.Range{First: 0, Last: 1}, manifest: x.manifest(t)},
		"no tenant":                   {key: store.IndexRef{Index: x.m.ID}, version: version, shard: shard.Range{First: 0, Last: 1}},
		"another index":               {key: store.IndexRef{Tenant: k.Tenant, Index: cpar.IndexID{2}}, version: version, manifest: x.manifest(t)},
		"another manifest":            {key: k, version: version, manifest: scanned(1, 2, 3).manifest(t)},
		"a part that is not there":    {key: k, version: version, shard: shard.Range{First: 2, Last: 4}},
	} {
		q.requests = x.requests
		err := errNotReady
		for range 500 {
			if _, err = n.answer(t.Context(), q); !errors.Is(err, errNotReady) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err == nil || errors.Is(err, errNotReady) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := n.cloud.Stats().Loaded; got != 0 {
		t.Errorf("it has loaded %d shards", got)
	}
}

func TestActivationWaitsForNodes(t *testing.T) {
	f, old, next, k := newFleet(t, 2), scanned(1, 1, 4), scanned(1, 2, 4), store.IndexRef{Index: cpar.IndexID{1}}
	r, c := f.router()
	other, _ := f.router()
	if err := old.push(t, c, k, r.PutManifest); err != nil {
		t.Fatal(err)
	}
	f.check(other, k, old, old.want(t), "before")

	next.upload(t, c, k)
	f.meet = func(string, *shardQuery) ([]*cpar.Reply, error, bool) { return nil, store.ErrNoRoom, true }
	if err := r.PutManifest(t.Context(), k, next.manifest(t)); !errors.Is(err, store.ErrNoRoom) {
		t.Errorf("a node has no room: %v", err)
	}
	f.meet = nil
	f.check(other, k, old, old.want(t), "after an activation that failed")

	came := false
	s, err := newIndexVersion(next.manifest(t), k, 1)
	if err != nil {
		t.Fatal(err)
	}
	f.meet = func(string, *shardQuery) ([]*cpar.Reply, error, bool) {
		f.mu.Lock()
		first := !came
		for _, n := range f.nodes {
			for _, p := range s.shards {
				first = first && n.cloud.ShardLoaded(k, s.version, p)
			}
		}
		came = came || first
		f.mu.Unlock()
		if first {
			f.join("late0")
			f.join("late1")
		}
		return nil, nil, false
	}
	if err := r.PutManifest(t.Context(), k, next.manifest(t)); err != nil {
		t.Fatal(err)
	}
	f.held(k, next)
	f.check(other, k, next, next.want(t), "after it")

	broken := scanned(1, 3, 4)
	broken.upload(t, c, k)
	if err := c.Delete(t.Context(), store.IndexRef{Index: cpar.IndexID{1}}); err != nil {
		t.Fatal(err)
	}
	if err := r.PutManifest(t.Context(), k, broken.manifest(t)); !errors.Is(err, store.ErrIncomplete) {
		t.Errorf("segments are missing: %v", err)
	}
}

func TestReplacedShardsAreUnloaded(t *testing.T) {
	f, k := newFleet(t, 0), store.IndexRef{Index: cpar.IndexID{1}}
	n := NewNode(f.cloud(store.Options{Idle: 300 * time.Millisecond, ScrubRate: -1}), slog.New(slog.DiscardHandler))
	f.t.Cleanup(n.Close)
	f.nodes["n"] = n
	f.beat(Beat{Node: "n"})
	stop := n.cloud.Maintain(t.Context())
	defer stop()
	r, c := f.router()
	for seed := range uint64(4) {
		if err := scanned(1, seed, 3).push(t, c, k, r.PutManifest); err != nil {
			t.Fatal(err)
		}
	}
	x := scanned(1, 3, 3)
	want, until := x.want(t), time.Now().Add(10*time.Second)
	for n.cloud.Stats().Loaded != 3 {
		if time.Now().After(until) {
			t.Fatalf("%d shards are loaded; want 3", n.cloud.Stats().Loaded)
		}
		f.check(r, k, x, want, "while the others go")
		time.Sleep(20 * time.Millisecond)
	}
}

func TestFailuresAreForgotten(t *testing.T) {
	f := newFleet(t, 1)
	n := f.nodes["n0"]
	for i := range 50 {
		q := &shardQuery{key: store.IndexRef{Index: cpar.IndexID{byte(i)}}, version: cpar.Digest{1}, shard: shard.Range{First: 0, Last: 1}}
		if _, err := n.answer(t.Context(), q); !errors.Is(err, errNotReady) {
			t.Fatal(err)
		}
	}
	n.loading.Wait()
	n.mu.Lock()
	for _, a := range n.attempts {
		a.at = a.at.Add(-2 * remembered)
	}
	n.mu.Unlock()
	q := &shardQuery{key: store.IndexRef{Index: cpar.IndexID{200}}, version: cpar.Digest{1}, shard: shard.Range{First: 0, Last: 1}}
	for _, want := range []error{errNotReady, store.ErrNotFound, errNotReady, store.ErrNotFound} {
		if _, err := n.answer(t.Context(), q); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		n.loading.Wait()
	}
	if left := len(n.attempts); left > 1 {
		t.Errorf("%d failures are kept", left)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	f, x, k := newFleet(t, 3), scanned(1, 1, 3), store.IndexRef{Index: cpar.IndexID{1}}
	r, c := f.router()
	if err := x.push(t, c, k, r.PutManifest); err != nil {
		t.Fatal(err)
	}
	var slow atomic.Int64
	f.meet = func(node string, _ *shardQuery) ([]*cpar.Reply, error, bool) {
		if slow.Add(1)%3 == 0 {
			time.Sleep(30 * time.Millisecond)
		}
		return nil, errNotReady, slow.Load()%5 == 0
	}
	before := runtime.NumGoroutine()
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, _ = r.router.Annotate(ctx, k, x.requests)
		cancel()
	}
	for range 100 {
		if runtime.NumGoroutine() <= before+2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before it %d", runtime.NumGoroutine(), before)
}
