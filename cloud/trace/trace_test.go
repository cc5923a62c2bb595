package trace_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/trace"
)

func TestRecord(t *testing.T) {
	r := new(trace.Request)
	ctx := r.NewContext(t.Context())
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	r.Add(trace.Body, at(3), at(4))
	r.Add(trace.Body, at(1), at(2))
	r.Add(trace.Send, at(8), at(9))
	leave := trace.Enter(ctx, trace.Search)
	leave()
	trace.SetAnnotations(ctx, cpar.SchemeCAPIA, 2)
	trace.AddWork(ctx, 3, 100)
	trace.AddWork(ctx, 4, 200)
	trace.SetTenant(ctx, "0123456789abcdef")
	var got []string
	r.Times(func(s trace.Stage, x trace.Time) {
		if s != trace.Search {
			got = append(got, fmt.Sprint(s, x.First.Unix(), x.Last.Unix(), x.Took))
		} else if x.Took < 0 || x.Last.Before(x.First) {
			t.Errorf("search: %+v", x)
		}
	})
	if fmt.Sprint(got) != "[body 1 4 2s send 8 9 1s]" {
		t.Errorf("times: %v", got)
	}
	want := trace.Outcome{Tenant: "0123456789abcdef", Scheme: cpar.SchemeCAPIA, Annotations: 2, Visited: 7, Touched: 300}
	if got := r.Outcome(); got != want {
		t.Errorf("%+v", got)
	}
}

func TestTraceWithoutRequest(t *testing.T) {
	trace.Enter(context.Background(), trace.Load)()
	trace.SetAnnotations(t.Context(), cpar.SchemeCPAR, 1)
	trace.AddWork(t.Context(), 1, 1)
	trace.SetTenant(t.Context(), "x")
}

func TestStagesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for s := trace.Body; s <= trace.Send; s++ {
		if seen[s.String()] || s.String() == "" {
			t.Errorf("stage %d is %q", s, s)
		}
		seen[s.String()] = true
	}
}
