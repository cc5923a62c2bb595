package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cpar"
	"cpar/cloud/score"
	"cpar/ivf"
	"cpar/kdforest"
)

func allKinds(x *score.Index, seed uint64) (all []*cpar.Request) {
	for _, p := range []cpar.Params{
		params(cpar.SchemeCAPIA, 1000),
		{Scheme: cpar.SchemeCAPIA, L: 37, Approx: 100},
		params(cpar.SchemeCPAR, 1000), params(cpar.SchemeCPAR, 100),
		{Scheme: cpar.SchemeCPAR, L: 10, Approx: 100, Prune: true},
		by(cpar.SearchByRank, 50),
		by(cpar.SearchBestBin, 100), by(cpar.SearchBestBin, 1000),
		by(cpar.SearchIVF, 1000), by(cpar.SearchIVF, 300), by(cpar.SearchIVF, 25),
		{Scheme: cpar.SchemeCPAR, Search: cpar.SearchIVF, L: 1000, Approx: 1},
		by(cpar.SearchByRank, 1), by(cpar.SearchByRank, 400), by(cpar.SearchByRank, 1000),
	} {
		all = append(all, request(x, p, seed+uint64(len(all))))
	}
	return all
}

// naive scores every visited record with kdforest.Scorer and sorts the scores.
func naive(t *testing.T, x *score.Index, q *cpar.Request) []kdforest.Hit {
	t.Helper()
	s, err := score.NewSpace(x, q)
	if err != nil {
		t.Fatal(err)
	}
	n := int(x.Manifest.Records)
	visits, err := kdforest.Visits(int(q.Params.Approx), n, int(q.Params.L))
	if err != nil {
		t.Fatal(err)
	}
	var visited []uint32
	switch {
	case q.Params.Scheme == cpar.SchemeCAPIA:
		for i := range n {
			visited = append(visited, uint32(i))
		}
	case q.Params.Search == cpar.SearchIVF:
		_, _, err = x.Cells.Search(centroids{s}, s, ivf.Options{Visits: visits, L: 1,
			Trace: func(v ivf.Visit) { visited = append(visited, v.Record) }})
	default:
		_, err = AnnotateTraced(x, q, func(v kdforest.Visit) { visited = append(visited, v.Record) })
	}
	if err != nil {
		t.Fatal(err)
	}
	hits := make([]kdforest.Hit, len(visited))
	for i, r := range visited {
		var one [1]int64
		s.Score([]uint32{r}, one[:])
		hits[i] = kdforest.Hit{Record: r, Score: one[0]}
	}
	slices.SortFunc(hits, func(a, b kdforest.Hit) int {
		if a.Score != b.Score && a.Score < b.Score || a.Score == b.Score && a.Record < b.Record {
			return -1
		}
		return 1
	})
	return hits[:min(len(hits), int(q.Params.L))]
}

func TestWorkersDoNotMatter(t *testing.T) {
	x := fakeIndex(t, 3001, 19, 8)
	for i, q := range allKinds(x, 1) {
		want := naive(t, x, q)
		var first *cpar.Reply
		for _, workers := range []int{1, 2, 3, 11, 64, 0} {
			a, err := Options{Workers: workers}.Annotate(t.Context(), x, q)
			if err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
			if len(a.Matches) != len(want) {
				t.Fatalf("request %d, %d workers: %d matches, want %d", i, workers, len(a.Matches), len(want))
			}
			for j, m := range a.Matches {
				if (kdforest.Hit{Record: m.Record, Score: m.Score}) != want[j] {
					t.Fatalf("request %d, %d workers: match %d is %d (%d), want %v", i, workers, j, m.Record, m.Score, want[j])
				}
			}
			if first == nil {
				first = a
			}
			if !reflect.DeepEqual(a, first) {
				t.Errorf("request %d: %d workers answer %+v, one %+v", i, workers, a, first)
			}
		}
	}
}

func TestBatchEqualsSingles(t *testing.T) {
	x := fakeIndex(t, 3001, 19, 8)
	var all []*cpar.Request
	for seed := range uint64(3) {
		all = append(all, allKinds(x, 100*seed)...)
	}
	var want []*cpar.Reply
	for _, q := range all {
		a, err := Annotate(x, q)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, a)
	}
	for _, n := range []int{0, 1, 2, 7, len(all)} {
		for _, workers := range []int{1, 3} {
			got, err := Options{Workers: workers}.AnnotateBatch(t.Context(), x, all[:n])
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("%d requests, %d workers: reply %d is %+v, alone %+v", n, workers, i, got[i], want[i])
				}
			}
			if len(got) != n {
				t.Errorf("%d replies to %d requests", len(got), n)
			}
		}
	}
}

// With a trace, package kdforest searches round by round. Otherwise visits are
// planned first.
func TestByRankEqualsForest(t *testing.T) {
	x := fakeIndex(t, 3001, 20, 8)
	for i, approx := range []uint16{1, 25, 100, 400, 999, 1000} {
		q := request(x, by(cpar.SearchByRank, approx), uint64(i))
		visits := 0
		want, err := AnnotateTraced(x, q, func(kdforest.Visit) { visits++ })
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{1, 3} {
			got, err := Options{Workers: workers}.Annotate(t.Context(), x, q)
			if err != nil || !reflect.DeepEqual(got, want) || int(got.Visited) != visits {
				t.Errorf("AP-%g, %d workers: %+v (%v), want %+v of %d visits", float64(approx)/10, workers, got, err, want, visits)
			}
		}
	}
}

func TestSplitBatchByRank(t *testing.T) {
	x := fakeIndex(t, 3001, 20, 8)
	var all []*cpar.Request
	for i := range 9 {
		all = append(all, request(x, by(cpar.SearchByRank, uint16(1+90*i)), uint64(i)))
	}
	want, err := AnnotateBatch(x, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, held := range []int{1, 500, 3000, 1 << 20} {
		got, err := Options{Workers: 2, maxVisits: held}.AnnotateBatch(t.Context(), x, all)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d records held: %v, replies differ", held, err)
		}
	}
}

func TestBatchNamesTheBadRequest(t *testing.T) {
	x := fakeIndex(t, 50, 20, 8)
	all := allKinds(x, 1)
	all[4].Vector = nil
	got, err := AnnotateBatch(x, all)
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(fmt.Sprint(err), "request 5 of 15") || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestCentroidsCountAsTouched(t *testing.T) {
	x := fakeIndex(t, 1000, 20, 8)
	for approx, visited := range map[uint16]uint32{1000: 1000, 100: 100, 25: 25, 1: 10} {
		a, err := Annotate(x, request(x, by(cpar.SearchIVF, approx), 1))
		if err != nil {
			t.Fatal(err)
		}
		if rows := uint64(visited + x.Manifest.Lists); a.Visited != visited || a.Touched != rows*20*8 || len(a.Matches) != 10 {
			t.Errorf("AP-%g: %d visited, %d bytes, %d matches", float64(approx)/10, a.Visited, a.Touched, len(a.Matches))
		}
	}
}

type plain struct {
	*score.Space
	scores []int64
	asked  map[uint32]bool
}

func (p *plain) Distance(plane uint32) float64 {
	p.asked[plane] = true
	d := p.scores[plane]
	return float64(max(d, -d))
}

func TestBestBinMatchesPlainDistances(t *testing.T) {
	x := fakeIndex(t, 1000, 20, 8)
	for seed := range uint64(20) {
		q := request(x, by(cpar.SearchBestBin, 100), seed)
		var got, want []kdforest.Visit
		a, err := AnnotateTraced(x, q, func(v kdforest.Visit) { got = append(got, v) })
		if err != nil {
			t.Fatal(err)
		}
		s, err := score.NewSpace(x, q)
		if err != nil {
			t.Fatal(err)
		}
		twin := &plain{Space: s, asked: map[uint32]bool{}}
		if twin.scores, err = x.PlaneScores(q); err != nil {
			t.Fatal(err)
		}
		if _, _, err := x.Forest.Search(twin, kdforest.Options{Visits: 100, L: 10, Order: kdforest.BestBin,
			Trace: func(v kdforest.Visit) { want = append(want, v) }}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("request %d visits %v, want %v", seed, got, want)
		}
		if rows := uint64(100*20 + len(twin.asked)*9); a.Touched != 8*rows {
			t.Errorf("request %d: %d bytes touched, want %d", seed, a.Touched, 8*rows)
		}
	}
}

type fuse struct {
	context.Context
	left atomic.Int64
}

func (f *fuse) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestCanceledSearchesEnd(t *testing.T) {
	x := fakeIndex(t, 3001, 19, 8)
	for i, q := range []*cpar.Request{request(x, params(cpar.SchemeCAPIA, 1000), 1), request(x, by(cpar.SearchIVF, 1000), 1), request(x, by(cpar.SearchByRank, 1000), 1), request(x, params(cpar.SchemeCPAR, 1000), 1)} {
		for _, workers := range []int{1, 3} {
			for _, looks := range []int64{0, 1, 6} {
				ctx := &fuse{Context: t.Context()}
				ctx.left.Store(looks)
				if _, err := (Options{Workers: workers}).Annotate(ctx, x, q); !errors.Is(err, context.Canceled) {
					t.Errorf("request %d, %d workers, canceled at look %d: %v", i, workers, looks+1, err)
				}
			}
		}
	}
	batch := allKinds(x, 1)
	ctx := &fuse{Context: t.Context()}
	ctx.left.Store(3)
	if _, err := (Options{}).AnnotateBatch(ctx, x, batch); !errors.Is(err, context.Canceled) {
		t.Errorf("batch: %v", err)
	}
}

type centroids struct{ *score.Space }

func (c centroids) Run(first uint32, scores []int64) { c.Centroids(first, scores) }
