package aspe

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cpar"
	"cpar/cloud/search"
	"cpar/internal/testing/syntheticphotos"
	"cpar/kdforest"
	"cpar/model/profile"
	"cpar/user/internal/index"
)

// TestEncryptedBesidePlain checks that encrypted and plaintext searches visit
// the same records with equal scores up to noise.
func TestEncryptedBesidePlain(t *testing.T) {
	for kind, photos := range kinds {
		x := setUp(t, kind, photos(300, 1), Options{Trees: 4}).write()
		twin, err := x.Twin()
		if err != nil {
			t.Fatal(err)
		}
		c := x.cloud()
		for _, p := range []cpar.Params{
			{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000},
			{Scheme: cpar.SchemeCPAR, L: 5, Approx: 200},
			{Scheme: cpar.SchemeCPAR, L: 5, Approx: 1000},
			{Scheme: cpar.SchemeCPAR, L: 5, Approx: 200, Prune: true},
			{Scheme: cpar.SchemeCPAR, L: 5, Approx: 200, Search: cpar.SearchByRank},
			{Scheme: cpar.SchemeCPAR, L: 5, Approx: 200, Search: cpar.SearchBestBin},
			{Scheme: cpar.SchemeIVF, L: 5, Approx: 200, Search: cpar.SearchIVF},
			{Scheme: cpar.SchemeIVF, L: 5, Approx: 1000, Search: cpar.SearchIVF},
		} {
			if p.Prune && kind != profile.Paper {
				continue // rejected: TestPruneIsRejectedForSquaredDistances
			}
			same, all := 0, 0
			for _, photo := range photos(20, 5) {
				reading, q := x.ask(x.vector(photo), p)
				var encrypted, plain []kdforest.Visit
				reply, err := search.AnnotateTraced(c, q, func(v kdforest.Visit) { encrypted = append(encrypted, v) })
				if err != nil {
					t.Fatal(err)
				}
				hits, err := twin.Search(reading, func(v kdforest.Visit) { plain = append(plain, v) })
				if err != nil {
					t.Fatal(err)
				}
				// This is the effect of noise on a score.
				near := 2e-4 * float64(reading.scale) * x.budget.Unit()
				if len(reply.Matches) != len(hits) || len(hits) != int(p.L) {
					t.Fatalf("%v, %+v: %d records, the twin has %d", kind, p, len(reply.Matches), len(hits))
				}
				for i, m := range reply.Matches {
					all++
					if math.Abs(float64(m.Score-hits[i].Score)) < near {
						same++
					}
				}
				if len(encrypted) != len(plain) || p.UsesForest() && len(plain) == 0 {
					t.Fatalf("%v, %+v: %d visits, the twin has %d", kind, p, len(encrypted), len(plain))
				}
				if p.Search == cpar.SearchIVF || p.Prune {
					continue // noise decides between cells, and near planes
				}
				for i, v := range encrypted {
					if w := plain[i]; v.Record != w.Record || v.Tree != w.Tree || math.Abs(float64(v.Score-w.Score)) > near {
						t.Fatalf("%v, %+v: visit %d is %+v, the twin has %+v", kind, p, i, v, w)
					}
				}
			}
			// Order ciphertexts are exact, so trees are searched identically.
			if least := map[bool]int{true: 90, false: 100}[p.Search == cpar.SearchIVF || p.Prune]; 100*same < least*all {
				t.Errorf("%v, %+v: %d of %d places agree", kind, p, same, all)
			}
		}
	}
}

// TestKernelsScoreAsTheFormula compares the kernels with inner products for
// scattered, consecutive and all records.
func TestKernelsScoreAsTheFormula(t *testing.T) {
	x := setUp(t, profile.Paper, syntheticphotos.Photos(60, 3), Options{Trees: 1, Lists: None})
	twin, err := x.Twin()
	if err != nil {
		t.Fatal(err)
	}
	p := cpar.Params{Scheme: cpar.SchemeCAPIA, L: 11, Approx: 1000}
	reading, _ := x.ask(x.collection.Records[7].Vector, p)
	space := twin.(*Twin).space(reading)
	row := make([]int64, x.budget.Dim())
	var want []kdforest.Hit
	for i := range uint32(60) {
		if err := x.budget.Record(row, x.collection.Records[i].Z, x.collection.Records[i].Vector.KL, 0); err != nil {
			t.Fatal(err)
		}
		want = append(want, kdforest.Hit{Record: i, Score: x.budget.PlainScore(row, reading.plain)})
	}
	records, some, run := []uint32{59, 0, 7, 7, 31}, make([]int64, 5), make([]int64, 57)
	space.Score(records, some)
	space.Run(3, run)
	for i, r := range records {
		if some[i] != want[r].Score {
			t.Errorf("record %d scores %d, by the formula %d", r, some[i], want[r].Score)
		}
	}
	for i, score := range run {
		if score != want[3+i].Score {
			t.Errorf("record %d scores %d in a run, by the formula %d", 3+i, score, want[3+i].Score)
		}
	}
	slices.SortStableFunc(want, func(a, b kdforest.Hit) int { return int(min(max(a.Score-b.Score, -1), 1)) })
	if got, err := twin.Search(reading, nil); err != nil || !slices.Equal(got, want[:11]) {
		t.Errorf("the scan finds %v, want %v; %v", got, want[:11], err)
	}
}

func TestPlaneDistance(t *testing.T) {
	x := setUp(t, profile.Paper, syntheticphotos.Photos(40, 3), Options{Trees: 2, Lists: None, Split: SplitOriginal})
	twin, err := x.Twin()
	if err != nil {
		t.Fatal(err)
	}
	for i, plane := range x.part.planes {
		want := int64(x.collection.Records[5].Vector.Levels[plane.Dim]) - int64(plane.Value)
		if got := twin.(*Twin).PlaneDistance(x.collection.Records[5].Vector, uint32(i)); got != want {
			t.Errorf("plane %d: %d, want %d", i, got, want)
		}
	}
}

type anotherScheme struct{ index.ReplyReader }

func TestTwinKnowsItsOwnRequests(t *testing.T) {
	twin, err := setUp(t, profile.Paper, syntheticphotos.Photos(3, 3), small).Twin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := twin.Search(anotherScheme{}, nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a request of another scheme: %v", err)
	}
}
