package cluster

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/testing/natstest"
)

func connected(t *testing.T, s *natstest.Servers, servers string) *broker {
	t.Helper()
	b, err := connect(Options{Servers: servers, Seed: s.Seed, CA: s.CA, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

func TestClusterReadsItsWrites(t *testing.T) {
	servers := natstest.Start(t, 3)
	all := newKV(connected(t, servers, servers.Addresses()))
	if err := all.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var one []*kv
	for _, address := range strings.Split(servers.Addresses(), ",") {
		one = append(one, newKV(connected(t, servers, address)))
	}
	const pairs, keys = 10_000, 8
	start := time.Now()
	var running sync.WaitGroup
	var mu sync.Mutex
	var again atomic.Int64
	stale, longest := 0, time.Duration(0)
	for key := range keys {
		running.Go(func() {
			k, p := store.IndexRef{Tenant: "0123456789abcdef", Index: cpar.IndexID{byte(key)}}, pointer{}
			for i := range pairs / keys {
				var d cpar.Digest
				binary.LittleEndian.PutUint64(d[:], uint64(i+1))
				from := time.Now()
				was := p.revision
				err := errChanged
				for try := 0; try < races && errors.Is(err, errChanged); try++ {
					// A server sometimes reports a change that did not happen.
					if err = one[(key+i)%3].set(t.Context(), k, pointer{digest: d}, was); errors.Is(err, errChanged) {
						again.Add(1)
						if now, failed := one[(key+i+1)%3].get(t.Context(), k, true); failed != nil || now.digest != p.digest {
							t.Errorf("pair %d of key %d is refused, and written (%v)", i, key, failed)
						}
					}
				}
				if err == nil {
					p, err = one[(key+i+1+i/3%2)%3].get(t.Context(), k, true)
				}
				mu.Lock()
				if err != nil {
					t.Errorf("pair %d of key %d: %v", i, key, err)
				} else if p.digest != d {
					stale++
				}
				longest = max(longest, time.Since(from))
				mu.Unlock()
				if err != nil {
					return
				}
				if i%100 == 0 {
					if err := one[i%3].set(t.Context(), k, pointer{digest: d}, was); !errors.Is(err, errChanged) {
						t.Errorf("writing over an unread revision: %v", err)
					}
				}
			}
		})
	}
	running.Wait()
	if stale != 0 {
		t.Errorf("%d of %d reads are stale", stale, pairs)
	}
	t.Logf("%d pairs with %d keys side by side: %d stale, %d writes tried again, %v, the longest pair %v", pairs, keys, stale, again.Load(), time.Since(start).Round(time.Millisecond), longest.Round(time.Millisecond))

	k := store.IndexRef{Index: cpar.IndexID{200}}
	for round := range 3 {
		for _, next := range []pointer{{changing: true}, {digest: cpar.Digest{7}}, {digest: cpar.Digest{7}, changing: true}, {}} {
			p, err := one[round].get(t.Context(), k, true)
			if err == nil {
				err = one[(round+1)%3].set(t.Context(), k, next, p.revision)
			}
			got, failed := one[(round+2)%3].get(t.Context(), k, true)
			if err != nil || failed != nil || got.digest != next.digest || got.changing != next.changing {
				t.Fatalf("round %d: %+v is read as %+v (%v, %v)", round, next, got, err, failed)
			}
			if age := time.Since(got.since); next.changing && (age < -stopped/2 || age > stopped/2) {
				t.Errorf("a pointer is %v old", age)
			}
		}
	}
	if list, err := one[0].all(t.Context()); err != nil || len(list) != keys {
		t.Errorf("%d keys are listed, %v", len(list), err)
	}
}

func TestClusterConnectionsEnd(t *testing.T) {
	servers := natstest.Start(t, 1)
	before := runtime.NumGoroutine()
	for range 5 {
		b, err := connect(Options{Servers: servers.Addresses(), Seed: servers.Seed, CA: servers.CA, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		stop, err := b.serve("n", func([]byte) []byte { return make([]byte, 3*pieceBytes/2) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.ask(t.Context(), "nobody", &shardQuery{}); !errors.Is(err, errNobody) {
			t.Errorf("nobody answers: %v", err)
		}
		for range 20 {
			if answer, err := b.exchange(t.Context(), b.lines[0], "n", []byte("question")); err != nil || len(answer) != 3*pieceBytes/2 {
				t.Errorf("%d bytes, %v", len(answer), err)
			}
		}
		if n := b.lines[0].NumSubscriptions(); n != 1 {
			t.Errorf("%d subscriptions are left; one is the node's", n)
		}
		stop()
		b.close()
	}
	for range 200 {
		if runtime.NumGoroutine() <= before+2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before it %d", runtime.NumGoroutine(), before)
}
