package measure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/user"
	"cpar/user/device"
)

// Encrypted and plaintext searches visit the same records in the same order,
// and AP-100 equals a scan of the same ciphertext.
func TestEncryptedSearchMatchesPlaintextTwin(t *testing.T) {
	c := measuretest.SyntheticCorpus(1, 300, 20)
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
			s := measuretest.NewSession(t, c, opt)
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
				run, err := s.RunAll(context.Background(), p, nil, "")
				if err != nil {
					t.Fatal(err)
				}
				swapped := 0
				for i, o := range run {
					if p.Search == cpar.SearchIVF {
						// Scores of centroids are noisy: almost equal ones may
						// swap.
						if len(o.EncryptedPath) != len(o.PlainPath) {
							t.Fatalf("%+v: request %d makes %d visits encrypted, %d in the clear", p, i, len(o.EncryptedPath), len(o.PlainPath))
						}
						if !slices.Equal(o.EncryptedPath, o.PlainPath) {
							swapped++
						}
					} else if !slices.Equal(o.EncryptedPath, o.PlainPath) {
						t.Fatalf("%+v: request %d visits %v encrypted, %v in the clear", p, i, o.EncryptedPath, o.PlainPath)
					}
					if p.Scheme != cpar.SchemeCAPIA && (len(o.EncryptedPath) == 0 || p.Approx == 1000 && !o.SameAsScan) {
						t.Fatalf("%+v: request %d: %d visits, equals the scan: %v", p, i, len(o.EncryptedPath), o.SameAsScan)
					}
				}
				if swapped > len(run)/2 {
					t.Errorf("%+v: %d of %d requests read their lists in another order", p, swapped, len(run))
				}
				// These images have closer neighbours than photos.
				if got := run.RankAgreement(); got < 0.95 {
					t.Errorf("%+v: %.3f of the places agree, want 0.95", p, got)
				}
			}
		})
	}
}

// Encrypted planes decide as plaintext planes do, except where a bound is
// within the noise of the worst score. Photos never prune, because no plane is
// as far as the tenth neighbour, so these images differ along a single line.
func TestPruningMatchesPlaintextTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	base := measuretest.RandomFeatures(rng, nil)
	image := func() user.Photo {
		v := *base
		share := rng.Float32()
		v.RGB = make([]float32, 48)
		v.RGB[3], v.RGB[7] = share, 1-share
		return user.Photo{Vectors: &v, Keywords: []string{"line"}}
	}
	c := new(measure.Corpus)
	for i := range 320 {
		if i < 300 {
			c.Train = append(c.Train, image())
		} else {
			c.Test = append(c.Test, image())
		}
	}
	s := measuretest.NewSession(t, c, user.Options{})
	p := cpar.Params{Scheme: cpar.SchemeCPAR, L: 2, Approx: 900}
	all, err := s.RunAll(context.Background(), p, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Prune = true
	run, err := s.RunAll(context.Background(), p, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	visits, same := 0, 0
	for _, o := range run {
		if fmt.Sprint(o.EncryptedPath) == fmt.Sprint(o.PlainPath) {
			same++
		}
		visits += len(o.PlainPath)
	}
	if same < len(run)*8/10 {
		t.Errorf("%d of %d requests are pruned alike encrypted and in the clear", same, len(run))
	}
	if visits > 300*len(run)/2 {
		t.Errorf("pruning left %d visits a request of 270: it prunes next to nothing", visits/len(run))
	}
	if got := run.RecallOf(all); got < 0.95 {
		t.Errorf("pruned, the search finds %.2f of what it finds otherwise", got)
	}
}

// Scores are exactly r_p·(level − split).
func TestPlaneScoresAreExact(t *testing.T) {
	s := measuretest.NewSession(t, measuretest.SyntheticCorpus(1, 200, 20), user.Options{})
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
		// r_p is the owner's secret, one number for all planes.
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

func TestSearchFindsKeywords(t *testing.T) {
	c := measuretest.SyntheticCorpus(1, 200, 20)
	s := measuretest.NewSession(t, c, user.Options{})
	for i, im := range c.Test {
		for _, p := range []cpar.Params{s.Builder.DefaultParams(), {Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}} {
			a, err := measure.AnnotatePhoto(t.Context(), s.DeviceIndex(), device.Extracted("made", im.Vectors), p, measure.StandardKeywords)
			if err != nil || !slices.Contains(measure.KeywordStrings(a.Keywords[:2]), im.Keywords[0]) {
				t.Errorf("image %d, %v: %v, %v; want %s", i, p.Scheme, a, err, im.Keywords[0])
			}
		}
	}
}

// Distances agree to within the noise, in units of D_L1 + D_KL.
func TestOwnerRecoversDistances(t *testing.T) {
	s := measuretest.NewSession(t, measuretest.SyntheticCorpus(1, 200, 20), user.Options{})
	approx, err := s.ProjectedDistances(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.RunAll(context.Background(), cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range run {
		for _, near := range o.Near {
			if want := approx[i][near.Record]; near.Dis < want-2e-3 || near.Dis > want+2e-3 {
				t.Errorf("request %d, record %d: distance %.5f, in the clear %.5f", i, near.Record, near.Dis, want)
			}
		}
	}
}
