package user

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/search"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/kdforest"
	"cpar/model/profile"
	"cpar/model/rank"
)

// TestSchemesSearchTheirOwnStructure checks that the server uses the forest
// under cpar and no tree under ivf and capia.
func TestSchemesSearchTheirOwnStructure(t *testing.T) {
	images := madeImages(80, 1)
	for scheme, want := range map[cpar.Scheme]struct{ trees, lists bool }{
		cpar.SchemeCPAR: {trees: true}, cpar.SchemeIVF: {lists: true}, cpar.SchemeCAPIA: {},
	} {
		key := testKey()
		_, folder := build(t, key, images, Options{Scheme: scheme})
		x := held(t, key, folder)
		if (x.manifest.Trees > 0) != want.trees || (x.manifest.Lists > 0) != want.lists {
			t.Errorf("%v: %d trees, %d lists", scheme, x.manifest.Trees, x.manifest.Lists)
		}
		planes, centroids := 0, uint64(0)
		for i := range 3 {
			_, q, err := x.Request(images[i].Vectors, x.DefaultParams())
			if err != nil {
				t.Fatal(err)
			}
			o := search.Options{Workers: 1, Stats: func(s kdforest.Stats) { planes += s.PlanesCompared }}
			reply, err := o.Annotate(context.Background(), x.cloud(), x.sent(q))
			if err != nil {
				t.Fatal(err)
			}
			if len(reply.Matches) != 10 || len(reply.Matches[0].Keywords) == 0 {
				t.Errorf("%v: %d matches", scheme, len(reply.Matches))
			}
			// The remaining bytes read are centroids.
			centroids += reply.Touched/(8*uint64(x.manifest.Dim)) - uint64(reply.Visited)
		}
		if (planes > 0) != want.trees {
			t.Errorf("%v: %d planes of trees were compared", scheme, planes)
		}
		if centroids != 3*uint64(x.manifest.Lists) {
			t.Errorf("%v: %d centroids were scored in three requests, there are %d", scheme, centroids, x.manifest.Lists)
		}
	}
}

// TestListsFindWhatScanFinds compares scheme ivf at AP-100 with a scan.
func TestListsFindWhatScanFinds(t *testing.T) {
	key := testKey()
	_, folder := build(t, key, madeImages(80, 1), Options{Scheme: cpar.SchemeIVF, PCA: 128, Lists: 9})
	x := held(t, key, folder)
	for _, photo := range madeImages(4, 9) {
		_, q, err := x.Request(photo.Vectors, x.params(12))
		if err != nil {
			t.Fatal(err)
		}
		all := *q
		all.Params.Scheme, all.Params.Search = cpar.SchemeCAPIA, 0
		same := func(a, b cpar.Match) bool {
			return a.Record == b.Record && a.Score == b.Score && slices.Equal(a.Keywords, b.Keywords)
		}
		if lists, scan := x.answer(q), x.answer(&all); lists.Visited != 80 || len(scan.Matches) != 12 || !slices.EqualFunc(lists.Matches, scan.Matches, same) {
			t.Errorf("the lists find %v, a scan %v", lists.Matches, scan.Matches)
		}
	}
}

// TestForestAndLists checks that an index with both structures answers every
// search of either.
func TestForestAndLists(t *testing.T) {
	key, opt := testKey(), small(cpar.SchemeCPAR)
	opt.Profile, opt.Ranker = profile.Network, rank.KindCalibrated
	_, folder := build(t, key, madeEmbedded(30, 1), opt)
	x := held(t, key, folder)
	if m := x.manifest; m.Scheme != cpar.SchemeCPAR || m.Trees != 2 || m.Lists != 3 {
		t.Fatalf("%+v", m)
	}
	if p := x.DefaultParams(); p.Search != cpar.SearchDepthFirst || p.Scheme != cpar.SchemeCPAR {
		t.Errorf("asked by %+v", p)
	}
	images := madeEmbedded(30, 1)
	ask := func(p cpar.Params) {
		t.Helper()
		p.L, p.Approx = 3, 500
		if p.Search == cpar.SearchIVF {
			p.Approx = 1000 // searching half of the records could stop before the photo, even in its own cell
		}
		for _, i := range []int{0, 7, 21} {
			pending, q, err := x.Request(images[i].Vectors, p)
			if err != nil {
				t.Fatal(err)
			}
			near, err := pending.Neighbours(x.answer(q))
			if err != nil || len(near) != 3 || near[0].Dis != 0 || !slices.Equal(near[0].Keywords, images[i].Keywords) {
				t.Fatalf("%v by %v, photo %d: %v, %v", p.Scheme, p.Search, i, near, err)
			}
			words, err := x.Rank(near, Ranking{MaxKeywords: 2})
			if err != nil || len(words) != 2 || !slices.Contains(images[i].Keywords, words[0].Word) {
				t.Errorf("%v by %v, photo %d: %v, %v", p.Scheme, p.Search, i, words, err)
			}
		}
	}
	for _, how := range cpar.SchemeCPAR.Searches() {
		ask(cpar.Params{Scheme: cpar.SchemeCPAR, Search: how})
	}
	ask(cpar.Params{Scheme: cpar.SchemeIVF, Search: cpar.SearchIVF})
	ask(cpar.Params{Scheme: cpar.SchemeCAPIA})
}

func TestIndexWithoutProfileSegmentIsRejected(t *testing.T) {
	_, err := indexdir.Open("testdata/forest-and-lists/index")
	if !errors.Is(err, cpar.ErrVersion) || !strings.Contains(hint.Of(err), "cpar build") {
		t.Errorf("%v; hint %q", err, hint.Of(err))
	}
}
