package learn

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/parallel"
	"cpar/model/rank"
)

type validation struct {
	f         *ccaProblem
	words     [][]string // keywords of every photo, for the ranker
	heldOut   [][]int    // photos of each fold
	trainRows [][]int    // photos outside each fold
	parts     int        // number of parts in which a fold is measured
	whole     *moments   // moments (sums for covariances) of all photos
	// held are the moments of each fold. They are nil if each fold is used only
	// once, because many folds' moments would take much memory.
	held []*moments
}

func (f *ccaProblem) validation(ctx context.Context, words [][]string, folds int, seed uint64) (*validation, error) {
	v := &validation{f: f, words: words, parts: 2}
	v.divide(folds, seed)
	for _, photos := range v.heldOut {
		m, err := f.moments(ctx, photos)
		if err != nil {
			return nil, err
		}
		if v.whole == nil {
			v.whole = m.zero()
		}
		v.whole.add(1, m)
		v.held = append(v.held, m)
	}
	return v, nil
}

func (v *validation) divide(folds int, seed uint64) {
	v.heldOut = make([][]int, folds)
	for i, p := range rand.New(rand.NewPCG(seed, 0x666f6c64)).Perm(v.f.x.Rows) { // "fold"
		v.heldOut[i%folds] = append(v.heldOut[i%folds], p)
	}
	for fold := range v.heldOut {
		var others []int
		for other, list := range v.heldOut {
			if other != fold {
				others = append(others, list...)
			}
		}
		slices.Sort(others)
		v.trainRows = append(v.trainRows, others)
	}
}

// trainMoments returns the moments of the photos outside a fold.
func (v *validation) trainMoments(ctx context.Context, fold int) (*moments, error) {
	var held *moments
	if v.held != nil {
		held = v.held[fold]
	} else {
		var err error
		if held, err = v.f.moments(ctx, v.heldOut[fold]); err != nil {
			return nil, err
		}
	}
	rest := v.whole.zero()
	rest.add(1, v.whole)
	rest.add(-1, held)
	return rest, nil
}

// solutions solves the problem of every fold. A fold without a solution,
// because its training photos are indistinguishable, is not tested.
func (v *validation) solutions(ctx context.Context, ridge float64, dim int) ([]solution, error) {
	out, errs := make([]solution, len(v.heldOut)), make([]error, len(v.heldOut))
	if err := parallel.Until(ctx, len(out), func() func(int) {
		return func(fold int) {
			m, err := v.trainMoments(ctx, fold)
			if err == nil {
				out[fold], err = correlateUntil(ctx, m, ridge, dim)
			}
			errs[fold] = err
		}
	}); err != nil {
		return nil, err
	}
	var failed error
	some := false
	for fold, err := range errs {
		if err != nil {
			failed = fmt.Errorf("fold %d: %w", fold, err)
		}
		some = some || err == nil
	}
	if !some {
		return nil, failed
	}
	return out, nil
}

// measuredFolds is the maximum number of test sets among the samples of again,
// because a mean over keywords depends on the number of test photos, and a
// tenth of the photos is usual.
const measuredFolds = 10

// again returns the samples of one trial on FinalFolds folds. Each core keeps
// one fold's moments and solution at a time.
func (v *validation) again(ctx context.Context, space Grid, o Options) (samples []rank.Sample, err error) {
	final := &validation{f: v.f, words: v.words, parts: 1, whole: v.whole}
	final.divide(space.FinalFolds, space.Base.Seed)
	groups := min(space.FinalFolds, measuredFolds)
	byFold, errs := make([][]rank.Sample, len(final.heldOut)), make([]error, len(final.heldOut))
	if err := parallel.Until(ctx, len(byFold), func() func(int) {
		return func(fold int) {
			byFold[fold], errs[fold] = final.tested(ctx, fold, o)
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

// tested solves the problem of a fold and returns its samples.
func (v *validation) tested(ctx context.Context, fold int, o Options) ([]rank.Sample, error) {
	m, err := v.trainMoments(ctx, fold)
	if err != nil {
		return nil, err
	}
	s, err := correlateUntil(ctx, m, o.Ridge, o.Dim)
	if err != nil {
		return nil, fmt.Errorf("fold %d: %w", fold, err)
	}
	if o.Square {
		s = s.scaleByCorrelation()
	}
	return v.addSamples(ctx, nil, fold, m, s, o.Dim)
}

// samples returns the tested photos with their neighbours in the first `dim`
// directions.
func (v *validation) samples(ctx context.Context, solutions []solution, dim int) (samples []rank.Sample, err error) {
	for fold, s := range solutions {
		m, err := v.trainMoments(ctx, fold)
		if err != nil {
			return nil, err
		}
		if samples, err = v.addSamples(ctx, samples, fold, m, s, dim); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// addSamples appends the photos of one fold, with their neighbours among the
// training photos. Folds with a fifth of the photos are measured in two halves
// (see measuredFolds).
func (v *validation) addSamples(ctx context.Context, samples []rank.Sample, fold int, train *moments, s solution, dim int) ([]rank.Sample, error) {
	w := s.directions
	if w.Cols == 0 {
		return samples, nil
	}
	w.Cols = min(w.Cols, dim)
	all, mean := product(v.f.x, w, false), matrix(1, w.Cols)
	blas64.Gemv(blas.Trans, 1/train.n, w, blas64.Vector{N: len(train.sx), Inc: 1, Data: train.sx}, 0,
		blas64.Vector{N: w.Cols, Inc: 1, Data: mean.Data})
	parallel.For(all.Rows, func(i int) {
		row := all.Data[i*all.Cols : (i+1)*all.Cols]
		for j := range row {
			row[j] -= mean.Data[j]
		}
		for j, u := range unit(row) {
			row[j] = float64(u)
		}
	})
	records := rowsOf(all, v.trainRows[fold])
	group := 0
	if n := len(samples); n > 0 {
		group = samples[n-1].Fold + 1
	}
	size := (len(v.heldOut[fold]) + v.parts - 1) / v.parts
	for asked := range slices.Chunk(v.heldOut[fold], size) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some := v.neighbours(all, records, asked, fold, group)
		for i, share := range train.guesses(rowsOf(v.f.x, asked), s.guess) {
			some[i].Guess = &rank.Guess{Words: v.f.y.column, Share: share}
		}
		samples = append(samples, some...)
		group++
	}
	return samples, nil
}

func (v *validation) neighbours(all, records blas64.General, asked []int, fold, group int) []rank.Sample {
	var samples []rank.Sample
	for now := range slices.Chunk(asked, 256) {
		inner := product(rowsOf(all, now), records, true)
		got := make([]rank.Sample, len(now))
		parallel.For(len(now), func(i int) {
			got[i] = rank.Sample{Truth: v.words[now[i]], Fold: group, Photo: now[i], Near: make([]rank.Neighbour, 0, rank.MostNeighbours)}
			for _, k := range largest(inner.Data[i*inner.Cols:(i+1)*inner.Cols], rank.MostNeighbours) {
				got[i].Near = append(got[i].Near, rank.Neighbour{
					Dis:      max(0, 2-2*inner.Data[i*inner.Cols+k]),
					Keywords: v.words[v.trainRows[fold][k]],
				})
			}
		})
		samples = append(samples, got...)
	}
	return samples
}

func largest(x []float64, k int) []int {
	k = min(k, len(x))
	top := make([]int, 0, k+1)
	for i, v := range x {
		if len(top) == k && v <= x[top[k-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, v, func(j int, v float64) int {
			if x[j] >= v {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, i)
		top = top[:min(k, len(top))]
	}
	return top
}
