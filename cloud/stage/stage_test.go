package stage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/stage"
)

func TestRecord(t *testing.T) {
	r := new(stage.Record)
	ctx := r.In(t.Context())
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	r.Add(stage.Body, at(3), at(4))
	r.Add(stage.Body, at(1), at(2))
	r.Add(stage.Send, at(8), at(9))
	leave := stage.Enter(ctx, stage.Search)
	leave()
	stage.Asked(ctx, cpar.SchemeCAPIA, 2)
	stage.Searched(ctx, 3, 100)
	stage.Searched(ctx, 4, 200)
	stage.Of(ctx, "0123456789abcdef")
	var got []string
	r.Times(func(s stage.Stage, x stage.Time) {
		if s != stage.Search {
			got = append(got, fmt.Sprint(s, x.First.Unix(), x.Last.Unix(), x.Took))
		} else if x.Took < 0 || x.Last.Before(x.First) {
			t.Errorf("search: %+v", x)
		}
	})
	if fmt.Sprint(got) != "[body 1 4 2s send 8 9 1s]" {
		t.Errorf("times: %v", got)
	}
	scheme, n := r.Asked()
	visited, touched := r.Searched()
	if scheme != cpar.SchemeCAPIA || n != 2 || visited != 7 || touched != 300 || r.Tenant() != "0123456789abcdef" {
		t.Errorf("%v %d %d %d %q", scheme, n, visited, touched, r.Tenant())
	}
}

// What is called without a request, by a command say, has nobody to tell.
func TestNoRecord(t *testing.T) {
	stage.Enter(context.Background(), stage.Load)()
	stage.Asked(t.Context(), cpar.SchemeCPAR, 1)
	stage.Searched(t.Context(), 1, 1)
	stage.Of(t.Context(), "x")
}

func TestStagesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for s := stage.Body; s <= stage.Send; s++ {
		if seen[s.String()] || s.String() == "" {
			t.Errorf("stage %d is %q", s, s)
		}
		seen[s.String()] = true
	}
}
