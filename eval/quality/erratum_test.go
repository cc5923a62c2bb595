package quality

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/kdforest"
	"cpar/model/embed"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/vector"
)

// Erratum: the paper's hyperplanes are in JL space, where all coordinates are
// statistically alike. A forest over the original levels, some of which vary
// much more, finds more true neighbours with as many visits. Indexes therefore
// split there.
func TestErratumSplitsInTheOriginalSpace(t *testing.T) {
	const m, records, requests = 128, 1000, 60
	mHat := embed.Dimension(m, vector.Beta, profile.Alpha, profile.Gamma)
	rng := rand.New(rand.NewPCG(5, 6))
	levels := make([][]uint16, records+requests)
	for i := range levels {
		for d := range m {
			spread := 8.0
			if d < 4 {
				spread = 150
			}
			levels[i] = append(levels[i], uint16(max(0, min(999, 500+spread*rng.NormFloat64()))))
		}
	}
	baselines, err := embed.Baselines(levels, vector.Beta)
	if err != nil {
		t.Fatal(err)
	}
	projection, err := embed.New([32]byte{1}, m, vector.Beta, mHat, baselines)
	if err != nil {
		t.Fatal(err)
	}
	z, err := projection.EmbedAll(levels)
	if err != nil {
		t.Fatal(err)
	}
	scores := make([][]float64, requests)
	for i := range scores {
		for j := range records {
			scores[i] = append(scores[i], float64(distance.SquaredL2Int(z[records+i], z[j])))
		}
	}
	original := forestRecall(t, levels[:records], levels[records:], scores)
	projected := forestRecall(t, z[:records], z[records:], scores)
	t.Logf("of the ten nearest, AP-10 finds %.2f splitting the original space, %.2f splitting JL space", original, projected)
	if original < projected+0.1 {
		t.Error("splitting JL space finds nearly as many")
	}
	// 672 levels with PCA-128, 1,008 coordinates in JL space.
	s := measuretest.MustSession(t, 100)
	if fields, most := int(s.Cloud.Manifest.Fields), len(s.Requests[0].Levels); fields > most {
		t.Errorf("the index splits %d fields of %d", fields, most)
	}
}

// forestRecall returns the recall of the ten nearest at AP-10.
func forestRecall[T kdforest.Number](t *testing.T, rows, requests [][]T, scores [][]float64) float64 {
	t.Helper()
	f, planes, err := kdforest.Build(rows, kdforest.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found, truth [][]uint32
	for i, request := range requests {
		space := &givenScores[T]{planes, request, scores[i]}
		hits, _, err := f.Search(space, kdforest.Options{Visits: len(rows) / 10, L: 10})
		if err != nil {
			t.Fatal(err)
		}
		all, err := kdforest.Scan(space, len(rows), 10)
		if err != nil {
			t.Fatal(err)
		}
		found, truth = append(found, recordsOf(hits)), append(truth, recordsOf(all))
	}
	return measure.RecallAt10(found, truth)
}

func recordsOf(hits []kdforest.Hit) (out []uint32) {
	for _, h := range hits {
		out = append(out, h.Record)
	}
	return out
}

// givenScores is a space with given distances whose planes cut rows.
type givenScores[T kdforest.Number] struct {
	planes  []kdforest.Plane[T]
	request []T
	scores  []float64
}

func (s *givenScores[T]) Left(p uint32) bool { return s.planes[p].Left(s.request) }

func (s *givenScores[T]) Beyond(uint32, int64) bool { return false }

func (s *givenScores[T]) Score(records []uint32, scores []int64) {
	for i, r := range records {
		scores[i] = int64(s.scores[r])
	}
}

// Erratum: the recall of a keyword that was output and belongs to no request is
// 0/0, which makes the mean over output keywords undefined.
func TestErratumRecallOfAWordNobodyHas(t *testing.T) {
	j := measure.NewJudge([][]string{{"sea"}}, [][]string{{"sea"}, {"sea"}})
	all := []measure.Marks{j.Mark(0, []string{"sea", "dog"})}
	counts := j.Tally(all, []float64{1}, true)
	printed := 0.0
	for w := range counts.Predicted {
		printed += counts.Hit[w] / counts.Relevant[w]
	}
	if !math.IsNaN(printed) {
		t.Errorf("as printed %g", printed)
	}
	if got := counts.Recall(true); got != 100 {
		t.Errorf("over the words that can be judged: %g %%, want 100", got)
	}
}

// Erratum: few requests inflate accuracy. Missed keywords are left out of the
// mean, and most keywords belong to one of fifty requests, where a single hit
// is 100 %.
func TestErratumFewRequestsInflateRecall(t *testing.T) {
	const requests, words = 500, 260
	r := rand.New(rand.NewPCG(9, 9))
	frequent := func() string { return fmt.Sprint(int(words * math.Pow(r.Float64(), 2.5))) }
	var truth, said [][]string
	for range requests {
		has := []string{frequent(), frequent(), frequent()}
		var given []string
		for _, w := range has {
			if r.Float64() < 0.3 {
				given = append(given, w)
			}
		}
		truth, said = append(truth, has), append(said, append(given, frequent(), frequent(), frequent()))
	}
	recallOf := func(some []int) float64 {
		var its [][]string
		for _, i := range some {
			its = append(its, truth[i])
		}
		j := measure.NewJudge(its, append(slices.Clone(truth), truth...))
		all, weights := make([]measure.Marks, len(some)), make([]float64, len(some))
		for k, i := range some {
			all[k], weights[k] = j.Mark(k, said[i]), 1
		}
		return j.Tally(all, weights, true).Recall(true)
	}
	every := recallOf(r.Perm(requests))
	var few []float64
	for range 200 {
		few = append(few, recallOf(r.Perm(requests)[:50]))
	}
	t.Logf("%.1f %% of %d requests, median %.1f %% of 50", every, requests, measure.Median(few))
	if measure.Median(few) < every+8 {
		t.Errorf("%.1f %% of %d requests, median %.1f %% of 50: few requests do not inflate recall", every, requests, measure.Median(few))
	}
}

// Erratum: three scales and four orientations make twelve responses, and the
// paper prints "up to 256" values and no number of blocks. It may mean 240. Here
// scales are averaged, and four orientations of 64 blocks make 256.
func TestErratumTwelveGaborResponsesAreNot256(t *testing.T) {
	const responses, orientations = 3 * 4, 4
	if feature.GaborDim%responses == 0 || feature.GaborDim%orientations != 0 || 240%responses != 0 || vector.Dimension(128) != 2*64+2*240+2*128 {
		t.Errorf("%d values", feature.GaborDim)
	}
}
