package attack

import (
	"context"
	"math"
	"slices"
	"testing"

	"cpar"
	"cpar/cloud/score"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/user"
	"cpar/user/ope"
)

// These tests demonstrate SECURITY.md with the server's data alone: the
// session's Cloud and its requests. Plaintext only checks the result.

var capia = cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}

var byRank = cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchByRank, L: 10, Approx: 100}

// cloudScores returns the scores that a server can compute from a request.
func cloudScores(t *testing.T, s *measure.Session, q *cpar.Request) []float64 {
	t.Helper()
	space, err := score.NewSpace(s.Cloud, q)
	if err != nil {
		t.Fatal(err)
	}
	records := make([]uint32, s.Cloud.Manifest.Records)
	for i := range records {
		records[i] = uint32(i)
	}
	scores, out := make([]int64, len(records)), make([]float64, len(records))
	space.Score(records, scores)
	for i, x := range scores {
		out[i] = float64(x)
	}
	return out
}

func correlation(a, b []float64) float64 {
	var ma, mb float64
	for i := range a {
		ma += a[i] / float64(len(a))
		mb += b[i] / float64(len(b))
	}
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	return ab / math.Sqrt(aa*bb)
}

// The server reads distances up to a scale and an offset.
func TestLeakScoresAreDistances(t *testing.T) {
	s := measuretest.MustSession(t, 100)
	projected, err := s.ProjectedDistances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exact, err := s.ExactDistances()
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Requests {
		scores := cloudScores(t, s, measuretest.RequestFor(t, s, i, capia))
		if r := correlation(scores, projected[i]); r < 0.999999 {
			t.Errorf("request %d: scores correlate with the projected distances by %.7f only", i, r)
		}
		if r := correlation(scores, exact[i]); r < 0.95 {
			t.Errorf("request %d: scores correlate with the exact distances by %.4f only", i, r)
		}
	}
}

// Order ciphertexts are deterministic, so requests for one photo have equal
// ones.
func TestLeakOrderLinksRequests(t *testing.T) {
	s := measuretest.MustSession(t, 100)
	for _, p := range []cpar.Params{byRank, {Scheme: cpar.SchemeCPAR, L: 3, Approx: 25}} {
		for i := range s.Requests {
			for j := range s.Requests {
				a, b := measuretest.RequestFor(t, s, i, byRank), measuretest.RequestFor(t, s, j, p)
				if linked := slices.Equal(a.Order, b.Order); linked != (i == j) {
					t.Errorf("photos %d and %d: linked %t", i, j, linked)
				}
				if slices.Equal(a.Vector, b.Vector) {
					t.Errorf("photos %d and %d: two requests with one vector", i, j)
				}
			}
		}
	}
}

// The scores of two requests are proportional only for the same photo.
func TestLeakScoresLinkRequests(t *testing.T) {
	s := measuretest.MustSession(t, 100)
	var first, again [][]float64
	for i := range s.Requests {
		first = append(first, cloudScores(t, s, measuretest.RequestFor(t, s, i, capia)))
		again = append(again, cloudScores(t, s, measuretest.RequestFor(t, s, i, capia)))
	}
	for i := range first {
		for j := range again {
			linked := correlation(first[i], again[j]) > 0.99999
			if linked != (i == j) {
				t.Errorf("photos %d and %d: linked %t", i, j, linked)
			}
		}
	}
}

// Requests that prune reveal r_s and r exactly. r is the same for all requests
// to the index. With principal components a plane scale also contains the
// index's step, which a few requests reveal.
func TestLeakPruningRevealsScaleAndOffset(t *testing.T) {
	for _, split := range []user.Split{user.SplitOriginal, user.SplitPCA} {
		t.Run(split.String(), func(t *testing.T) {
			s, err := measure.NewSession(context.Background(), measuretest.SyntheticCorpus(1, 100, 8), user.Options{PCA: 128, Split: split})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			revealScaleAndOffset(t, s, split == user.SplitPCA)
		})
	}
}

// scaleUnit returns the smallest factor that turns all values into integers in
// [1024, 2047].
func scaleUnit(t *testing.T, values []float64) float64 {
	t.Helper()
	for first := 2047.0; first >= 1024; first-- {
		unit := values[0] / first
		if !slices.ContainsFunc(values, func(v float64) bool {
			r := v / unit
			return r < 1023.5 || r > 2047.5 || math.Abs(r-math.Round(r)) > 0.02
		}) {
			return unit
		}
	}
	t.Fatalf("no step makes whole scales of %v", values)
	return 0
}

func revealScaleAndOffset(t *testing.T, s *measure.Session, stepUnknown bool) {
	projected, err := s.ProjectedDistances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := s.Cloud.Manifest
	mHat := float64(m.Dim) - 48 - 3 // the profile is public
	unit := mHat * 999 / 2
	prune := s.Builder.DefaultParams()
	prune.Search, prune.Prune = cpar.SearchDepthFirst, true
	var offsets []float64
	var levels [2][]int64 // of two requests, relative to every plane
	requests := make([]*cpar.Request, len(s.Requests))
	scales, planeScales := make([]float64, len(s.Requests)), make([]int64, len(s.Requests))
	scored := make([][]int64, len(s.Requests))
	for i := range requests {
		requests[i] = measuretest.RequestFor(t, s, i, prune)
		if scored[i], err = s.Cloud.PlaneScores(requests[i]); err != nil {
			t.Fatal(err)
		}
		for _, p := range scored[i] {
			planeScales[i] = gcd(planeScales[i], p)
		}
		scales[i] = float64(requests[i].Planes.Scale) * float64(planeScales[i]) / (0.75 * mHat * (1 << 16))
	}
	step := 1.0
	if stepUnknown {
		step = scaleUnit(t, scales)
	}
	for i, q := range requests {
		planes, rp := scored[i], planeScales[i]
		rs := math.Round(scales[i] / step)
		if rs < 1<<10 || rs >= 1<<11 {
			t.Fatalf("request %d: r_p = %d and r_s = %g", i, rp, rs)
		}
		r := float64(q.Planes.Offset) / rs
		offsets = append(offsets, r)
		for j, c := range cloudScores(t, s, q) {
			if got := (c/rs + r) / unit; math.Abs(got-projected[i][j]) > 2e-3 {
				t.Fatalf("request %d: record %d is %.4f away, read as %.4f", i, j, projected[i][j], got)
			}
		}
		for _, p := range planes {
			if i < 2 {
				levels[i] = append(levels[i], p/rp)
			}
		}
	}
	if offsets[0] != offsets[1] || offsets[1] != offsets[2] || offsets[0] != math.Trunc(offsets[0]) {
		t.Errorf("r = %v", offsets)
	}
	// Every request shows the same spacing of split values, in levels.
	for p := 1; p < len(levels[0]); p++ {
		a, b := levels[0][p-1]-levels[0][p], levels[1][p-1]-levels[1][p]
		if s.Cloud.Forest.Cuts[p].Field == s.Cloud.Forest.Cuts[p-1].Field && (a != b || a <= 0) {
			t.Fatalf("planes %d and %d are %d levels apart, or %d", p-1, p, a, b)
		}
	}
}

// The index alone reveals which records are near each other.
func TestLeakListsGroupWhatIsAlike(t *testing.T) {
	c := measuretest.SyntheticCorpus(1, 200, 1)
	s, err := measure.NewSession(t.Context(), c, user.Options{Scheme: cpar.SchemeIVF, PCA: 128, Lists: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	list := func(record int) int {
		i, _ := slices.BinarySearch(s.Cloud.Cells.First, uint32(record)+1)
		return i - 1
	}
	oneList, similar, pairs, similarAll := 0, 0, 0, 0
	for i := range 200 {
		for j := range i {
			same := c.Train[s.Builder.PhotoOf(uint32(i))].Keywords[0] == c.Train[s.Builder.PhotoOf(uint32(j))].Keywords[0]
			pairs++
			if same {
				similarAll++
			}
			if list(i) == list(j) {
				oneList++
				if same {
					similar++
				}
			}
		}
	}
	if got, guess := float64(similar)/float64(oneList), float64(similarAll)/float64(pairs); got < 0.9 || guess > 0.1 {
		t.Errorf("%.2f of the pairs in one list are similar, %.2f of all pairs", got, guess)
	}
}

// Without the key, a ciphertext divided by the range approximates the level.
func TestLeakOPEShowsApproximateLevels(t *testing.T) {
	const beta = 999
	key, err := ope.NewKey([32]byte{7}, beta)
	if err != nil {
		t.Fatal(err)
	}
	off := 0.0
	for field := range 20 {
		for level := range beta + 1 {
			c, err := key.Encrypt(field, level)
			if err != nil {
				t.Fatal(err)
			}
			guess := float64(c) / (1 << ope.RangeBits) * (beta + 1)
			off += math.Abs(guess-float64(level)) / (20 * (beta + 1))
		}
	}
	// Guessing the middle is off by 250.
	if off > 20 {
		t.Errorf("a level is guessed to within %.0f of %d only", off, beta)
	}
	t.Logf("mean error %.1f levels of %d", off, beta)
}
