package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A clientele is a group of clients that each request one turn after another.
type clientele struct {
	tenant  string
	class   Class
	clients int
	weight  int64
	most    int64
	each    time.Duration
}

func serve(t *testing.T, l Limits, all ...clientele) []time.Duration {
	t.Helper()
	mean := make([]time.Duration, len(all))
	synctest.Test(t, func(t *testing.T) {
		g := New(l)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		var served [8]atomic.Int64
		for i, c := range all {
			for range c.clients {
				wg.Go(func() {
					for ctx.Err() == nil {
						if err := c.ask(ctx, g); err != nil && ctx.Err() == nil {
							t.Errorf("%s: %v", c.tenant, err)
							return
						}
						served[i].Add(1)
					}
				})
			}
		}
		wg.Wait()
		for i, c := range all {
			mean[i] = time.Minute * time.Duration(c.clients) / time.Duration(served[i].Load())
		}
		atRest(t, g)
	})
	return mean
}

func (c clientele) ask(ctx context.Context, g *Gate) error {
	turn, err := g.QueueTurn(c.tenant, c.class, c.weight, c.most)
	if err != nil {
		return err
	}
	defer turn.Done()
	for left := c.weight; ; {
		if err := turn.Wait(ctx); err != nil {
			return err
		}
		part := min(left, c.most)
		time.Sleep(time.Duration(part) * c.each)
		if left -= part; left == 0 {
			return nil
		}
		turn.Yield(left)
	}
}

func atRest(t *testing.T, g *Gate) {
	t.Helper()
	for _, q := range []*queue{g.bodies, g.replies, g.turns, g.checks, g.builds} {
		q.mu.Lock()
		if q.used != 0 || q.waiting != 0 || q.holders != 0 || len(q.flows) != 0 {
			t.Errorf("%s: %d used by %d, %d waiting, %d tenants remembered", q.what, q.used, q.holders, q.waiting, len(q.flows))
		}
		q.mu.Unlock()
	}
}

// A client with one request at a time waits at most twice as long as with an
// equal share of the machine, however heavy the others' load.
func TestSingleClientGetsItsShare(t *testing.T) {
	const each = 10 * time.Millisecond
	wait := Limits{Wait: time.Hour}
	for _, turns := range []int{1, 2} {
		wait.Turns = turns
		for name, other := range map[string]clientele{
			"64 single clients of another tenant":        {"many", Light, 64, 1, 16, each},
			"64 clients of another whose requests count": {"many", Light, 64, 1, 16, 5 * each / 2},
			"64 batch clients of another":                {"many", Heavy, 64, 64, 16, each / 6},
			"64 batch clients of its own tenant":         {"one", Heavy, 64, 64, 16, each / 6},
		} {
			got := serve(t, wait, clientele{"one", Light, 1, 1, 16, each}, other)
			// The client's share is half of the machine, which doubles the time.
			if share := 2 * each; got[0] > 2*share {
				t.Errorf("%d turns, beside %s: %v; twice its share is %v", turns, name, got[0], 2*share)
			}
		}
	}
}

// Shares do not depend on the number of clients or the duration of requests.
func TestTenantsShareEqually(t *testing.T) {
	got := serve(t, Limits{Turns: 1, Wait: time.Hour},
		clientele{"a", Light, 4, 1, 1, 20 * time.Millisecond},
		clientele{"b", Light, 40, 1, 1, 5 * time.Millisecond},
		clientele{"c", Heavy, 10, 64, 16, time.Millisecond})
	for i, c := range []struct{ clients, each float64 }{{4, 0.020}, {40, 0.005}, {10, 0.064}} {
		if part := c.clients * c.each / got[i].Seconds(); part < 0.30 || part > 0.37 {
			t.Errorf("tenant %d got %.2f of the time", i, part)
		}
	}
}

func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue("test", 1, byTime, New(Limits{}).Limits())
		var order []int
		hold, err := q.take(t.Context(), "a", Light, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			go func() {
				done, err := q.take(t.Context(), "a", Light, 1)
				if err != nil {
					t.Error(err)
				}
				order = append(order, i)
				done()
			}()
			synctest.Wait()
		}
		hold()
		synctest.Wait()
		if fmt.Sprint(order) != "[0 1 2 3 4 5 6 7 8 9]" {
			t.Error(order)
		}
	})
}

func TestFullQueueRefusesWithRetryTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Turns: 1, Queue: 10, Wait: 3 * time.Second})
		work := func() error {
			turn, err := g.QueueTurn("", Light, 1, 1)
			if err == nil {
				defer turn.Done()
				err = turn.Wait(t.Context())
			}
			if err == nil {
				time.Sleep(500 * time.Millisecond)
			}
			return err
		}
		if err := work(); err != nil {
			t.Fatal(err)
		}
		for range 7 {
			go work()
		}
		synctest.Wait()
		var full *OverloadError
		if err := work(); !errors.As(err, &full) || full.RetryAfter() != 3500*time.Millisecond {
			t.Fatalf("a request that would wait for 3.5 s: %v, %+v", err, full)
		}
		time.Sleep(full.RetryAfter())
		if err := work(); err != nil {
			t.Fatalf("at the announced retry time: %v", err)
		}
		many := New(Limits{Turns: 1, Queue: 10, Wait: 3 * time.Second})
		hold, _ := many.QueueTurn("", Light, 1, 1)
		for range 10 {
			go func() {
				turn, err := many.QueueTurn("", Light, 1, 1)
				if err != nil {
					t.Error(err)
				} else if err := turn.Wait(t.Context()); !errors.As(err, new(*OverloadError)) {
					t.Errorf("after the longest wait: %v", err)
				}
			}()
		}
		synctest.Wait()
		if _, err := many.QueueTurn("", Light, 1, 1); !errors.As(err, &full) {
			t.Errorf("beyond the bound of the queue: %v", err)
		}
		time.Sleep(time.Minute)
		hold.Done()
		if s := many.Stats().Turns; s.Expired != 10 || s.Refused != 1 || s.Granted != 1 {
			t.Errorf("%+v", s)
		}
		atRest(t, many)
		atRest(t, g)
	})
}

func TestJoiningLongQueueIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Turns: 1, Wait: 3 * time.Second})
		turn, err := g.QueueTurn("", Light, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		<-turn.Granted()
		time.Sleep(500 * time.Millisecond)
		turn.Yield(1)
		<-turn.Granted()
		for i := range 6 {
			if err := turn.Grow(1); err != nil {
				t.Fatalf("a request that would wait for %d half seconds: %v", i+1, err)
			}
		}
		var full *OverloadError
		if err := turn.Grow(1); !errors.As(err, &full) || full.RetryAfter() != 3500*time.Millisecond {
			t.Errorf("a request that would wait for 3.5 s: %v", err)
		}
		turn.Done()
		atRest(t, g)
	})
}

func TestTenantIsLimitedToHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Memory: 4000, Queue: 10})
		g.bodies.size, g.bodies.reserve = 3000, 0
		var releases []func()
		take := func(tenant string, n int64) {
			t.Helper()
			release, err := g.AcquireBody(t.Context(), tenant, n)
			if err != nil {
				t.Fatalf("%s, %d: %v", tenant, n, err)
			}
			releases = append(releases, release)
		}
		take("a", 1000)
		take("a", 500)
		waits := make(chan error)
		go func() {
			_, err := g.AcquireBody(t.Context(), "a", 500)
			waits <- err
		}()
		synctest.Wait()
		take("b", 1400) // at once, though a came first
		if err := <-waits; !errors.As(err, new(*OverloadError)) {
			t.Errorf("a third of one tenant: %v", err)
		}
		if _, err := g.AcquireBody(t.Context(), "a", 1501); !errors.Is(err, ErrExceedsCapacity) {
			t.Errorf("more than a tenant may hold: %v", err)
		}
		for _, r := range releases {
			r()
			r()
		}
		take("", 3000)
		releases[len(releases)-1]()
		atRest(t, g)
	})
}

func TestLongWorkLeavesTurnsForOthers(t *testing.T) {
	for _, take := range []func(*Gate, context.Context, string) (func(), error){(*Gate).AcquireCheck, (*Gate).AcquireBuild} {
		othersNeedNotWait(t, take)
	}
}

func othersNeedNotWait(t *testing.T, take func(*Gate, context.Context, string) (func(), error)) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Turns: 2})
		long, err := take(g, t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			long()
		}()
		done, err := take(g, t.Context(), "b")
		if err != nil || time.Since(begun) > 0 {
			t.Fatalf("another tenant waited %v, %v", time.Since(begun), err)
		}
		done()
		done, err = take(g, t.Context(), "a")
		if err != nil || time.Since(begun) != 3*time.Second {
			t.Fatalf("the same tenant waited %v, %v", time.Since(begun), err)
		}
		done()
		atRest(t, g)
	})
}

// A body may be empty. Its ticket must outlive others.
func TestEmptyBodyKeepsItsFlow(t *testing.T) {
	g := New(Limits{})
	none, err := g.AcquireBody(t.Context(), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	some, err := g.AcquireBody(t.Context(), "a", 9)
	if err != nil {
		t.Fatal(err)
	}
	some()
	none()
	atRest(t, g)
}

func TestLargeRequestIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Memory: 64 << 20, Wait: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		for range 200 {
			go func() {
				for ctx.Err() == nil {
					release, err := g.AcquireBody(ctx, "", 1<<20)
					if err == nil {
						time.Sleep(time.Second)
						release()
					}
				}
			}()
		}
		time.Sleep(10 * time.Second)
		began := time.Now()
		release, err := g.AcquirePart(ctx, "", 40<<20)
		if took := time.Since(began); err != nil || took > 5*time.Second {
			t.Errorf("waited %v, %v", took, err)
		}
		release()
		cancel()
		time.Sleep(time.Minute)
		atRest(t, g)
	})
}

// Clients give up at random times, and the queue must equal the sum of its
// grants.
func TestQueueSurvivesRandomLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Memory: 4000, Wait: 50 * time.Millisecond, Queue: 50})
		var used atomic.Int64
		var wg sync.WaitGroup
		for i := range 2000 {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			wg.Go(func() {
				time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(100))*time.Millisecond)
				defer cancel()
				n, acquire := 1+r.Int64N(1300), g.AcquirePart
				if n < 100 {
					acquire = g.AcquireBody
				}
				release, err := acquire(ctx, fmt.Sprint(r.IntN(5)), n)
				if err != nil {
					return
				}
				if now := used.Add(n); now > 3000 {
					t.Errorf("%d of 3000 are in use", now)
				}
				time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
				used.Add(-n)
				release()
			})
		}
		wg.Wait()
		if s := g.Stats().Bodies; s.Granted < 500 || s.Refused+s.Expired == 0 {
			t.Errorf("hardly anything happened: %+v", s)
		}
		atRest(t, g)
	})
}

func TestTenantRatesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{})
		r := Rate{PerSecond: 2, Burst: 3, Concurrent: 2}
		enter := func(name string) (leave func(), after time.Duration) {
			leave, err := g.Enter(name, r)
			if f := (*OverloadError)(nil); errors.As(err, &f) {
				if !errors.Is(err, ErrTooMany) {
					t.Errorf("%v", f)
				}
				return nil, f.after
			}
			return leave, 0
		}
		a, _ := enter("a")
		b, _ := enter("a")
		if _, after := enter("a"); a == nil || b == nil || after != time.Second {
			t.Fatalf("the third at the same time: %v", after)
		}
		a()
		a()
		if c, _ := enter("a"); c == nil {
			t.Error("the third after the first had left")
		}
		b()
		if _, after := enter("a"); after != 500*time.Millisecond {
			t.Errorf("the fourth within a moment: %v", after)
		}
		if other, _ := enter("b"); other == nil {
			t.Error("another tenant is limited too")
		}
		time.Sleep(500 * time.Millisecond)
		if d, after := enter("a"); d == nil {
			t.Errorf("at the announced retry time: %v", after)
		}
		if leave, err := g.Enter("c", Rate{}); err != nil {
			t.Error(err)
		} else {
			leave()
		}
	})
}

func TestRememberedTenantsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{})
		r := Rate{PerSecond: 1, Burst: 1, Concurrent: 1}
		if _, err := g.Enter("running", r); err != nil {
			t.Fatal(err)
		}
		for i := range 20_000 {
			leave, err := g.Enter(fmt.Sprint(i), r)
			if err != nil {
				t.Fatal(err)
			}
			leave()
		}
		if n := len(g.tenants.by); n > 4096 || g.tenants.by["running"] == nil {
			t.Errorf("%d tenants remembered", n)
		}
	})
}

func TestLargeAlbumsAreAdmitted(t *testing.T) {
	g := New(Limits{Memory: 96 << 20})
	for range 2 {
		release, err := g.AcquireState(t.Context(), "anna", 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
	if used := g.bodies.stats().Used; used != 33<<20 {
		t.Errorf("it holds %d bytes", used)
	}
}
