package user

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/lattice"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vectorlayout"
	"cpar/user/internal/rows"
)

// all searches every cell for the l nearest records.
func (x *opened) all(im Photo, l int) []rank.Neighbour {
	x.t.Helper()
	v, err := x.Vector(im.Vectors)
	if err != nil {
		x.t.Fatal(err)
	}
	p := x.DefaultParams()
	p.L = uint16(l)
	pending, requests, err := x.Requests(v, p, true)
	if err != nil {
		x.t.Fatal(err)
	}
	var lists [][]rank.Neighbour
	for i, q := range requests {
		near, err := pending[i].Neighbours(x.answer(q))
		if err != nil {
			x.t.Fatal(err)
		}
		lists = append(lists, near)
	}
	return Nearest(l, lists...)
}

// TestCellsSurviveUpdates checks that indexes with and without cells find the
// same after additions, removals and compaction.
func TestCellsSurviveUpdates(t *testing.T) {
	ctx, key := context.Background(), testKey()
	first, second, asked := madeEmbedded(60, 1), madeEmbedded(4, 2), madeEmbedded(3, 9)
	opt := Options{Scheme: cpar.SchemeSealed, Profile: profile.Network, Cells: 4}
	b, folder := build(t, key, first, opt)
	check := func(when string, live int, open int) *opened {
		t.Helper()
		x := held(t, key, folder)
		for _, im := range asked {
			every := x.all(im, 100)
			if len(every) != live {
				t.Errorf("%s: %d records in all clusters, want %d", when, len(every), live)
			}
			some := x.nearest(im, 100)
			if most := open + lattice.CellSize(62, 4, true); len(some) > most || len(some) == 0 {
				t.Errorf("%s: %d records in a cluster, at most %d", when, len(some), most)
			}
			at := 0
			for _, n := range every {
				if at < len(some) && some[at].Record == n.Record && some[at].Dis == n.Dis && slices.Equal(some[at].Keywords, n.Keywords) {
					at++
				}
			}
			if at != len(some) {
				t.Errorf("%s: %d of the %d records of a cluster are among all in their order", when, at, len(some))
			}
		}
		return x
	}
	x := check("built", 60, 0)
	plain := setUp(t, key, first, Options{Fitted: b.Fitted(), Scheme: cpar.SchemeSealed, Cells: 1})
	twin, err := plain.Twin()
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := twin.Rows()
	for _, im := range asked {
		near := x.all(im, 10)
		v, err := plain.Vector(im.Vectors)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := whole.Scores(v)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(scores)
		for i, n := range near {
			if want, _ := whole.Dis(v, scores[i]); want != n.Dis {
				t.Errorf("neighbour %d at distance %g, without clusters at %g", i, n.Dis, want)
			}
		}
	}
	done, err := Add(ctx, key, folder, second, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done.Added != 4 {
		t.Errorf("%+v", done)
	}
	x = check("added", 64, 4)
	for i, im := range second {
		if near := x.nearest(im, 1); near[0].Dis > 0.01 {
			t.Errorf("added photo %d is found at a distance of %g", i, near[0].Dis)
		}
	}
	if _, err := Remove(ctx, key, folder, contentsOfAll(first[:2]), UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	check("removed", 62, 4)
	if _, err := Compact(ctx, key, folder, UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	x = check("compacted", 62, 0)
	if s, ok := x.manifest.Segment(cpar.SegmentParams); !ok || s.Bytes != cpar.ClusteredParamsBytes {
		t.Errorf("compacted: parameters of %d bytes", s.Bytes)
	}
}

func TestDefaultCellsDependOnSize(t *testing.T) {
	layout := vectorlayout.SquaredL2(96, 1000)
	for n, want := range map[int]int{1: 0, 4500: 0, 49_999: 0, 50_000: 2, 399_999: 2, 400_000: 3, 1_000_000: 3} {
		if got := rows.NewQuantiser(layout, true).LogCells(n); got != want {
			t.Errorf("%d records: 2^%d clusters, want 2^%d", n, got, want)
		}
		if got := rows.NewQuantiser(profile.PaperLayout(32), true).LogCells(n) + rows.NewQuantiser(layout, false).LogCells(n); got != 0 {
			t.Errorf("%d records of profile paper or scheme local have clusters", n)
		}
	}
	for name, o := range map[string]Options{
		"profile paper": {Cells: 2},
		"no power":      {Cells: 3, Profile: profile.Learned},
		"too many":      {Cells: 16, Profile: profile.Learned},
		"negative":      {Cells: -1, Profile: profile.Learned},
		"scheme local":  {Cells: 2, Profile: profile.Learned, Scheme: cpar.SchemeLocal},
		"scheme cpar":   {Cells: 2, Profile: profile.Learned, Scheme: cpar.SchemeCPAR},
	} {
		if err := o.Check(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWordsChooseHowManyCellsAreAsked checks that build and compaction let the words
// of an index, or its photos if there are few words, determine how many cells a
// search asks. Two groups of photos have keywords. The other photos are scattered,
// so that their neighbours are in several cells.
func TestWordsChooseHowManyCellsAreAsked(t *testing.T) {
	const group = 110
	r := rand.New(rand.NewPCG(33, 1))
	random := func(length float64) []float32 {
		x := make([]float32, 48)
		for i := range x {
			x[i] = float32(length * r.NormFloat64())
		}
		return x
	}
	centres := [][]float32{random(1), random(1)}
	for name, c := range map[string]struct{ words, asked int }{"words": {40, 1}, "few words": {1, 2}} {
		photos := make([]Photo, 600)
		for i := range photos {
			x := random(1)
			if i < 2*group {
				photos[i].Keywords = []string{fmt.Sprint("group ", i%2, " word ", i/2%c.words)}
				for j := range x {
					x[j] = x[j]/4 + centres[i%2][j]
				}
			}
			photos[i].Content = sha256.Sum256([]byte{byte(i), byte(i >> 8)})
			photos[i].Vectors = &feature.Vectors{Embedding: &feature.Embedding{Values: x}}
		}
		key := testKey()
		b, folder := build(t, key, photos, Options{Profile: profile.Clip, Cells: 4, Ranker: rank.KindPaper, Text: func(words []string) ([][]float32, error) {
			return slices.Repeat([][]float32{centres[0]}, len(words)), nil
		}})
		if b.Asked() != c.asked {
			t.Errorf("%s: a search asks %d cells, want %d", name, b.Asked(), c.asked)
		}
		if _, err := Compact(t.Context(), key, folder, UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if asked := held(t, key, folder).Asked(); asked != c.asked {
			t.Errorf("%s: after compaction, a search asks %d cells, want %d", name, asked, c.asked)
		}
	}
}
