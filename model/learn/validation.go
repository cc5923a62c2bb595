package learn

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

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
		for j, value := range row(f.x, i) {
			f.mean[j] += value / float64(f.x.Rows)
		}
	}
	for i := range f.x.Rows {
		for j, m := range f.mean {
			row(f.x, i)[j] -= m
		}
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

// solutions solves the problem of every tested fold. A fold without a solution,
// because its training photos are indistinguishable, is not measured.
func (v *validation) solutions(ctx context.Context, ridge float64, dim int) ([]solution, error) {
	r, err := v.regress(ctx, ridge, dim)
	if err != nil {
		return nil, err
	}
	out, errs := make([]solution, v.tested), make([]error, v.tested)
	if err := parallel.Until(ctx, len(out), func() func(int) {
		return func(fold int) { out[fold], errs[fold] = v.solve(ctx, r, fold) }
	}); err != nil {
		return nil, err
	}
	if !slices.Contains(errs, nil) {
		return nil, cmp.Or(errs...)
	}
	return out, nil
}

// measuredFolds is the maximum number of test sets among the samples of again,
// because a mean over keywords depends on the number of test photos, and a
// tenth of the photos is usual.
const measuredFolds = 10

// again returns the samples of one trial on FinalFolds folds. Each core keeps
// one fold's solution at a time.
func (v *validation) again(ctx context.Context, space Grid, o Options) (samples []rank.Sample, err error) {
	final := *v
	final.parts = 1
	final.divide(space.FinalFolds, space.Base.Seed)
	r, err := final.regress(ctx, o.Ridge, o.Dim)
	if err != nil {
		return nil, err
	}
	groups := min(space.FinalFolds, measuredFolds)
	byFold, errs := make([][]rank.Sample, len(final.heldOut)), make([]error, len(final.heldOut))
	if err := parallel.Until(ctx, len(byFold), func() func(int) {
		return func(fold int) {
			s, err := final.solve(ctx, r, fold)
			if err == nil {
				if o.Square {
					s = s.scaleByCorrelation()
				}
				byFold[fold], err = final.addSamples(ctx, nil, fold, s, o.Dim)
			}
			errs[fold] = err
			for i := range byFold[fold] {
				byFold[fold][i].Fold = fold * groups / space.FinalFolds
			}
		}
	}); err != nil {
		return nil, err
	}
	if samples = slices.Concat(byFold...); len(samples) == 0 {
		return nil, cmp.Or(errs...)
	}
	return samples, nil
}

// samples returns the tested photos with their neighbours in the first `dim`
// directions.
func (v *validation) samples(ctx context.Context, solutions []solution, dim int) (samples []rank.Sample, err error) {
	for fold, s := range solutions {
		if samples, err = v.addSamples(ctx, samples, fold, s, dim); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// addSamples appends the photos of one fold, with their neighbours among the
// training photos. Folds with a fifth of the photos are measured in two halves
// (see measuredFolds).
func (v *validation) addSamples(ctx context.Context, samples []rank.Sample, fold int, s solution, dim int) ([]rank.Sample, error) {
	w := s.directions
	if w.Rows == 0 {
		return samples, nil
	}
	w = slice(w, 0, min(w.Rows, dim))
	all, held := product(v.f.x, w, true), v.heldOut[fold]
	mean := make([]float64, w.Rows) // of the training photos, because all photos have the mean 0
	for _, i := range held {
		for j, x := range row(all, i) {
			mean[j] -= x / float64(all.Rows-len(held))
		}
	}
	parallel.For(all.Rows, func(i int) {
		row := row(all, i)
		for j := range row {
			row[j] -= mean[j]
		}
		for j, u := range unit(row) {
			row[j] = float64(u)
		}
	})
	group := 0
	if n := len(samples); n > 0 {
		group = samples[n-1].Fold + 1
	}
	size := (len(held) + v.parts - 1) / v.parts
	for from := 0; from < len(held); from += size {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to := min(from+size, len(held))
		some := v.neighbours(all, held[from:to], fold, group)
		for i := range some {
			some[i].Guess = &rank.Guess{Words: v.f.y.column, Share: s.guesses[from+i]}
		}
		samples = append(samples, some...)
		group++
	}
	return samples, nil
}

func (v *validation) neighbours(all blas64.General, asked []int, fold, group int) []rank.Sample {
	var samples []rank.Sample
	for now := range slices.Chunk(asked, 256) {
		inner := product(rowsOf(all, now), all, true)
		got := make([]rank.Sample, len(now))
		parallel.For(len(now), func(i int) {
			got[i] = rank.Sample{Truth: v.words[now[i]], Fold: group, Photo: now[i], Near: make([]rank.Neighbour, 0, rank.MostNeighbours)}
			cosines := row(inner, i)
			for _, k := range largest(cosines, rank.MostNeighbours, func(k int) bool { return v.foldOf[k] != fold }) {
				got[i].Near = append(got[i].Near, rank.Neighbour{Dis: max(0, 2-2*cosines[k]), Keywords: v.words[k]})
			}
		})
		samples = append(samples, got...)
	}
	return samples
}

// largest returns the places of the k largest values that `use` accepts, the
// largest first. It sorts whenever it has collected 2·k candidates.
func largest(x []float64, k int, use func(int) bool) []int {
	top, least := make([]int, 0, 2*k), math.Inf(-1)
	for i, v := range x {
		if v > least && use(i) {
			top = append(top, i)
		}
		if len(top) < 2*k && i < len(x)-1 {
			continue
		}
		slices.SortFunc(top, func(a, b int) int {
			if x[a] == x[b] {
				return a - b
			}
			return cmp.Compare(x[b], x[a])
		})
		if len(top) >= k {
			top = top[:k]
			least = x[top[k-1]]
		}
	}
	return top
}
