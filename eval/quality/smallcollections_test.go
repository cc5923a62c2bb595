package quality

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

func TestMeasureSmall(t *testing.T) {
	c := measuretest.Learnable(120, 40)
	kinds := []string{"network", "learned"}
	for _, kind := range kinds {
		s, err := MeasureSmallCollections(t.Context(), c, 1, []int{30, 60, 121}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Requests != 40 || len(s.Rows) != 2 {
			t.Fatalf("%+v", s)
		}
		for i, r := range s.Rows {
			if r.Profile != kind || r.Records != []int{30, 60}[i] || len(r.ECE) != 12 || len(r.Quality) != 12 {
				t.Errorf("row %d: %+v", i, r)
			}
			// Half of the keywords are unpredictable.
			if slices.Min(r.Found) <= 0 || slices.Max(r.Found) > 1.6 || len(r.Likely) != 2 || len(r.Likely[1]) != 12 || r.Chance <= 0 || r.Pooled > slices.Max(r.ECE)+1e-4 || r.All <= 0 || r.All >= 0.5 {
				t.Errorf("row %d: %+v", i, r)
			}
		}
		if again, err := MeasureSmallCollections(t.Context(), c, 1, []int{30, 60}, nil); err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%+v, again %+v, %v", s, again, err)
		}
		for i := range c.Train {
			c.Train[i].Vectors.Embedding = nil
		}
	}
}

func TestSmallDraws(t *testing.T) {
	for _, x := range [][3]int{{0, 9, 1}, {30, 9, 100}, {100, 9, 20}, {999, 1, 3}, {1000, 9, 9}, {4500, 2, 2}} {
		if got := smallDraws(x[0], x[1]); got != x[2] {
			t.Errorf("%d photos, %d draws: %d, want %d", x[0], x[1], got, x[2])
		}
	}
}

func TestProbableKeywordsMatchPlaintextIndex(t *testing.T) {
	c := measuretest.Learnable(60, 10)
	got, err := probableKeywords(t.Context(), c, profile.Learned)
	if err != nil {
		t.Fatal(err)
	}
	fit, err := fitProfile(t.Context(), c, profile.Learned, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := measure.OpenSession(t.Context(), c, user.Options{Fitted: fit, Ranker: rank.KindCalibrated})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	near, err := s.PlainNearest(t.Context(), s.Builder.Ranker().Neighbours())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range s.Requests {
		want, err := s.Builder.Rank(near[i], user.Ranking{MaxKeywords: measure.AllKeywords, Guess: v.Guess})
		if err != nil {
			t.Fatal(err)
		}
		same := slices.EqualFunc(got.said[i], want, func(a, b rank.Keyword) bool {
			return a.Word == b.Word && math.Abs(a.Probability-b.Probability) < 1e-9
		})
		if !same {
			t.Errorf("test image %d: %v, want %v", i, got.said[i], want)
		}
	}
	if len(got.thresholds) != 2 || got.thresholds[0] != s.Builder.Threshold(2.0/3) || got.thresholds[1] != s.Builder.Threshold(0.8) {
		t.Errorf("thresholds %v", got.thresholds)
	}
}

// Of two photos, one gets a right and a wrong word, the other none.
func TestLikely(t *testing.T) {
	said := [][]rank.Keyword{{{Word: "sea", Probability: 0.9}, {Word: "owl", Probability: 0.6}, {Word: "sky", Probability: 0.5}}, {{Word: "car", Probability: 0.1}}}
	got := likely(said, [][]string{{"sea", "sky", "sand"}, {"car"}}, 0.8, 0.6)
	if want := (Likely{Asked: 0.8, Threshold: 0.6, Written: 1, Right: 0.5, Found: 0.25, Without: 0.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A keyword with probability one half has an error of one half, right or wrong.
func TestChanceCalibrationError(t *testing.T) {
	off, err := chanceCalibrationError([][]rank.Keyword{{{Word: "sea", Probability: 0.5}}}, 1)
	if err != nil || math.Abs(off-0.5) > 1e-9 {
		t.Errorf("%g, %v", off, err)
	}
	many := make([][]rank.Keyword, 10000)
	for i := range many {
		many[i] = []rank.Keyword{{Word: "sea", Probability: 0.5}}
	}
	// The mean deviation of a share of 10,000 is √(2/π)·0.005.
	if off, err = chanceCalibrationError(many, 1); err != nil || math.Abs(off-0.004) > 0.001 {
		t.Errorf("of many: %g, %v", off, err)
	}
}

// The draw that writes more weighs more, and one that writes nothing has no
// share.
func TestSmallTable(t *testing.T) {
	s := &SmallCollections{Requests: 9, Rows: []SmallRow{{Profile: "learned", Records: 80, ECE: []float64{0.01, 0.03}, Chance: 0.012, Pooled: 0.015, All: 0.005, Found: []float64{0.9, 1},
		Quality: []measure.Quality{{P: 20, R: 30, F1: 24, Nplus: 50}, {P: 22, R: 32, F1: 26, Nplus: 52}},
		Likely:  [][]Likely{{{Asked: 0.8, Written: 0.5, Right: 0.6, Found: 0.1, Without: 0.04}, {Written: 0.7, Right: 0.8, Found: 0.3, Without: 0.06}, {Without: 1}}}}}}
	tables := s.Tables()
	for i, want := range [][]string{
		{"learned", "80", "2", "0.02", "0.01", "0.03", "0.012", "0.015", "0.005", "0.95", "0.9", "1", "21", "31", "51", "25"},
		{"learned", "80", "0.8", "0.4", "72", "60", "80", "13", "37"},
	} {
		if got := tables[i].Rows[0]; !slices.Equal(got, want) || len(got) != len(tables[i].Columns) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
