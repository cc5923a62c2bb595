package eval

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/user"
	"cpar/user/device"
)

func session(t testing.TB, c *Corpus, opt user.Options) *Session {
	t.Helper()
	s, err := NewSession(context.Background(), c, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestEncryptedSearchIsItsTwin: whatever the parameters, the encrypted search visits the
// same records in the same order as the search in the clear, and AP-100 returns the same
// as a scan of the same ciphertext.
func TestEncryptedSearchIsItsTwin(t *testing.T) {
	c := syntheticCorpus(1, 300, 20)
	for name, opt := range map[string]user.Options{
		"default":      {WithLists: true},
		"ope":          {Order: user.OrderOPE},
		"PCA-8":        {PCA: 8, Trees: 3},
		"PCA-128":      {PCA: 128, Trees: 1},
		"more trees":   {Trees: 20},
		"the paper's":  {Split: user.SplitOriginal, Place: cpar.PlaceNode},
		"at nodes":     {Place: cpar.PlaceNode, Trees: 2, WithLists: true, Lists: 7},
		"levels":       {Split: user.SplitOriginal},
		"lists":        {Scheme: cpar.SchemeIVF, Lists: 25},
		"one list":     {Scheme: cpar.SchemeIVF, Lists: 1},
		"a list a few": {Scheme: cpar.SchemeIVF, Lists: 60},
	} {
		t.Run(name, func(t *testing.T) {
			s := session(t, c, opt)
			for _, p := range []cpar.Params{
				{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000},
				{Scheme: cpar.SchemeCPAR, L: 10, Approx: 1000},
				{Scheme: cpar.SchemeCPAR, L: 10, Approx: 100},
				{Scheme: cpar.SchemeCPAR, L: 3, Approx: 25},
				{Scheme: cpar.SchemeCPAR, L: 10, Approx: 200, Search: cpar.SearchByRank},
				{Scheme: cpar.SchemeCPAR, L: 10, Approx: 1000, Search: cpar.SearchByRank},
				{Scheme: cpar.SchemeCPAR, L: 10, Approx: 200, Search: cpar.SearchBestBin},
				{Scheme: cpar.SchemeCPAR, L: 10, Approx: 1000, Search: cpar.SearchBestBin},
				{Scheme: cpar.SchemeIVF, L: 10, Approx: 100, Search: cpar.SearchIVF},
				{Scheme: cpar.SchemeIVF, L: 4, Approx: 333, Search: cpar.SearchIVF},
				{Scheme: cpar.SchemeIVF, L: 10, Approx: 1000, Search: cpar.SearchIVF},
			} {
				if !s.Cloud.Manifest.Serves(p) {
					if _, _, err := s.Builder.RequestVector(s.Requests[0], p); !errors.Is(err, cpar.ErrInput) {
						t.Errorf("%+v, which the index cannot serve: %v", p, err)
					}
					continue
				}
				run, err := s.runAll(context.Background(), p, nil, "")
				if err != nil {
					t.Fatal(err)
				}
				swapped := 0
				for i, o := range run {
					if p.Search == cpar.SearchIVF {
						// Centroids' scores are noisy: two that are almost equally far
						// may change places.
						if len(o.encryptedPath) != len(o.plainPath) {
							t.Fatalf("%+v: request %d makes %d visits encrypted, %d in the clear", p, i, len(o.encryptedPath), len(o.plainPath))
						}
						if !slices.Equal(o.encryptedPath, o.plainPath) {
							swapped++
						}
					} else if !slices.Equal(o.encryptedPath, o.plainPath) {
						t.Fatalf("%+v: request %d visits %v encrypted, %v in the clear", p, i, o.encryptedPath, o.plainPath)
					}
					if p.Scheme != cpar.SchemeCAPIA && (len(o.encryptedPath) == 0 || p.Approx == 1000 && !o.sameAsScan) {
						t.Fatalf("%+v: request %d: %d visits, equals the scan: %v", p, i, len(o.encryptedPath), o.sameAsScan)
					}
				}
				if swapped > len(run)/2 {
					t.Errorf("%+v: %d of %d requests read their lists in another order", p, swapped, len(run))
				}
				// Neighbours of these images are closer together than those of
				// photographs, which cpar-eval agreement measures.
				if got := run.rankAgreement(); got < 0.95 {
					t.Errorf("%+v: %.3f of the places agree, want 0.95", p, got)
				}
			}
		})
	}
}

// TestPruningIsItsTwin: with pruning, the encrypted planes decide as the planes in the
// clear do. Photographs never prune (no plane is as far as the tenth neighbour), so these
// images differ only along one line. A far side whose bound is within the noise of the
// worst score can be decided either way, which is rare.
func TestPruningIsItsTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	base := randomFeatures(rng, nil)
	image := func() user.Photo {
		v := *base
		share := rng.Float32()
		v.RGB = make([]float32, 48)
		v.RGB[3], v.RGB[7] = share, 1-share
		return user.Photo{Vectors: &v, Keywords: []string{"line"}}
	}
	c := new(Corpus)
	for i := range 320 {
		if i < 300 {
			c.Train = append(c.Train, image())
		} else {
			c.Test = append(c.Test, image())
		}
	}
	s := session(t, c, user.Options{})
	p := cpar.Params{Scheme: cpar.SchemeCPAR, L: 2, Approx: 900}
	all, err := s.runAll(context.Background(), p, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Prune = true
	run, err := s.runAll(context.Background(), p, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	visits, same := 0, 0
	for _, o := range run {
		if fmt.Sprint(o.encryptedPath) == fmt.Sprint(o.plainPath) {
			same++
		}
		visits += len(o.plainPath)
	}
	if same < len(run)*8/10 {
		t.Errorf("%d of %d requests are pruned alike encrypted and in the clear", same, len(run))
	}
	if visits > 300*len(run)/2 {
		t.Errorf("pruning left %d visits a request of 270: it prunes next to nothing", visits/len(run))
	}
	if got := run.recallOf(all); got < 0.95 {
		t.Errorf("pruned, the search finds %.2f of what it finds otherwise", got)
	}
}

// TestPlanesAreExact: the plane scores computed by the cloud are exactly
// r_p·(level − split), for every plane and request.
func TestPlanesAreExact(t *testing.T) {
	s := session(t, syntheticCorpus(1, 200, 20), user.Options{})
	twin, _ := s.Twin.ASPE()
	for i, v := range s.Requests {
		_, q, err := s.Builder.RequestVector(v, cpar.Params{Scheme: cpar.SchemeCPAR, L: 1, Approx: 100, Prune: true})
		if err != nil {
			t.Fatal(err)
		}
		scores, err := s.Cloud.PlaneScores(q)
		if err != nil {
			t.Fatal(err)
		}
		// r_p is the owner's secret: it must be a single number for all planes.
		scale := int64(0)
		for j, got := range scores {
			d := twin.PlaneDistance(v, uint32(j))
			if d == 0 {
				if got != 0 {
					t.Fatalf("request %d lies on plane %d, score %d", i, j, got)
				}
				continue
			}
			if scale == 0 {
				scale = got / d
			}
			if got != scale*d || scale < 128 || scale > 255 {
				t.Fatalf("request %d, plane %d: score %d at %d levels, r_p %d", i, j, got, d, scale)
			}
		}
	}
}

// TestKeywordsComeBack: end to end, the search finds the keywords of the image's kind.
func TestKeywordsComeBack(t *testing.T) {
	c := syntheticCorpus(1, 200, 20)
	s := session(t, c, user.Options{})
	for i, im := range c.Test {
		for _, p := range []cpar.Params{s.Builder.DefaultParams(), {Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}} {
			a, err := annotatePhoto(t.Context(), s.deviceIndex(), device.Extracted("made", im.Vectors), p, standardKeywords)
			if err != nil || !slices.Contains(keywordStrings(a.Keywords[:2]), im.Keywords[0]) {
				t.Errorf("image %d, %v: %v, %v; want %s", i, p.Scheme, a, err, im.Keywords[0])
			}
		}
	}
}

// TestDistancesComeBack: the owner reads distances from the scores as exactly as the
// noise allows, in the unit of D_L1 + D_KL.
func TestDistancesComeBack(t *testing.T) {
	s := session(t, syntheticCorpus(1, 200, 20), user.Options{})
	approx, err := s.projectedDistances(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.runAll(context.Background(), cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range run {
		for _, near := range o.near {
			if want := approx[i][near.Record]; near.Dis < want-2e-3 || near.Dis > want+2e-3 {
				t.Errorf("request %d, record %d: distance %.5f, in the clear %.5f", i, near.Record, near.Dis, want)
			}
		}
	}
}

func TestMeasure(t *testing.T) {
	got := MeasureQuality([][]string{{"sea", "sky"}, {"sea", "car"}}, [][]string{{"sea"}, {"sky", "car"}})
	// sea: 1 of 2 said, 1 of 1 found; sky: 0 of 1, 0 of 1; car: 1 of 1, 1 of 1.
	if want := (Quality{P: 50, R: RoundTo(200.0/3, 2), F1: RoundTo(400.0/7, 2), Nplus: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
