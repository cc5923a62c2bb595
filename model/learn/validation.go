package learn

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
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
	words   [][]string     // keywords of every photo, for the ranker
	whole   *moments       // of all photos
	heldOut [][]int        // photos of each fold
	foldOf  []int          // fold of each photo
	tested  int            // number of folds that are tested, the first ones
	parts   int            // number of parts in which a fold is measured
	start   blas64.General // eigenvectors of the first regression on all photos
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

// measuredFolds is the maximum number of test sets into which method again
// groups its samples. A mean over keywords depends on the number of test photos,
// and a tenth of the photos is usual.
const measuredFolds = 10

// again returns the samples of a trial on FinalFolds folds. It overwrites x.
func (v *validation) again(ctx context.Context, space Grid, o Options) ([]rank.Sample, error) {
	final := *v
	final.parts = 1
	final.divide(space.FinalFolds, space.Base.Seed)
	r, err := final.regress(ctx, o.Ridge, o.Dim)
	if err != nil {
		return nil, err
	}
	// Every fold needs z, so compute it once. Solutions then need no factor.
	solveRight(blas.Trans, r.factor, v.f.x)
	r.factor = blas64.General{}
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

// samples returns the tested photos with their neighbours, and the folds'
// solutions, which it computes unless they are known. A fold without a
// solution, because its training photos are indistinguishable, is not measured.
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

// annotate returns the samples of the tested folds. Each core holds one fold's
// solution at a time. With v.parts = 2, folds are measured in two halves (see
// measuredFolds).
func (v *validation) annotate(ctx context.Context, dim int, solve func(fold int) (solution, error)) (samples []rank.Sample, err error) {
	byFold, errs, inputs := make([][]rank.Sample, v.tested), make([]error, v.tested), v.packed()
	if err := parallel.Until(ctx, v.tested, func() func(int) {
		a := annotator{validation: v, inputs: inputs}
		return func(fold int) {
			s, err := solve(fold)
			if err == nil && s.directions.Rows > 0 {
				a.project(fold, slice(s.directions, 0, min(dim, s.directions.Rows)))
				byFold[fold] = a.neighbours(fold, s.guesses)
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

// packedRows is the number of photos in a matrix that packed returns.
const packedRows = 2048

// packed returns the inputs of all photos as matrices of q × packedRows values,
// of which the last may be narrower.
func (v *validation) packed() (parts []*f32.Right) {
	var values []float32
	for from := 0; from < v.f.x.Rows; from += packedRows {
		some := slice(v.f.x, from, min(from+packedRows, v.f.x.Rows))
		values = appendNarrow(values[:0], some)
		parts = append(parts, f32.PackRight(values, some.Cols, some.Cols, some.Rows, true))
	}
	return parts
}

// An annotator annotates one fold after another and reuses its memory.
type annotator struct {
	*validation
	inputs           []*f32.Right // of all photos, from packed
	vectors          []float32    // of all photos, dim × n
	cosines, scratch []float32
}

// resized returns n values, with the memory of x if it is large enough.
func resized(x []float32, n int) []float32 { return slices.Grow(x[:0], n)[:n] }

// project computes the vectors of all photos in some directions. The origin is
// the mean of the training photos.
func (a *annotator) project(fold int, directions blas64.General) {
	n, q, dim, held := a.f.x.Rows, directions.Cols, directions.Rows, a.heldOut[fold]
	a.vectors, a.scratch = resized(a.vectors, dim*n), resized(a.scratch, a.inputs[0].Scratch(dim))
	left := appendNarrow(nil, directions)
	for i, part := range a.inputs {
		part.Mul(a.vectors[i*packedRows:], n, left, q, dim, nil, a.scratch)
	}
	squares := make([]float64, n)
	for values := range slices.Chunk(a.vectors, n) {
		mean := 0.0
		for _, i := range held {
			mean -= float64(values[i]) / float64(n-len(held)) // because all photos have the mean 0
		}
		for i, x := range values {
			centred := float64(x) - mean
			values[i] = float32(centred)
			squares[i] += centred * centred
		}
	}
	for i, s := range squares {
		if squares[i] = 1 / math.Sqrt(s); !(s > 0) || math.IsInf(s, 0) {
			squares[i] = 0
		}
	}
	for values := range slices.Chunk(a.vectors, n) {
		for i, x := range values {
			values[i] = float32(float64(x) * squares[i])
		}
	}
}

// neighbours returns a fold's photos with their neighbours among the others.
func (a *annotator) neighbours(fold int, guesses [][]float32) (samples []rank.Sample) {
	const most = 256
	n, held := a.f.x.Rows, a.heldOut[fold]
	dim, size := len(a.vectors)/n, (len(held)+a.parts-1)/a.parts
	a.cosines, a.scratch = resized(a.cosines, min(most, len(held))*n), resized(a.scratch, f32.Scratch(most, n, dim))
	cosines := a.cosines
	for now := range slices.Chunk(held, most) {
		asked := make([]float32, 0, len(now)*dim)
		for _, photo := range now {
			for k := range dim {
				asked = append(asked, a.vectors[k*n+photo])
			}
		}
		f32.Mul(cosines, n, asked, dim, a.vectors, n, len(now), n, dim, false, a.scratch)
		for i, photo := range now {
			place, cosines := len(samples), cosines[i*n:][:n]
			s := rank.Sample{Truth: a.words[photo], Fold: place / size, Photo: photo, Near: make([]rank.Neighbour, 0, rank.MostNeighbours),
				Guess: &rank.Guess{Words: a.f.y.column, Share: guesses[place]}}
			for _, own := range held {
				cosines[own] = float32(math.Inf(-1))
			}
			for _, k := range largest(cosines, rank.MostNeighbours) {
				s.Near = append(s.Near, rank.Neighbour{Dis: max(0, 2-2*float64(cosines[k])), Keywords: a.words[k]})
			}
			samples = append(samples, s)
		}
	}
	return samples
}

// largest returns the places of the k largest values above −∞, the largest
// first. The k-th largest among the maxima of at least 2·k parts is a lower bound.
func largest(x []float32, k int) []int {
	maxima := make([]float32, 0, 2*k+1)
	for part := range slices.Chunk(x, max(1, len(x)/(2*k))) {
		maxima = append(maxima, f32.Largest(part))
	}
	slices.Sort(maxima)
	maxima = maxima[max(0, len(maxima)-k):]
	keys := make([]int64, 0, 2*k) // in the order of falling values, then of places
	for i, v := range x {
		if v >= maxima[0] && v > float32(math.Inf(-1)) {
			bits := int32(math.Float32bits(v))
			rising := bits ^ bits>>31&math.MaxInt32 // negative floats rise as their bits fall
			keys = append(keys, int64(i)-int64(rising)<<32)
		}
	}
	slices.Sort(keys)
	top := make([]int, min(k, len(keys)))
	for i := range top {
		top[i] = int(uint32(keys[i]))
	}
	return top
}
