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

// Without embeddings there is no profile network.
func TestMeasureSmall(t *testing.T) {
	c := measuretest.Learnable(120, 40)
	s, err := MeasureSmallCollections(t.Context(), c, 2, []int{30, 60}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests != 40 || s.Draws != 2 || len(s.Rows) != 4 || len(s.Skipped) != 0 {
		t.Fatalf("%+v", s)
	}
	for i, r := range s.Rows {
		if want := []string{"learned", "network"}[i/2]; r.Profile != want || r.Records != []int{30, 60}[i%2] || len(r.ECE) != 2 {
			t.Errorf("row %d: %+v", i, r)
		}
		// Half of the keywords are unpredictable.
		if slices.Min(r.Found) <= 0 || slices.Max(r.Found) > 1.5 || len(r.Likely.Right) != 2 || r.Chance <= 0 || r.Pooled > max(r.ECE[0], r.ECE[1])+1e-4 || r.All <= 0 || r.All >= 0.5 {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if again, err := MeasureSmallCollections(t.Context(), c, 2, []int{30, 60}, nil); err != nil || !reflect.DeepEqual(s, again) {
		t.Errorf("%+v, again %+v, %v", s, again, err)
	}
	for i := range c.Train {
		c.Train[i].Vectors.Embedding = nil
	}
	if s, err = MeasureSmallCollections(t.Context(), c, 1, []int{30, 121}, nil); err != nil || len(s.Rows) != 1 || len(s.Skipped) != 1 {
		t.Errorf("without embeddings: %+v, %v", s, err)
	}
}

func TestProbableKeywordsMatchPlaintextIndex(t *testing.T) {
	c := measuretest.Learnable(60, 10)
	said, _, err := probableKeywords(t.Context(), c.Train, c.Test, profile.Learned)
	if err != nil {
		t.Fatal(err)
	}
	fit, err := fitProfile(t.Context(), c, profile.Learned, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := drawProfile(t.Context(), c, fit, []string{"plain"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.annotate("plain", rank.KindCalibrated, r.owner.Ranker().Neighbours(), user.Ranking{MaxKeywords: measure.AllKeywords})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		same := slices.EqualFunc(said[i], want[i], func(a, b rank.Keyword) bool {
			return a.Word == b.Word && math.Abs(a.Probability-b.Probability) < 1e-9
		})
		if !same {
			t.Errorf("test image %d: %v, want %v", i, said[i], want[i])
		}
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
	s := &SmallCollections{Requests: 9, Draws: 3, Rows: []SmallRow{{Profile: "learned", Records: 80, ECE: []float64{0.01, 0.03}, Chance: 0.012, Pooled: 0.015, All: 0.005, Found: []float64{0.9, 1},
		Likely: LikelyRow{Written: []float64{0.5, 0.7, 0}, Right: []float64{0.6, 0.8, 0}, Found: []float64{0.1, 0.3, 0}, Without: []float64{0.04, 0.06, 1}}}}}
	if got, want := s.Tables()[0].Rows[0], []string{"learned", "80", "0.02", "0.01", "0.03", "0.012", "0.015", "0.005", "0.95", "0.9", "1", "0.4", "72", "60", "80", "13", "37"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
