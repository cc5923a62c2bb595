package search

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"cpar"
	"cpar/kdforest"
)

func everyWalk() (all []cpar.Params) {
	for _, l := range []uint16{10, 1000} {
		for _, approx := range []uint16{25, 400, 1000} {
			for s := range cpar.Search(8) {
				for _, prune := range []bool{false, true} {
					p := cpar.Params{Scheme: cpar.SchemeCPAR, Search: s, L: l, Approx: approx, Prune: prune}
					if p.Validate() == nil && p.UsesForest() {
						all = append(all, p)
					}
				}
			}
		}
	}
	return all
}

// The reference is kdforest.Search on one goroutine.
func TestForestByWorkers(t *testing.T) {
	for _, place := range []cpar.Place{cpar.PlaceNode, cpar.PlaceLeaf} {
		for _, n := range []int{1, 2, 9, 1500} {
			x := fakeIndexOf(t, place, n, 11, 8)
			var requests []*cpar.Request
			var replies []*cpar.Reply
			for i, p := range everyWalk() {
				q := request(x, p, uint64(i))
				var trace []kdforest.Visit
				want, err := AnnotateTraced(x, q, func(v kdforest.Visit) { trace = append(trace, v) })
				if err != nil {
					t.Fatal(err)
				}
				requests, replies = append(requests, q), append(replies, want)
				for _, workers := range []int{1, 2, 3, 8} {
					what := fmt.Sprintf("place %v, n %d, %+v, %d workers", place, n, p, workers)
					got, err := Options{Workers: workers}.Annotate(t.Context(), x, q)
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Fatalf("%s: %+v (%v), want %+v", what, got, err, want)
					}
					var again []kdforest.Visit
					o := Options{Workers: workers, Trace: func(v kdforest.Visit) { again = append(again, v) }}
					if got, err := o.Annotate(t.Context(), x, q); err != nil || !reflect.DeepEqual(got, want) || !slices.Equal(again, trace) {
						t.Fatalf("%s, traced: %+v (%v), want %+v", what, got, err, want)
					}
				}
				if int(want.Visited) != len(trace) {
					t.Errorf("%+v: %d visits counted, %d traced", p, want.Visited, len(trace))
				}
			}
			for _, workers := range []int{1, 2, 3, 8} {
				got, err := Options{Workers: workers}.AnnotateBatch(t.Context(), x, requests)
				if err != nil || !reflect.DeepEqual(got, replies) {
					t.Fatalf("place %v, n %d, %d workers: %v, or a batch answers otherwise", place, n, workers, err)
				}
			}
		}
	}
}
