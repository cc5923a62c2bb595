package learn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/parallel"
	"cpar/model/rank"
)

// A validation measures options on photos from which nothing was learnt.
type validation struct {
	f            *ccaProblem
	words        [][]string // keywords of every photo, for the ranker
	heldOut      [][]int
	parts        int        // number of parts in which a fold is measured
	trainMoments []*moments // moments of the photos outside each fold
	trainRows    [][]int
}

func (f *ccaProblem) validation(ctx context.Context, words [][]string, folds int, seed uint64) (*validation, error) {
	v := &validation{f: f, words: words, heldOut: make([][]int, folds), parts: 2}
	for i, p := range rand.New(rand.NewPCG(seed, 0x666f6c64)).Perm(f.x.Rows) { // "fold"
		v.heldOut[i%folds] = append(v.heldOut[i%folds], p)
	}
	var whole *moments
	var parts []*moments
	for _, held := range v.heldOut {
		m, err := f.moments(ctx, held)
		if err != nil {
			return nil, err
		}
		if whole == nil {
			whole = m.zero()
		}
		whole.add(1, m)
		parts = append(parts, m)
	}
	for fold, m := range parts {
		rest := whole.zero()
		rest.add(1, whole)
		rest.add(-1, m)
		v.trainMoments = append(v.trainMoments, rest)
		var others []int
		for other, list := range v.heldOut {
			if other != fold {
				others = append(others, list...)
			}
		}
		slices.Sort(others)
		v.trainRows = append(v.trainRows, others)
	}
	return v, nil
}

// solutions solves the problem of every fold. A fold without a solution,
// because its training photos are indistinguishable, is not tested.
func (v *validation) solutions(ctx context.Context, ridge float64, dim int) ([]solution, error) {
	out := make([]solution, len(v.trainMoments))
	var failed error
	some := false
	for fold, m := range v.trainMoments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w, err := correlateUntil(ctx, m, ridge, dim)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed = fmt.Errorf("fold %d: %w", fold, err)
			continue
		}
		out[fold], some = w, true
	}
	if !some {
		return nil, failed
	}
	return out, nil
}

// again returns the samples of one trial on FinalFolds folds.
func (v *validation) again(ctx context.Context, space Grid, o Options) ([]rank.Sample, error) {
	final, err := v.f.validation(ctx, v.words, space.FinalFolds, space.Base.Seed)
	if err != nil {
		return nil, err
	}
	final.parts = 1
	solutions, err := final.solutions(ctx, o.Ridge, o.Dim)
	if err != nil {
		return nil, err
	}
	if o.Square {
		for fold, s := range solutions {
			solutions[fold] = s.scaleByCorrelation()
		}
	}
	return final.samples(ctx, solutions, o.Dim)
}

// samples returns the tested photos with their neighbours in the first dim
// directions. A fold of a fifth of the photos is measured in two halves,
// because a mean over keywords depends on the number of test photos. A tenth of
// the photos is the usual size of a test set.
func (v *validation) samples(ctx context.Context, solutions []solution, dim int) ([]rank.Sample, error) {
	var samples []rank.Sample
	group := 0
	for fold, s := range solutions {
		w := s.directions
		if w.Cols == 0 {
			continue
		}
		w.Cols = min(w.Cols, dim)
		all := product(v.f.x, w, false)
		m, mean := v.trainMoments[fold], matrix(1, w.Cols)
		blas64.Gemv(blas.Trans, 1/m.n, w, blas64.Vector{N: len(m.sx), Inc: 1, Data: m.sx}, 0,
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
		size := (len(v.heldOut[fold]) + v.parts - 1) / v.parts
		for asked := range slices.Chunk(v.heldOut[fold], size) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			some := v.neighbours(all, records, asked, fold, group)
			for i, share := range m.guesses(rowsOf(v.f.x, asked), s.guess) {
				some[i].Guess = &rank.Guess{Words: v.f.y.column, Share: share}
			}
			samples = append(samples, some...)
			group++
		}
	}
	return samples, nil
}

func (v *validation) neighbours(all, records blas64.General, asked []int, fold, group int) []rank.Sample {
	var samples []rank.Sample
	for now := range slices.Chunk(asked, 256) {
		inner := product(rowsOf(all, now), records, true)
		got := make([]rank.Sample, len(now))
		parallel.For(len(now), func(i int) {
			got[i].Truth, got[i].Fold, got[i].Photo = v.words[now[i]], group, now[i]
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
