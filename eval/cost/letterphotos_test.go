package cost

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"cpar"
	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/internal/testing/oracle"
	"cpar/kdforest"
	"cpar/model/embed"
	"cpar/model/vector"
	"cpar/user"
)

// These tests look at photographs of Corel-5k. CPAR_LETTER_PHOTOS=4500 indexes
// that many, with the features that cpar-eval keeps. docs/PAPER.md states the
// figures of 4,500 and 499 requests.

func photographs(t *testing.T) *measure.Corpus {
	t.Helper()
	n, cache := 300, ""
	if s := os.Getenv("CPAR_LETTER_PHOTOS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
		cache = "../../results/features"
	}
	c, err := measure.LoadSample(t.Context(), oracle.Path(t, "data/corel5k"), cache, n, max(20, n/9), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A planeSetting holds the plain vectors that the paper's forest and comparisons
// need.
type planeSetting struct {
	requests int
	levels   [][]uint16  // records, then requests
	kl       [][]float64 // likewise
	z        [][]int16   // V̂, likewise
	unit     float64     // squared units of z in one unit of distance
}

func planesOf(t *testing.T, c *measure.Corpus, raised bool) planeSetting {
	t.Helper()
	train, test, err := measure.PlainVectors(c, letterPCA)
	if err != nil {
		t.Fatal(err)
	}
	s := planeSetting{requests: len(test)}
	for i, image := range letterImages(append(slices.Clone(train), test...), append(slices.Clone(c.Train), c.Test...)) {
		s.levels, s.kl = append(s.levels, image.Levels), append(s.kl, image.KL)
		if raised {
			s.kl[i] = append(train, test...)[i].KL
		}
	}
	baselines, err := embed.Baselines(s.levels, vector.Beta)
	if err != nil {
		t.Fatal(err)
	}
	m := len(s.levels[0])
	mHat := embed.Dimension(m, vector.Beta, 1, 100)
	projection, err := embed.New([32]byte{1}, m, vector.Beta, mHat, baselines)
	if err != nil {
		t.Fatal(err)
	}
	if s.z, err = projection.EmbedAll(s.levels); err != nil {
		t.Fatal(err)
	}
	s.unit = float64(mHat) * vector.Beta / 2
	return s
}

// paperTrees are the trees of package letter.
var paperTrees = kdforest.BuildOptions{Top: 5, Draw: kdforest.DrawEvenly, Split: kdforest.SplitMedian}

// forest builds the paper's trees over levels and bins, which count `scale`
// levels.
func (s planeSetting) forest(t *testing.T, scale float64) (*kdforest.Forest, []kdforest.Plane[uint16]) {
	t.Helper()
	var points [][]uint16
	for i := range len(s.levels) - s.requests {
		p := slices.Clone(s.levels[i])
		for _, x := range s.kl[i] {
			p = append(p, uint16(math.Round(x*scale)))
		}
		points = append(points, p)
	}
	f, planes, err := kdforest.Build(points, paperTrees)
	if err != nil {
		t.Fatal(err)
	}
	return f, planes
}

// term is v·log(v/c), or 0 if either bin is empty (Sec. IV-C).
func term(v, c float64) float64 {
	log := func(x float64) float64 {
		if x == 0 {
			return 0
		}
		return math.Log(x)
	}
	if c == 0 { // G(0) = 0 leaves out v·log v
		return 0
	}
	return v * (log(v) - log(c))
}

func divergence(v, c []float64) (sum float64) {
	for i, x := range v {
		sum += term(x, c[i])
	}
	return sum
}

// farthest returns the largest Dis(H_i, V_s) of planes that split a level and
// of planes that split a bin, as shares of the distance of the nearest and of
// the tenth neighbour. Index 0 is for levels and 1 for bins.
func (s planeSetting) farthest(t *testing.T, f *kdforest.Forest, planes []kdforest.Plane[uint16]) (first, tenth [2]float64, compared int) {
	t.Helper()
	n := len(s.levels) - s.requests
	type reach struct{ first, tenth [2]float64 }
	all := make([]reach, s.requests)
	if err := measure.Each(t.Context(), s.requests, func(i int) error {
		z, kl := s.z[n+i], s.kl[n+i]
		distances := make([]float64, n)
		for r := range n {
			distances[r] = float64(distance.SquaredL2Int(z, s.z[r]))/s.unit + divergence(s.kl[r], kl)
		}
		slices.Sort(distances)
		for _, tree := range f.Trees {
			for _, node := range tree {
				if node.Plane == kdforest.None {
					continue
				}
				field, kind := planes[node.Plane].Dim, 0
				var d float64
				if m := len(s.levels[0]); field < m {
					gap := float64(s.z[node.Record][field]) - float64(z[field])
					d = gap * gap / s.unit
				} else {
					kind, d = 1, term(s.kl[node.Record][field-m], kl[field-m])
				}
				all[i].first[kind] = max(all[i].first[kind], d/distances[0])
				all[i].tenth[kind] = max(all[i].tenth[kind], d/distances[9])
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		for kind := range 2 {
			first[kind], tenth[kind] = max(first[kind], x.first[kind]), max(tenth[kind], x.tenth[kind])
		}
	}
	for _, tree := range f.Trees {
		for _, node := range tree {
			if node.Plane != kdforest.None {
				compared += s.requests
			}
		}
	}
	return first, tenth, compared
}

// The paper skips a side whose hyperplane is farther than the last image in
// Queue. For photographs no hyperplane is as far as even the nearest image,
// because it stands for one coordinate of 1,296 or one bin of 48.
func TestErratumNoHyperplaneIsBeyondTheTenth(t *testing.T) {
	c := photographs(t)
	for _, raised := range []bool{false, true} {
		s := planesOf(t, c, raised)
		f, planes := s.forest(t, vector.Beta/2.)
		first, tenth, compared := s.farthest(t, f, planes)
		t.Logf("raised %v: of %d hyperplanes, the farthest of a level is at %.1f %% and of a bin at %.1f %% of the tenth neighbour, %.1f %% and %.1f %% of the nearest",
			raised, compared, 100*tenth[0], 100*tenth[1], 100*first[0], 100*first[1])
		if tenth[0] == 0 || tenth[1] == 0 || max(tenth[0], tenth[1], first[0], first[1]) > 0.95 {
			t.Errorf("shares of the tenth neighbour %v, of the nearest %v", tenth, first)
		}
		for _, scale := range []float64{vector.Beta / 2., vector.Beta} {
			f, planes := s.forest(t, scale)
			bins, nodes, images := 0, 0, map[[2]uint32]bool{}
			for _, tree := range f.Trees {
				for _, node := range tree {
					if node.Plane == kdforest.None {
						continue
					}
					field := planes[node.Plane].Dim
					nodes++
					images[[2]uint32{node.Record, uint32(field)}] = true
					if field >= len(s.levels[0]) {
						bins++
					}
				}
			}
			t.Logf("raised %v, a bin of 1 is %g levels: %.0f %% of %d splits are of bins, and %.3f of them differ in image or field",
				raised, scale, 100*float64(bins)/float64(nodes), nodes, float64(len(images))/float64(nodes))
		}
	}
}

// If empty bins count 0, divergences of photographs can be negative. Every two
// share a bin.
func TestErratumDivergencesOfPhotographsAreNegative(t *testing.T) {
	s := planesOf(t, photographs(t), false)
	n := len(s.levels) - s.requests
	pairs, strangers, negative, near := 0, 0, 0, 0
	for i := range s.requests {
		distances, below := make([]float64, n), make([]bool, n)
		for r := range n {
			pairs++
			kl := divergence(s.kl[r], s.kl[n+i])
			if below[r] = kl < 0; below[r] {
				negative++
			}
			common := 0.0
			for k, v := range s.kl[r] {
				common += v * s.kl[n+i][k]
			}
			if common == 0 {
				strangers++
			}
			distances[r] = float64(distance.SquaredL2Int(s.z[n+i], s.z[r]))/s.unit + kl
		}
		tenth := slices.Sorted(slices.Values(distances))[9]
		for r := range n {
			if below[r] && distances[r] <= tenth {
				near++
			}
		}
	}
	t.Logf("of %d pairs, %d share no bin and %d have a negative divergence, %d of these among the ten nearest", pairs, strangers, negative, near)
	if negative == 0 {
		t.Error("no divergence is negative")
	}
}

// The product's planes prune no photographs either, whether trees split
// principal components or levels.
func TestProductPrunesNoPhotographs(t *testing.T) {
	c := photographs(t)
	for _, split := range []user.Split{user.SplitPCA, user.SplitOriginal} {
		s := measuretest.NewSession(t, c, user.Options{Split: split})
		var visits [2][]string
		for k, prune := range []bool{false, true} {
			run, err := s.RunAll(context.Background(), cpar.Params{Scheme: cpar.SchemeCPAR, L: 10, Approx: 900, Prune: prune}, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range run {
				visits[k] = append(visits[k], fmt.Sprint(o.EncryptedPath))
			}
		}
		if !slices.Equal(visits[0], visits[1]) {
			t.Errorf("split %v: pruning changes the visits", split)
		}
	}
}

// Trees over V̂, whose elements are statistically alike, find fewer of the ten
// nearest than trees over the levels of V_L1.
func TestTreesOverLevelsFindMore(t *testing.T) {
	s := planesOf(t, photographs(t), true)
	levels, projected := recallOfTrees(t, s, s.levels), recallOfTrees(t, s, s.z)
	t.Logf("at AP-10, trees over levels find %.2f of the ten nearest, trees over V̂ %.2f", levels, projected)
	if levels < projected+0.1 {
		t.Errorf("levels %.2f, V̂ %.2f", levels, projected)
	}
}

func recallOfTrees[T kdforest.Number](t *testing.T, s planeSetting, rows [][]T) float64 {
	t.Helper()
	n := len(rows) - s.requests
	f, planes, err := kdforest.Build(rows[:n], paperTrees)
	if err != nil {
		t.Fatal(err)
	}
	found := make([]int, s.requests)
	if err := measure.Each(t.Context(), s.requests, func(i int) error {
		space := plainRequest[T]{planes, rows[n+i], make([]int64, n)}
		for r := range n {
			space.scores[r] = distance.SquaredL2Int(s.z[n+i], s.z[r]) + int64(s.unit*divergence(s.kl[r], s.kl[n+i]))
		}
		tenth := slices.Sorted(slices.Values(space.scores))[9]
		hits, _, err := f.Search(space, kdforest.Options{Visits: n / 10, L: 10})
		for _, h := range hits {
			if h.Score <= tenth {
				found[i]++
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, x := range found {
		sum += x
	}
	return float64(sum) / float64(10*s.requests)
}

// A plainRequest is a kdforest.Space with given distances.
type plainRequest[T kdforest.Number] struct {
	planes []kdforest.Plane[T]
	point  []T
	scores []int64
}

func (r plainRequest[T]) Left(plane uint32) bool { return r.planes[plane].Left(r.point) }

func (r plainRequest[T]) Beyond(uint32, int64) bool { return false }

func (r plainRequest[T]) Score(records []uint32, scores []int64) {
	for i, k := range records {
		scores[i] = r.scores[k]
	}
}
