package search

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/shard"
)

func divided(t *testing.T, n, dim, fields, rows int) (whole *score.Index, some []*score.Index) {
	t.Helper()
	m, segments := parts(t, cpar.PlaceNode, n, dim, fields)
	vectors := segments[0]
	m.Segments, segments = m.Segments[1:], segments[1:]
	var list []cpar.Segment
	var bytes [][]byte
	for b := range slices.Chunk(vectors, 8*dim*rows) {
		list, bytes = append(list, cpar.Segment{Kind: cpar.SegmentVectors, Bytes: uint64(len(b)), Digest: sha256.Sum256(b)}), append(bytes, b)
	}
	m.Segments, segments = append(list, m.Segments...), append(bytes, segments...)
	whole, err := score.Load(m, segments)
	if err != nil {
		t.Fatal(err)
	}
	all := shard.Split(m, uint64(2*8*dim*rows))
	if want := (len(list) + 1) / 2; len(all) != want {
		t.Fatalf("%d parts, want %d", len(all), want)
	}
	for _, p := range all {
		needed := slices.Clone(segments)
		for i, there := range p.Needs(m) {
			if !there {
				needed[i] = nil
			}
		}
		x, err := score.LoadShard(m, p, needed)
		if err != nil {
			t.Fatal(err)
		}
		some = append(some, x)
	}
	return whole, some
}

func TestJoinedShardsEqualWhole(t *testing.T) {
	whole, some := divided(t, 730, 20, 8, 100)
	for _, p := range []cpar.Params{
		{Scheme: cpar.SchemeCAPIA, Approx: 1000}, {Scheme: cpar.SchemeCPAR, Approx: 1000}, {Scheme: cpar.SchemeCPAR, Approx: 100},
		{Scheme: cpar.SchemeCPAR, Approx: 25}, {Scheme: cpar.SchemeCPAR, Approx: 100, Search: cpar.SearchByRank},
		{Scheme: cpar.SchemeCPAR, Approx: 100, Search: cpar.SearchBestBin},
		{Scheme: cpar.SchemeCPAR, Approx: 100, Search: cpar.SearchIVF}, {Scheme: cpar.SchemeCPAR, Approx: 1000, Search: cpar.SearchIVF},
	} {
		for _, l := range []uint16{1, 10} {
			p.L = l
			t.Run(fmt.Sprint(p), func(t *testing.T) {
				var requests []*cpar.Request
				for seed := range uint64(7) {
					requests = append(requests, request(whole, p, seed))
				}
				want, err := AnnotateBatch(whole, requests)
				if err != nil {
					t.Fatal(err)
				}
				replies := make([][]*cpar.Reply, len(requests))
				for k, x := range some {
					batch, err := Options{Workers: 1 + k%3}.AnnotateBatch(t.Context(), x, requests)
					if err != nil {
						t.Fatal(err)
					}
					for i, q := range requests {
						one, err := Annotate(x, q)
						if err != nil || !reflect.DeepEqual(one, batch[i]) {
							t.Fatalf("part %d answers request %d with %+v alone (%v), with %+v among others", k, i, one, err, batch[i])
						}
						replies[i] = append(replies[i], one)
					}
				}
				for i, q := range requests {
					if got := Join(q, replies[i]); !reflect.DeepEqual(got, want[i]) {
						t.Errorf("request %d: the parts reply %+v, the whole %+v", i, got, want[i])
					}
				}
			})
		}
	}
	q := request(whole, cpar.Params{Scheme: cpar.SchemeCPAR, L: 10, Approx: 100, Prune: true}, 1)
	if _, err := Annotate(whole, q); err != nil {
		t.Error(err)
	}
	if _, err := Annotate(some[0], q); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a part prunes: %v", err)
	}
}
