package eval

import (
	"math/rand/v2"
	"testing"

	"cpar/kdforest"
	"cpar/user/distance"
	"cpar/user/embed"
	"cpar/user/profile"
	"cpar/user/vector"
)

// Erratum: the paper splits in JL space, where all coordinates are statistically alike. A
// forest over the original levels, some of which vary much more than others, finds more
// true neighbours with the same visits; so an index splits there.
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
		t.Error("JL space would have done")
	}
	// The fields of an index are levels: PCA-128 has 672, where JL space has 1,008 coordinates.
	s := mustSession(t, 100)
	if fields, most := int(s.Cloud.Manifest.Fields), len(s.Requests[0].Levels); fields > most {
		t.Errorf("the index splits %d fields of %d", fields, most)
	}
}

// forestRecall is the share of the ten nearest by scores that a forest over rows finds at AP-10.
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
		all, err := kdforest.Scan(space, len(rows), 10, 0)
		if err != nil {
			t.Fatal(err)
		}
		found, truth = append(found, recordsOf(hits)), append(truth, recordsOf(all))
	}
	return recall(found, truth)
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
