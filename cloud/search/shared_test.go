package search

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/batch"
)

func TestSharedBatchEqualsSingles(t *testing.T) {
	x := fakeIndex(t, 3001, 19, 8)
	o := Options{Workers: 2}
	together := func(ctx context.Context, _ int, requests []*cpar.Request) ([]*cpar.Reply, error) {
		if len(requests) > 1 {
			return o.AnnotateBatch(ctx, x, requests)
		}
		r, err := o.Annotate(ctx, x, requests[0])
		return []*cpar.Reply{r}, err
	}
	all := append(allKinds(x, 1), allKinds(x, 100)...)
	all[7].Vector = nil
	gate := admission.New(admission.Limits{Turns: 1, Wait: time.Minute})
	runner := batch.New(gate, batch.Options[int, *cpar.Request, *cpar.Reply]{
		Run: together, MaxWeight: 16, Weight: func(*cpar.Request) int64 { return 1 },
		RetryAlone: func(err error) bool { return errors.Is(err, cpar.ErrInput) },
	})
	hold, err := gate.QueueTurn("", admission.Light, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for i, q := range all {
		waiting.Go(func() {
			want, alone := together(t.Context(), 0, []*cpar.Request{q})
			got, err := runner.Answer(t.Context(), "", 0, []*cpar.Request{q})
			if i == 7 {
				if err == nil || alone == nil || err.Error() != alone.Error() {
					t.Errorf("the bad one: %v, alone %v", err, alone)
				}
			} else if err != nil || !reflect.DeepEqual(got[0], want[0]) {
				t.Errorf("request %d: %v, %+v, alone %+v", i, err, got, want[0])
			}
		})
	}
	for gate.Stats().Turns.Waiting < int64(len(all)) {
		time.Sleep(time.Millisecond)
	}
	hold.Done()
	waiting.Wait()
	if s := gate.Stats().Batches; s.Batches != 2 || s.Requests != uint64(len(all)) {
		t.Errorf("%+v", s)
	}
}

// A counted context counts calls of Err. Yield of parallel.Turn calls it once.
type counted struct {
	context.Context
	checks atomic.Int64
}

func (c *counted) Err() error {
	c.checks.Add(1)
	return c.Context.Err()
}

func TestSearchesCheckTheContextAtEachStride(t *testing.T) {
	x := fakeIndex(t, 3001, 19, 8)
	var all []*cpar.Request
	for seed := range uint64(16) {
		all = append(all, request(x, params(cpar.SchemeCAPIA, 1000), seed))
	}
	ctx := &counted{Context: t.Context()}
	if _, err := (Options{Workers: 1}).AnnotateBatch(ctx, x, all); err != nil {
		t.Fatal(err)
	}
	if got := ctx.checks.Load(); got < 3001/stride {
		t.Errorf("%d checks during %d strides", got, 3001/stride)
	}
}
