package learn

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"cpar/internal/f32"
	"cpar/internal/parallel"
	"cpar/model/rank"
)

// A validation tests options on photos that were not learnt from. It uses the
// problem's inputs, which it centres.
type validation struct {
	f       *ccaProblem
	words   [][]string // keywords of every photo, for the ranker
	whole   *moments   // of all photos
	heldOut [][]int    // photos of each fold
	foldOf  []int      // fold of each photo
	tested  int        // number of folds that are tested, the first ones
	parts   int        // number of parts in which a fold is measured
}

func (f *ccaProblem) validation(ctx context.Context, words [][]string, folds int, seed uint64) (*validation, error) {
	v := &validation{f: f, words: words, parts: 2}
	f.mean = make([]float64, f.x.Cols)
	v.divide(folds, seed)
	for i := range f.x.Rows {
		floats.AddScaled(f.mean, 1/float64(f.x.Rows), row(f.x, i))
	}
	for i := range f.x.Rows {
		floats.Sub(row(f.x, i), f.mean)
	}
	var err error
	v.whole, err = momentsOf(ctx, f.x, f.y.byPhoto, f.y.words)
	return v, err
}

func row(m blas64.General, i int) []float64 { return m.Data[i*m.Stride : i*m.Stride+m.Cols] }

func (v *validation) divide(folds int, seed uint64) {
	v.heldOut, v.foldOf, v.tested = make([][]int, folds), make([]int, v.f.x.Rows), folds
	for i, p := range rand.New(rand.NewPCG(seed, 0x666f6c64)).Perm(v.f.x.Rows) { // "fold"
		v.heldOut[i%folds] = append(v.heldOut[i%folds], p)
		v.foldOf[p] = i % folds
	}
}

// measuredFolds is the maximum number of test sets among the samples of again,
// because a mean over keywords depends on the number of test photos, and a
// tenth of the photos is usual.
const measuredFolds = 10

// again returns the samples of one trial on FinalFolds folds.
func (v *validation) again(ctx context.Context, space Grid, o Options) ([]rank.Sample, error) {
	final := *v
	final.parts = 1
	final.divide(space.FinalFolds, space.Base.Seed)
	r, err := final.regress(ctx, o.Ridge, o.Dim)
	if err != nil {
		return nil, err
	}
	samples, err := final.annotate(ctx, o.Dim, func(fold int) (solution, error) {
		s, err := final.solve(r, fold)
		if err == nil && o.Square {
			s = s.scaleByCorrelation()
		}
		return s, err
	})
	groups := min(space.FinalFolds, measuredFolds)
	for i := range samples {
		samples[i].Fold = final.foldOf[samples[i].Photo] * groups / space.FinalFolds
	}
	return samples, err
}

// samples returns the tested photos with their neighbours, and the folds' solutions,
// which it computes unless they are known. A fold without a solution, because its
// training photos are indistinguishable, is not measured.
func (v *validation) samples(ctx context.Context, o Options, known []solution) ([]rank.Sample, []solution, error) {
	solve := func(fold int) (solution, error) { return known[fold], nil }
	if known == nil {
		r, err := v.regress(ctx, o.Ridge, o.Dim)
		if err != nil {
			return nil, nil, err
		}
		known = make([]solution, v.tested)
		solve = func(fold int) (s solution, err error) {
			known[fold], err = v.solve(r, fold)
			return known[fold], err
		}
	}
	samples, err := v.annotate(ctx, o.Dim, solve)
	return samples, known, err
}

// annotate returns the samples of the tested folds, whose solutions it needs one
// at a time on each core. Folds with a fifth of the photos are measured in two
// halves (see measuredFolds).
func (v *validation) annotate(ctx context.Context, dim int, solve func(fold int) (solution, error)) (samples []rank.Sample, err error) {
	byFold, errs := make([][]rank.Sample, v.tested), make([]error, v.tested)
	if err := parallel.Until(ctx, v.tested, func() func(int) {
		return func(fold int) {
			s, err := solve(fold)
			if err == nil && s.directions.Rows > 0 {
				byFold[fold] = v.neighbours(v.project(fold, slice(s.directions, 0, min(dim, s.directions.Rows))), fold, s.guesses)
			}
			errs[fold] = err
		}
	}); err != nil {
		return nil, err
	}
	group := 0
	for _, some := range byFold {
		for i := range some {
			some[i].Fold += group
		}
		if samples = append(samples, some...); len(some) > 0 {
			group = some[len(some)-1].Fold + 1
		}
	}
	if len(samples) == 0 {
		return nil, cmp.Or(errs...)
	}
	return samples, nil
}

// appendNarrow appends the values of m.
func appendNarrow(out []float32, m blas64.General) []float32 {
	for i := range m.Rows {
		for _, x := range row(m, i) {
			out = append(out, float32(x))
		}
	}
	return out
}

// project returns the vectors of all photos, n × dim, in some directions. The
// origin is the mean of the training photos.
func (v *validation) project(fold int, directions blas64.General) []float32 {
	n, q, dim, held := v.f.x.Rows, directions.Cols, directions.Rows, v.heldOut[fold]
	all := make([]float32, n*dim)
	right, scratch, x := appendNarrow(nil, directions), make([]float32, f32.Scratch(rowsAtOnce, dim, q)), make([]float32, 0, rowsAtOnce*q)
	for from := 0; from < n; from += rowsAtOnce { // all inputs at once would take too much memory
		x = appendNarrow(x[:0], slice(v.f.x, from, min(from+rowsAtOnce, n)))
		f32.Mul(all[from*dim:], dim, x, q, right, q, len(x)/q, dim, q, true, scratch)
	}
	mean, centred := make([]float64, dim), make([]float64, dim)
	for _, i := range held {
		for k, x := range all[i*dim:][:dim] {
			mean[k] -= float64(x) / float64(n-len(held)) // because all photos have the mean 0
		}
	}
	for vector := range slices.Chunk(all, dim) {
		for k, x := range vector {
			centred[k] = float64(x) - mean[k]
		}
		copy(vector, unit(centred))
	}
	return all
}

// neighbours returns the photos of a fold with their neighbours among the other
// photos, for the vectors of all photos.
func (v *validation) neighbours(all []float32, fold int, guesses [][]float32) (samples []rank.Sample) {
	const most = 256
	n, held := v.f.x.Rows, v.heldOut[fold]
	dim, size := len(all)/n, (len(held)+v.parts-1)/v.parts
	cosines, scratch := make([]float32, min(most, len(held))*n), make([]float32, f32.Scratch(most, n, dim))
	for now := range slices.Chunk(held, most) {
		var asked []float32
		for _, photo := range now {
			asked = append(asked, all[photo*dim:][:dim]...)
		}
		f32.Mul(cosines, n, asked, dim, all, dim, len(now), n, dim, true, scratch)
		for i, photo := range now {
			place, cosines := len(samples), cosines[i*n:][:n]
			s := rank.Sample{Truth: v.words[photo], Fold: place / size, Photo: photo, Near: make([]rank.Neighbour, 0, rank.MostNeighbours),
				Guess: &rank.Guess{Words: v.f.y.column, Share: guesses[place]}}
			for _, own := range held {
				cosines[own] = float32(math.Inf(-1))
			}
			for _, k := range largest(cosines, rank.MostNeighbours) {
				s.Near = append(s.Near, rank.Neighbour{Dis: max(0, 2-2*float64(cosines[k])), Keywords: v.words[k]})
			}
			samples = append(samples, s)
		}
	}
	return samples
}

// largest returns the places of the k largest values above −∞, the largest
// first. The k-th largest among the maxima of at least 2·k parts is a lower bound.
func largest(x []float32, k int) (top []int) {
	var maxima []float32
	for part := range slices.Chunk(x, max(1, len(x)/(2*k))) {
		maxima = append(maxima, f32.Largest(part))
	}
	slices.Sort(maxima)
	maxima = maxima[max(0, len(maxima)-k):]
	for i, v := range x {
		if v >= maxima[0] && v > float32(math.Inf(-1)) {
			top = append(top, i)
		}
	}
	slices.SortFunc(top, func(a, b int) int { return cmp.Or(cmp.Compare(x[b], x[a]), a-b) })
	return top[:min(k, len(top))]
}
