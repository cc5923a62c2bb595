package learn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"cpar"
	"cpar/internal/parallel/interrupt"
	"cpar/model/rank"
)

// collection returns n photos of two blocks, 6 and 10 values. Every topic moves
// two values of the second block and adds words.
func collection(n int, noise float64, seed uint64) (rows [][]float32, keywords [][]string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		row := make([]float32, 16)
		for j := range row {
			row[j] = float32(noise * rng.NormFloat64())
		}
		var words []string
		for topic := range 4 {
			if rng.Float64() < 0.35 {
				row[6+topic] += 4
				row[10+topic] -= 3
				words = append(words, fmt.Sprint(topic))
			}
		}
		rows, keywords = append(rows, row), append(keywords, append(words, fmt.Sprint(10+rng.IntN(3))))
	}
	return rows, keywords
}

var both = []int{6, 10}

func mustFit(t testing.TB, rows [][]float32, keywords [][]string, opt Options) *Projection {
	t.Helper()
	p, err := fit(t.Context(), rows, keywords, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fit fits a projection as after a choice that used other photos.
func fit(ctx context.Context, rows [][]float32, keywords [][]string, opt Options) (*Projection, error) {
	checked, blocks, err := opt.check(InMemory(rows), keywords)
	if err != nil {
		return nil, err
	}
	r, err := reduce(ctx, checked, blocks, opt.Seed, new(progress))
	if err != nil {
		return nil, err
	}
	c := Choice{Trial: Trial{Options: opt}, reduction: *r, whole: new(moments)}
	return c.Fit(ctx, checked, keywords)
}

func prepare(t testing.TB, rows [][]float32, keywords [][]string, opt Options) *ccaProblem {
	t.Helper()
	y, err := label(keywords)
	if err != nil {
		t.Fatal(err)
	}
	checked, blocks, err := opt.check(InMemory(rows), keywords)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reduce(t.Context(), checked, blocks, opt.Seed, new(progress))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.problem(t.Context(), y, opt, nil)
	if err == nil {
		f.x, err = f.inputs(t.Context(), r, 0, len(rows))
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func encoded(t testing.TB, p *Projection) []byte {
	t.Helper()
	data, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func root(a *mat.SymDense) *mat.Dense {
	var e mat.EigenSym
	e.Factorize(a, true)
	var v, out mat.Dense
	e.VectorsTo(&v)
	values := e.Values(nil)
	for i := range values {
		values[i] = 1 / math.Sqrt(values[i])
	}
	out.Product(&v, mat.NewDiagDense(len(values), values), v.T())
	return &out
}

// textbook evaluates the package comment's formula with symmetric roots and a
// singular value decomposition, with correlations to a power.
func textbook(x, y [][]float64, ridge float64, dim int, power float64) *mat.Dense {
	centre := func(rows [][]float64) *mat.Dense {
		m := mat.NewDense(len(rows), len(rows[0]), nil)
		for j := range rows[0] {
			mean := 0.0
			for i := range rows {
				mean += rows[i][j] / float64(len(rows))
			}
			for i := range rows {
				m.Set(i, j, rows[i][j]-mean)
			}
		}
		return m
	}
	for j := range y[0] {
		f := 0.0
		for i := range y {
			f += y[i][j]
		}
		for i := range y {
			y[i][j] *= math.Log(float64(len(y)) / f)
		}
	}
	covariance := func(a, b *mat.Dense) *mat.Dense {
		var c mat.Dense
		c.Mul(a.T(), b)
		c.Scale(1/float64(len(x)), &c)
		return &c
	}
	ridged := func(c *mat.Dense) *mat.SymDense {
		n, _ := c.Dims()
		s := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				s.SetSym(i, j, c.At(i, j))
			}
			s.SetSym(i, i, c.At(i, i)+ridge*mat.Trace(c)/float64(n))
		}
		return s
	}
	cx, cy := centre(x), centre(y)
	a, b := root(ridged(covariance(cx, cx))), root(ridged(covariance(cy, cy)))
	var t, u, w mat.Dense
	t.Product(a, covariance(cx, cy), b)
	var svd mat.SVD
	svd.Factorize(&t, mat.SVDThin)
	svd.UTo(&u)
	s := svd.Values(nil)
	rows, _ := u.Dims()
	top := mat.NewDense(rows, dim, nil)
	for i := range rows {
		for k := range dim {
			top.Set(i, k, u.At(i, k)*math.Pow(s[k], power))
		}
	}
	w.Product(cx, a, top)
	return &w
}

func TestFitEqualsTextbook(t *testing.T) {
	rows, keywords := collection(60, 1, 1)
	for name, opt := range map[string]Options{
		"linear":       {Dim: 3, Ridge: 0.2, Blocks: both},
		"landmarks":    {Dim: 3, Ridge: 0.2, Blocks: both, Landmarks: 5},
		"more of them": {Dim: 3, Ridge: 0.2, Blocks: both, Landmarks: 20},
		"without one":  {Dim: 3, Ridge: 0.5, Blocks: both, Skip: []bool{true, false}},
		"squared":      {Dim: 3, Ridge: 0.2, Blocks: both, Square: true},
	} {
		p := mustFit(t, rows, keywords, opt)
		f := prepare(t, rows, keywords, opt)
		y := make([][]float64, len(rows))
		for i, words := range f.y.byPhoto {
			y[i] = make([]float64, f.y.words)
			for _, w := range words {
				y[i][w] = 1
			}
		}
		power := 1.
		if opt.Square {
			power = 2
		}
		want := textbook(toRows(f.x), y, opt.Ridge, opt.Dim, power)
		// The signs of directions are arbitrary, so compare cosines between
		// photos.
		for i, row := range rows {
			got, err := p.Apply(row)
			if err != nil {
				t.Fatal(err)
			}
			first, _ := p.Apply(rows[0])
			cos := 0.0
			for j := range got {
				cos += float64(got[j]) * float64(first[j])
			}
			w, w0 := mat.NewVecDense(3, slices.Clone(want.RawRowView(i))), mat.NewVecDense(3, slices.Clone(want.RawRowView(0)))
			if expect := mat.Dot(w, w0) / w.Norm(2) / w0.Norm(2); math.Abs(cos-expect) > 2e-4 {
				t.Fatalf("%s: photo %d: cosine %g, want %g", name, i, cos, expect)
			}
		}
	}
}

func toRows(m blas64.General) [][]float64 {
	var out [][]float64
	for i := range m.Rows {
		out = append(out, slices.Clone(m.Data[i*m.Stride:i*m.Stride+m.Cols]))
	}
	return out
}

func TestProjectionFindsTopics(t *testing.T) {
	rows, keywords := collection(400, 1.5, 2)
	fresh, truth := collection(100, 1.5, 3)
	recall := func(vectors, asked [][]float32) int {
		right := 0
		for i, a := range asked {
			best, dis := 0, math.Inf(1)
			for j, b := range vectors {
				d := 0.0
				for k := range a {
					d += float64(a[k]-b[k]) * float64(a[k]-b[k])
				}
				if d < dis {
					best, dis = j, d
				}
			}
			if slices.Equal(keywords[best][:len(keywords[best])-1], truth[i][:len(truth[i])-1]) {
				right++
			}
		}
		return right
	}
	p := mustFit(t, rows, keywords, Options{Dim: 4, Ridge: 0.1, Blocks: both})
	all, err := p.ApplyAll(rows)
	if err != nil {
		t.Fatal(err)
	}
	asked, _ := p.ApplyAll(fresh)
	if raw, learnt := recall(rows, fresh), recall(all, asked); learnt < raw+10 {
		t.Errorf("%d of 100 right, %d with the features as they are", learnt, raw)
	}
}

func TestApplyAllAgreesWithApply(t *testing.T) {
	rows, keywords := collection(2*appliedRows+3, 1, 3)
	for _, opt := range []Options{
		{Dim: 4, Ridge: 0.1, Blocks: both},
		{Dim: 4, Ridge: 0.1, Blocks: both, Landmarks: 30, Weights: []float32{1, 3}},
		{Dim: 4, Ridge: 0.1, Blocks: both, Landmarks: 30, Skip: []bool{true, false}},
	} {
		p := mustFit(t, rows, keywords, opt)
		all := must(p.ApplyAll(rows))
		for i, r := range rows {
			for j, want := range must(p.Apply(r)) {
				if math.Abs(float64(all[i][j]-want)) > 1e-6 {
					t.Fatalf("%+v: photo %d: value %d is %v, want %v", opt, i, j, all[i][j], want)
				}
			}
		}
		bad := slices.Clone(rows)
		bad[7] = rows[7][1:]
		if _, err := p.ApplyAll(bad); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("a short row: %v", err)
		}
	}
}

func TestResultIndependentOfCores(t *testing.T) {
	rows, keywords := collection(300, 1, 4)
	space := Grid{Base: Options{Blocks: both}, Dims: []int{2, 3}, Ridges: []float64{0.1, 1}, Landmarks: []int{0, 70}, Folds: 3}
	fit := func() ([]byte, *Choice) {
		c, err := Choose(context.Background(), InMemory(rows), keywords, space)
		if err != nil {
			t.Fatal(err)
		}
		return encoded(t, mustFit(t, rows, keywords, Options{Dim: 4, Ridge: 0.3, Blocks: both, Landmarks: 70})), c
	}
	a, ca := fit()
	before := runtime.GOMAXPROCS(1)
	b, cb := fit()
	runtime.GOMAXPROCS(7)
	c, cc := fit()
	runtime.GOMAXPROCS(before)
	if !bytes.Equal(a, b) || !bytes.Equal(a, c) {
		t.Error("another number of cores gave another projection")
	}
	ra, _ := ca.Ranker.MarshalBinary()
	for _, other := range []*Choice{cb, cc} {
		if ro, _ := other.Ranker.MarshalBinary(); !bytes.Equal(ra, ro) || other.Quality != ca.Quality || len(other.Trials) != 5 {
			t.Error("another number of cores gave another choice")
		}
	}
}

func TestChooseDropsNoise(t *testing.T) {
	rows, keywords := collection(400, 1, 7)
	for _, r := range rows { // the first block is strong noise
		for j := range 6 {
			r[j] *= 50
		}
	}
	c, err := Choose(context.Background(), InMemory(rows), keywords, Grid{Base: Options{Blocks: both}, Landmarks: []int{0},
		Dims: []int{1, 4}, Folds: 4, Keep: 3, Skips: [][]bool{{false, true}, {true, false}}})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Options.Skip[0] || c.Options.Dim != 4 || c.Quality.Merit() < 0.5 {
		t.Errorf("chose %+v: %+v", c.Options, c.Quality)
	}
	if _, _, err := rank.Calibrate(t.Context(), c.Samples, [][]string{{"0"}}, 3, 0); err != nil {
		t.Error(err)
	}
}

func TestFitRejectsBadInput(t *testing.T) {
	rows, keywords := collection(20, 1, 8)
	nan := slices.Clone(rows)
	nan[3] = slices.Clone(rows[3])
	nan[3][2] = float32(math.NaN())
	good := Options{Dim: 2, Ridge: 1, Blocks: both}
	changed := func(change func(o *Options)) Options {
		o := good
		change(&o)
		return o
	}
	alike := slices.Repeat([][]float32{rows[0]}, 20)
	for name, c := range map[string]struct {
		rows     [][]float32
		keywords [][]string
		opt      Options
	}{
		"one row": {rows[:1], keywords[:1], good}, "unequal": {rows, keywords[1:], good},
		"no words":       {rows, make([][]string, 20), good},
		"the same words": {rows, slices.Repeat([][]string{{"one"}}, 20), good}, "the same photos": {alike, keywords, good},
		"NaN": {nan, keywords, good}, "dim": {rows, keywords, changed(func(o *Options) { o.Dim = 0 })},
		"ridge":     {rows, keywords, changed(func(o *Options) { o.Ridge = math.NaN() })},
		"blocks":    {rows, keywords, changed(func(o *Options) { o.Blocks = []int{6, 9} })},
		"skip":      {rows, keywords, changed(func(o *Options) { o.Skip = []bool{true} })},
		"nothing":   {rows, keywords, changed(func(o *Options) { o.Skip = []bool{true, true} })},
		"landmarks": {rows, keywords, changed(func(o *Options) { o.Landmarks = -1 })},
	} {
		if _, err := fit(t.Context(), c.rows, c.keywords, c.opt); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := mustFit(t, rows, keywords, good)
	for _, row := range [][]float32{nil, rows[0][1:], nan[3]} {
		if _, err := p.Apply(row); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("Apply: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Choose(ctx, InMemory(rows), keywords, Grid{Base: Options{Blocks: both}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Choose(context.Background(), InMemory(rows), keywords, Grid{Folds: 1}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("one fold: %v", err)
	}
}

func BenchmarkApply(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var rows [][]float32
	var keywords [][]string
	for i := range 200 {
		row := make([]float32, 1280)
		for j := range row {
			row[j] = rng.Float32()
		}
		rows, keywords = append(rows, row), append(keywords, []string{fmt.Sprint(i % 20)})
	}
	p := mustFit(b, rows, keywords, Options{Dim: 128, Ridge: 1})
	for b.Loop() {
		if _, err := p.Apply(rows[0]); err != nil {
			b.Fatal(err)
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func someRows(n, in int) ([][]float32, [][]string) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows, words := make([][]float32, n), make([][]string, n)
	for i := range rows {
		rows[i] = make([]float32, in)
		for j := range rows[i] {
			rows[i][j] = float32(rng.NormFloat64()) + float32(i%4*(j%3))
		}
		words[i] = []string{fmt.Sprint("kind ", i%4), fmt.Sprint("parity ", i%2)}
	}
	return rows, words
}

func TestInterrupted(t *testing.T) {
	rows, words := someRows(600, 40)
	opt := Options{Dim: 8, Ridge: 0.1, Landmarks: 100, Seed: 1}
	interrupt.Everywhere(t, 20, func(ctx context.Context) error {
		_, err := fit(ctx, rows, words, opt)
		return err
	})
	space := Grid{Base: Options{Seed: 1}, Dims: []int{4, 8}, Landmarks: []int{0, 50}, Ridges: []float64{0.1, 1}, Neighbours: 5}
	interrupt.Everywhere(t, 300, func(ctx context.Context) error {
		_, err := Choose(ctx, InMemory(rows), words, space)
		return err
	})
}
