package learn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"cpar/model/rank"
)

func momentsOfSome(t *testing.T, f *ccaProblem, some []int) *moments {
	t.Helper()
	return must(momentsOf(t.Context(), rowsOf(f.x, some), pick(f.y.byPhoto, some), f.y.words))
}

func TestMomentsOfTheRest(t *testing.T) {
	rows, keywords := collection(40, 1, 5)
	f := prepare(t, rows, keywords, Options{Dim: 2, Ridge: 1, Blocks: both})
	got := must(momentsOf(t.Context(), f.x, f.y.byPhoto, f.y.words))
	got.add(-1, momentsOfSome(t, f, []int{0, 1, 2, 3}))
	rest := make([]int, 36)
	for i := range rest {
		rest[i] = i + 4
	}
	want := momentsOfSome(t, f, rest)
	for _, pair := range [][2][]float64{{got.sx, want.sx}, {got.sy, want.sy}, {got.xx.Data, want.xx.Data}, {got.yx.Data, want.yx.Data}, {got.yy.Data, want.yy.Data}} {
		for i := range pair[0] {
			if math.Abs(pair[0][i]-pair[1][i]) > 1e-9 {
				t.Fatalf("%g, want %g", pair[0][i], pair[1][i])
			}
		}
	}
}

func TestSamplesAreFromOtherFolds(t *testing.T) {
	rows, _ := collection(50, 1, 6)
	keywords := make([][]string, len(rows)) // every photo has its own word
	for i := range keywords {
		keywords[i] = []string{fmt.Sprint(i), fmt.Sprint(100 + i%3)}
	}
	f := prepare(t, rows, keywords, Options{Dim: 2, Ridge: 1, Blocks: both})
	v := must(f.validation(t.Context(), keywords, 5, 0))
	_, w := samplesOf(t, v, Options{Ridge: 1, Dim: 3}, nil)
	samples, _ := samplesOf(t, v, Options{Dim: 2}, w)
	if len(samples) != 50 {
		t.Fatalf("%d samples", len(samples))
	}
	at := 0
	for fold, held := range v.heldOut {
		for i := range held {
			if samples[at].Fold != 2*fold+i/5 { // halves
				t.Fatalf("sample %d of fold %d is measured with %d", i, fold, samples[at].Fold)
			}
			var got []string
			for i, n := range samples[at].Near {
				got = append(got, n.Keywords[0])
				if i > 0 && n.Dis < samples[at].Near[i-1].Dis {
					t.Fatal("not in order of distance")
				}
			}
			var want []string
			for _, r := range outside(v, fold) {
				want = append(want, v.words[r][0])
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("sample %d of fold %d: neighbours %v", at, fold, got)
			}
			at++
		}
	}
}

func outside(v *validation, fold int) (photos []int) {
	for i, of := range v.foldOf {
		if of != fold {
			photos = append(photos, i)
		}
	}
	return photos
}

// A fold's solution equals the solution for the moments of the other photos.
// With many keywords, eigenvectors are refined.
func TestFoldsAreLearntFromOthers(t *testing.T) {
	rows, keywords := collection(60, 1, 6)
	var manyRows [][]float32
	var manyWords [][]string
	for i := range 900 {
		row, words := make([]float32, 90), []string{fmt.Sprint(i * 7 % 71), fmt.Sprint(i % 3), fmt.Sprint(i * 13 % 61)}
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		for j := range row {
			row[j] = float32(rng.NormFloat64())
		}
		for _, w := range words {
			var k int
			fmt.Sscan(w, &k)
			row[k] += 3
		}
		manyRows, manyWords = append(manyRows, row), append(manyWords, words)
	}
	for name, c := range map[string]struct {
		rows     [][]float32
		keywords [][]string
		opt      Options
	}{
		"linear":    {rows, keywords, Options{Dim: 2, Ridge: 1, Blocks: both}},
		"landmarks": {rows, keywords, Options{Dim: 4, Ridge: 1, Blocks: both, Landmarks: 3}},
		"many":      {manyRows, manyWords, Options{Dim: 8, Ridge: 0.3}},
	} {
		f := prepare(t, c.rows, c.keywords, c.opt)
		v := must(f.validation(t.Context(), c.keywords, 5, 0))
		const ridge = 0.3
		_, got := samplesOf(t, v, Options{Ridge: ridge, Dim: c.opt.Dim}, nil)
		trace := func(m *moments) (sum float64) {
			xx := m.centred(m.xx, m.sx, m.sx)
			for i := range xx.Rows {
				sum += row(xx, i)[i]
			}
			return sum
		}
		for fold := range v.heldOut {
			others := momentsOfSome(t, f, outside(v, fold))
			// The ridge of a fold follows from the mean number of training photos.
			r := must(others.regress(0.8*ridge*trace(v.whole)/trace(others), ridge, c.opt.Dim))
			want := must(others.solution(r, r.gg, blas64.General{}, blas64.General{}))
			weights := clone(r.g)
			solveRight(blas.NoTrans, r.factor, weights)
			weights = transposed(weights)
			if len(want.correlations) != len(got[fold].correlations) {
				t.Fatalf("%s, fold %d: %d directions, want %d", name, fold, len(got[fold].correlations), len(want.correlations))
			}
			for k, s := range want.correlations {
				if math.Abs(got[fold].correlations[k]-s) > 1e-6 {
					t.Fatalf("%s, fold %d: correlation %d is %g, want %g", name, fold, k, got[fold].correlations[k], s)
				}
			}
			a, b := product(f.x, got[fold].directions, true), product(f.x, want.directions, true)
			near(t, product(a, a, true), product(b, b, true), 1e-2)
			for i, photo := range v.heldOut[fold] {
				for w := range v.f.y.words {
					guess := others.sy[w] / others.n
					for j, x := range row(f.x, photo) {
						guess += (x - others.sx[j]/others.n) * row(weights, j)[w]
					}
					if math.Abs(float64(got[fold].guesses[i][w])-guess) > 1e-6 {
						t.Fatalf("%s, fold %d: photo %d, keyword %d: %g, want %g", name, fold, photo, w, got[fold].guesses[i][w], guess)
					}
				}
			}
		}
	}
}

func TestAgainMatchesStoredFolds(t *testing.T) {
	rows, keywords := collection(60, 1, 6)
	f := prepare(t, rows, keywords, Options{Dim: 2, Ridge: 1, Blocks: both})
	v := must(f.validation(t.Context(), keywords, 6, 3))
	v.parts = 1
	for _, square := range []bool{false, true} {
		_, solutions := samplesOf(t, v, Options{Ridge: 0.3, Dim: 2}, nil)
		if square {
			for fold, s := range solutions {
				solutions[fold] = s.scaleByCorrelation()
			}
		}
		want, _ := samplesOf(t, v, Options{Dim: 2}, solutions)
		grid := Grid{FinalFolds: 6, Base: Options{Seed: 3}}
		again := func() []rank.Sample {
			x := clone(v.f.x)
			defer func() { v.f.x = x }()
			return must(v.again(t.Context(), grid, Options{Ridge: 0.3, Dim: 2, Square: square}))
		}
		got := again()
		if len(got) != 60 || len(want) != 60 {
			t.Fatalf("square %v: %d and %d samples, want 60", square, len(got), len(want))
		}
		for i, g := range got { // rounding may swap neighbours at the same distance
			w := want[i]
			if g.Photo != w.Photo || g.Fold != w.Fold || !slices.Equal(g.Truth, w.Truth) ||
				!slices.EqualFunc(g.Near, w.Near, func(a, b rank.Neighbour) bool { return math.Abs(a.Dis-b.Dis) < 1e-5 }) ||
				!slices.EqualFunc(g.Guess.Share, w.Guess.Share, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 }) {
				t.Errorf("square %v: sample %d differs from that of stored folds", square, i)
			}
		}
		grid.FinalFolds = 30
		for i, s := range again() {
			if s.Fold != i/6 { // two photos in each of 30 folds, three folds in each of ten test sets
				t.Fatalf("sample %d is measured in test set %d", i, s.Fold)
			}
		}
	}
}

func samplesOf(t *testing.T, v *validation, o Options, known []solution) ([]rank.Sample, []solution) {
	t.Helper()
	samples, solutions, err := v.samples(t.Context(), o, known)
	if err != nil {
		t.Fatal(err)
	}
	return samples, solutions
}
