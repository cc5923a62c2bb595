package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cpar/cloud/admission"
)

var errBad, errBroken = errors.New("bad"), errors.New("broken")

// An index answers n by 2n and refuses batches with a negative number.
type index struct {
	mu      sync.Mutex
	batches [][]int
	broken  bool
	took    time.Duration
}

func (x *index) together(ctx context.Context, _ string, requests []int) ([]int, error) {
	x.mu.Lock()
	x.batches = append(x.batches, slices.Clone(requests))
	x.mu.Unlock()
	select {
	case <-time.After(x.took):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if x.broken {
		return nil, errBroken
	}
	var out []int
	for i, q := range requests {
		if q == 666 {
			panic("a bug")
		}
		if q < 0 {
			return nil, fmt.Errorf("request %d of %d: %w", i+1, len(requests), errBad)
		}
		out = append(out, 2*q)
	}
	return out, nil
}

func newTest(l admission.Limits) (*index, *Runner[string, int, int], *admission.Gate) {
	x, g := &index{took: time.Millisecond}, admission.New(l)
	return x, New(g, Options[string, int, int]{
		Run: x.together, MaxWeight: 16, Weight: func(int) int64 { return 1 },
		RetryAlone: func(err error) bool { return errors.Is(err, errBad) },
	}), g
}

func atRest(t *testing.T, p *Runner[string, int, int], g *admission.Gate) {
	t.Helper()
	synctest.Wait()
	if s := g.Stats().Turns; s.Used != 0 || s.Waiting != 0 || len(p.queues) != 0 {
		t.Errorf("%+v, %d queues", s, len(p.queues))
	}
}

func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

type got struct {
	answers  []int
	err      error
	panicked any
	took     time.Duration
	ended    atomic.Bool
}

func ask(ctx context.Context, p *Runner[string, int, int], key string, all ...[]int) []*got {
	var out []*got
	for _, requests := range all {
		g := new(got)
		out = append(out, g)
		go func() {
			began := time.Now()
			defer func() {
				g.panicked, g.took = recover(), time.Since(began)
				g.ended.Store(true)
			}()
			g.answers, g.err = p.Answer(ctx, "", key, requests)
		}()
		synctest.Wait()
	}
	return out
}

// Client batches have their own queue.
func TestWaitingRequestsShareBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, p, g := newTest(admission.Limits{Turns: 1})
		out := ask(t.Context(), p, "x", []int{1}, []int{2}, []int{3}, []int{4, 5, 6}, []int{7})
		settle(time.Second)
		if got := fmt.Sprint(x.batches); got != "[[1] [4 5 6] [2 3 7]]" {
			t.Errorf("batches %s", got)
		}
		for i, want := range [][]int{{2}, {4}, {6}, {8, 10, 12}, {14}} {
			if out[i].err != nil || !slices.Equal(out[i].answers, want) {
				t.Errorf("client %d: %v, %v", i, out[i].answers, out[i].err)
			}
		}
		if out[0].took != time.Millisecond {
			t.Errorf("alone: %v", out[0].took)
		}
		if s := g.Stats().Batches; s.Batches != 3 || s.Requests != 7 || s.Sizes[0] != 1 || s.Sizes[2] != 2 {
			t.Errorf("%+v", s)
		}
		atRest(t, p, g)
	})
}

func TestBatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, p, g := newTest(admission.Limits{Turns: 1})
		batch := make([]int, 40)
		for i := range batch {
			batch[i] = i
		}
		out := ask(t.Context(), p, "x", batch, []int{100})
		settle(time.Second)
		if len(x.batches) != 4 || len(x.batches[0]) != 16 || x.batches[1][0] != 100 || len(x.batches[3]) != 8 {
			t.Errorf("batches %v", x.batches)
		}
		for i, a := range out[0].answers {
			if a != 2*batch[i] {
				t.Fatalf("answers %v", out[0].answers)
			}
		}
		atRest(t, p, g)
	})
}

func TestOnlyBadRequestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, g := newTest(admission.Limits{Turns: 1})
		batch := make([]int, 20)
		batch[18] = -1
		out := ask(t.Context(), p, "x", []int{1}, []int{2}, []int{-3}, []int{4}, []int{5, -6, 7}, []int{8, 9}, batch)
		settle(time.Second)
		for i, want := range []string{"[2] <nil>", "[4] <nil>", "[] request 1 of 1: bad", "[8] <nil>", "[] request 2 of 3: bad", "[16 18] <nil>", "[] request 19 of 20: bad"} {
			if got := fmt.Sprint(out[i].answers, " ", out[i].err); got != want {
				t.Errorf("client %d: %s, want %s", i, got, want)
			}
		}
		atRest(t, p, g)
	})
}

// Retrying each request alone would read the damaged index once per request.
func TestIndexErrorFailsWholeBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, p, g := newTest(admission.Limits{Turns: 1})
		x.broken = true
		out := ask(t.Context(), p, "x", []int{1}, []int{2}, []int{3})
		settle(time.Second)
		for i, o := range out {
			if !errors.Is(o.err, errBroken) {
				t.Errorf("client %d: %v", i, o.err)
			}
		}
		if len(x.batches) != 2 {
			t.Errorf("batches %v", x.batches)
		}
		atRest(t, p, g)
	})
}

func TestPanicEndsOnlyItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, g := newTest(admission.Limits{Turns: 1})
		out := ask(t.Context(), p, "x", []int{666}, []int{2})
		settle(time.Second)
		if out[0].panicked != "a bug" || out[1].panicked != nil || out[1].err != nil {
			t.Errorf("%+v, %+v", out[0], out[1])
		}
		atRest(t, p, g)
	})
}

// In a batch, a leaving client waits until its request is no longer read. The
// last to leave cancels the batch.
func TestLeavingClientsDoNotAffectOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, p, g := newTest(admission.Limits{Turns: 1})
		x.took = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		first := ask(t.Context(), p, "x", []int{1})
		leaves := ask(ctx, p, "x", []int{2}, []int{3, 3})
		stays := ask(t.Context(), p, "x", []int{4}, []int{5})
		cancel()
		synctest.Wait()
		for _, o := range leaves {
			if !errors.Is(o.err, context.Canceled) {
				t.Errorf("before its batch: %v", o.err)
			}
		}
		settle(3 * time.Second)
		if first[0].err != nil || stays[0].err != nil || stays[1].err != nil || fmt.Sprint(x.batches) != "[[1] [4 5]]" {
			t.Errorf("%v %v %v, batches %v", first[0].err, stays[0].err, stays[1].err, x.batches)
		}
		ctx, cancel = context.WithCancel(t.Context())
		ask(t.Context(), p, "x", []int{1})
		leaves, stays = ask(ctx, p, "x", []int{6}), ask(t.Context(), p, "x", []int{7})
		settle(1500 * time.Millisecond)
		cancel()
		synctest.Wait()
		if leaves[0].ended.Load() {
			t.Error("left while its request was read")
		}
		settle(time.Second)
		if stays[0].err != nil || leaves[0].took != 2*time.Second {
			t.Errorf("%v, left after %v", stays[0].err, leaves[0].took)
		}
		ctx, cancel = context.WithCancel(t.Context())
		leaves = ask(ctx, p, "x", []int{8})
		settle(time.Millisecond)
		cancel()
		synctest.Wait()
		if !errors.Is(leaves[0].err, context.Canceled) || leaves[0].took != time.Millisecond {
			t.Errorf("alone: %v after %v", leaves[0].err, leaves[0].took)
		}
		atRest(t, p, g)
	})
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, p, g := newTest(admission.Limits{Turns: 1, Wait: 5 * time.Second})
		x.took = 8 * time.Second
		out := ask(t.Context(), p, "x", []int{1})
		settle(time.Second)
		out = append(out, ask(t.Context(), p, "x", []int{2}, []int{3, 4})...)
		settle(20 * time.Second)
		if out[0].err != nil {
			t.Errorf("a long batch: %v", out[0].err)
		}
		for _, o := range out[1:] {
			if full := (*admission.OverloadError)(nil); !errors.As(o.err, &full) || o.took != 5*time.Second {
				t.Errorf("%v after %v", o.err, o.took)
			}
		}
		atRest(t, p, g)
	})
}

func TestIndexesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, p, g := newTest(admission.Limits{Turns: 2})
		a, b := ask(t.Context(), p, "a", []int{1}), ask(t.Context(), p, "b", []int{2})
		settle(time.Second)
		if len(x.batches) != 2 || a[0].took != time.Millisecond || b[0].took != time.Millisecond {
			t.Errorf("batches %v in %v and %v", x.batches, a[0].took, b[0].took)
		}
		atRest(t, p, g)
	})
}

func TestRandomLoadGetsRightReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, g := newTest(admission.Limits{Turns: 2, Wait: time.Minute})
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]int{}
		for i := range 3000 {
			r := rand.New(rand.NewPCG(2, uint64(i)))
			wg.Go(func() {
				time.Sleep(time.Duration(r.IntN(500_000)) * time.Microsecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(100_000))*time.Microsecond)
				defer cancel()
				requests, bad := make([]int, 1+r.IntN(3)*r.IntN(20)), 0
				for i := range requests {
					if requests[i] = r.IntN(100); r.IntN(50) == 0 {
						requests[i], bad = -1, max(bad, 1)
					}
				}
				answers, err := p.Answer(ctx, "", fmt.Sprint(r.IntN(3)), requests)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, context.DeadlineExceeded):
					seen["left"]++
				case bad > 0:
					seen["bad"]++
					if want := fmt.Sprintf("request %d of %d: bad", slices.Index(requests, -1)+1, len(requests)); err == nil || err.Error() != want {
						t.Errorf("%v, want %s", err, want)
					}
				case err != nil || len(answers) != len(requests):
					t.Errorf("%d answers to %d, %v", len(answers), len(requests), err)
				default:
					seen["good"]++
					for i := range requests {
						if answers[i] != 2*requests[i] {
							t.Fatalf("answers %v to %v", answers, requests)
						}
					}
				}
			})
		}
		wg.Wait()
		if seen["left"] < 100 || seen["bad"] < 100 || seen["good"] < 100 {
			t.Errorf("hardly anything happened: %v", seen)
		}
		atRest(t, p, g)
	})
}
