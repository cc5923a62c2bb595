package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/cloud/score"
	"cpar/model/feature"
	"cpar/user"
	"cpar/user/ope"
)

// These tests learn what SECURITY.md says that the cloud can learn, only from what
// crosses the wall: the session's Cloud and its requests. The plaintext only checks the
// result.

// syntheticCorpus has features of the right shape without pictures: records gather around
// a few centres, as photos do, and some bins vary much more than others.
func syntheticCorpus(seed uint64, train, test int) *Corpus {
	const centres = 12
	rng := rand.New(rand.NewPCG(seed, 1))
	middle := make([]*feature.Vectors, centres)
	for i := range middle {
		middle[i] = randomFeatures(rng, nil)
	}
	image := func(i int) user.Photo {
		c := i % centres
		words := []string{"word" + string(rune('a'+c)), "every"}
		return user.Photo{Vectors: randomFeatures(rng, middle[c]), Keywords: words}
	}
	c := new(Corpus)
	for i := range train {
		c.Train = append(c.Train, image(i))
	}
	for i := range test {
		c.Test = append(c.Test, image(i))
	}
	return c
}

// randomFeatures draws features near those of a centre, or a new centre.
func randomFeatures(rng *rand.Rand, centre *feature.Vectors) *feature.Vectors {
	part := func(n int, near []float32, positive bool) []float32 {
		out := make([]float32, n)
		for i := range out {
			// Every eighth value varies ten times as much as the others.
			spread := 0.05
			if i%8 == 0 {
				spread = 0.5
			}
			x := rng.NormFloat64()
			if near != nil {
				x = float64(near[i]) * (1 + spread*rng.NormFloat64())
			}
			if positive {
				x = math.Abs(x)
			}
			out[i] = float32(x)
		}
		return out
	}
	if centre == nil {
		centre = new(feature.Vectors)
	}
	// The three histograms sum to 1; the smoothing of lab relies on it.
	histogram := func(near []float32) []float32 {
		h, sum := part(48, near, true), float32(0)
		for _, x := range h {
			sum += x
		}
		for i := range h {
			h[i] /= sum
		}
		return h
	}
	v := &feature.Vectors{
		RGB: histogram(centre.RGB), HSV: histogram(centre.HSV), Lab: histogram(centre.Lab),
		Gabor: part(256, centre.Gabor, true), GaborQ: part(256, centre.GaborQ, true),
		Haar: part(4096, centre.Haar, true), HaarQ: part(4096, centre.HaarQ, false),
	}
	v.Patches = slices.Repeat(v.Gabor, feature.PatchDim)[:feature.PatchDim]
	return v
}

// mustSession is an index of records with a forest, and 8 photos to request. PCA-128 makes it fast.
func mustSession(t *testing.T, records int) *Session {
	t.Helper()
	s, err := NewSession(context.Background(), syntheticCorpus(1, records, 8), user.Options{PCA: 128})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// capia requests a scan, with a vector and nothing else.
var capia = cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}

// byRank requests a search of the forest by rank.
var byRank = cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchByRank, L: 10, Approx: 100}

func mustAsk(t *testing.T, s *Session, i int, p cpar.Params) *cpar.Request {
	t.Helper()
	_, q, err := s.Builder.RequestVector(s.Requests[i], p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// cloudScores is what a cloud can compute from a request: a score for every record,
// whether needed or not.
func cloudScores(t *testing.T, s *Session, q *cpar.Request) []float64 {
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

// The cloud reads the distance of a request to every record, up to one scale and one offset.
func TestLeakScoresAreDistances(t *testing.T) {
	s := mustSession(t, 100)
	projected, err := s.projectedDistances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exact, err := s.exactDistances()
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Requests {
		scores := cloudScores(t, s, mustAsk(t, s, i, capia))
		if r := correlation(scores, projected[i]); r < 0.999999 {
			t.Errorf("request %d: scores correlate with the projected distances by %.7f only", i, r)
		}
		if r := correlation(scores, exact[i]); r < 0.95 {
			t.Errorf("request %d: scores correlate with the exact distances by %.4f only", i, r)
		}
	}
}

// Order ciphertexts are deterministic: two requests for one photo have the same, those
// for two photos do not.
func TestLeakOrderLinksRequests(t *testing.T) {
	s := mustSession(t, 100)
	for _, p := range []cpar.Params{byRank, {Scheme: cpar.SchemeCPAR, L: 3, Approx: 25}} {
		for i := range s.Requests {
			for j := range s.Requests {
				a, b := mustAsk(t, s, i, byRank), mustAsk(t, s, j, p)
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

// Requests without order ciphertexts can be linked too: the scores of two requests for
// one photo are proportional, those for two photos are not.
func TestLeakScoresLinkRequests(t *testing.T) {
	s := mustSession(t, 100)
	var first, again [][]float64
	for i := range s.Requests {
		first = append(first, cloudScores(t, s, mustAsk(t, s, i, capia)))
		again = append(again, cloudScores(t, s, mustAsk(t, s, i, capia)))
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

// Requests that prune reveal r_s and r exactly, and with them the distances themselves;
// and r is the same for every request to the index. In principal components a plane scale
// also contains the index's step, which a few requests together reveal.
func TestLeakPruningRevealsScaleAndOffset(t *testing.T) {
	for _, split := range []user.Split{user.SplitOriginal, user.SplitPCA} {
		t.Run(split.String(), func(t *testing.T) {
			s, err := NewSession(context.Background(), syntheticCorpus(1, 100, 8), user.Options{PCA: 128, Split: split})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			revealScaleAndOffset(t, s, split == user.SplitPCA)
		})
	}
}

// scaleUnit finds the smallest factor that turns all values into integers from 1,024 to 2,047.
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

func revealScaleAndOffset(t *testing.T, s *Session, stepUnknown bool) {
	projected, err := s.projectedDistances(t.Context())
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
		requests[i] = mustAsk(t, s, i, prune)
		if scored[i], err = s.Cloud.PlaneScores(requests[i]); err != nil {
			t.Fatal(err)
		}
		for _, p := range scored[i] { // every plane score is a multiple of r_p
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
	// The spacing of a field's split values, in levels, is the same from each request.
	for p := 1; p < len(levels[0]); p++ {
		a, b := levels[0][p-1]-levels[0][p], levels[1][p-1]-levels[1][p]
		if s.Cloud.Forest.Cuts[p].Field == s.Cloud.Forest.Cuts[p-1].Field && (a != b || a <= 0) {
			t.Fatalf("planes %d and %d are %d levels apart, or %d", p-1, p, a, b)
		}
	}
}

// Lists group similar records: the cloud learns from the index alone, without a request,
// which records are near each other.
func TestLeakListsGroupWhatIsAlike(t *testing.T) {
	c := syntheticCorpus(1, 200, 1)
	s, err := NewSession(t.Context(), c, user.Options{Scheme: cpar.SchemeIVF, PCA: 128, Lists: 20})
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
			// The truth, for checking: images of one kind share a word.
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

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// Order-preserving encryption approximately reveals the level: the ciphertext divided by
// the range, without knowing the key.
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
