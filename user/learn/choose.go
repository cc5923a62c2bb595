package learn

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"cpar"
	"cpar/internal/parallel"
	"cpar/user/rank"
)

// Space is what Choose chooses from: all combinations. The zero value of a field
// but Base is the default said there.
type Space struct {
	Base       Options   // Blocks, Components and Seed of every choice
	Ridges     []float64 // 0.1, 0.3, 1
	Dims       []int     // 64, 128
	Landmarks  []int     // 0, 1000
	Skips      [][]bool  // no block left out
	Folds      int       // 5
	Keep       int       // keywords a photo is annotated with; 5
	Neighbours int       // that vote; 0 to choose that too
	// Most photos that are annotated, spread over the folds; 5000. The others
	// serve in fitting and as neighbours.
	Most int
}

// FeatureSpace is the space of Rows: all features, or those without gaborq and
// haarq, whose values are phases and signs instead of magnitudes.
func FeatureSpace() Space {
	return Space{Base: Options{Blocks: FeatureBlocks()},
		Skips: [][]bool{nil, {false, false, false, false, true, false, true}}}
}

// A Trial is a choice with what the collection's own photos said of it.
type Trial struct {
	Options Options
	Quality rank.Quality
}

// Choice is the best of the trials.
type Choice struct {
	Trial
	Ranker *rank.Calibrated // with the photos and keywords of the whole collection
	Trials []Trial          // all, in the order tried
	// Samples are the annotated photos with their neighbours in the best trial.
	Samples []rank.Sample
}

func (s Space) filled() Space {
	if s.Ridges == nil {
		s.Ridges = []float64{0.1, 0.3, 1}
	}
	if s.Dims == nil {
		s.Dims = []int{64, 128}
	}
	if s.Landmarks == nil {
		s.Landmarks = []int{0, 1000}
	}
	if s.Skips == nil {
		s.Skips = [][]bool{nil}
	}
	s.Folds, s.Keep, s.Most = cmp.Or(s.Folds, 5), cmp.Or(s.Keep, 5), cmp.Or(s.Most, 5000)
	return s
}

// Choose tries every combination by cross-validation on the collection alone:
// a photo is annotated by the calibrated ranker with neighbours from the other
// folds, at distances learnt from the other folds. The best has the greatest
// Quality.Merit. Principal components and landmarks, which see no keywords, are
// of the whole collection. Its result is a function of its arguments. It stops
// between two trials when ctx ends.
func Choose(ctx context.Context, rows [][]float32, keywords [][]int, space Space) (*Choice, error) {
	space = space.filled()
	if space.Folds < 2 || space.Folds > len(rows) || space.Keep < 1 || space.Most < 1 {
		return nil, fmt.Errorf("choosing a projection: %w: %d folds of %d photos, %d keywords, %d photos annotated",
			cpar.ErrInput, space.Folds, len(rows), space.Keep, space.Most)
	}
	var best *Choice
	var trials []Trial
	for _, skip := range space.Skips {
		for _, landmarks := range space.Landmarks {
			base := space.Base
			base.Skip, base.Landmarks, base.Dim, base.Ridge = skip, landmarks, slices.Max(space.Dims), 1
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("choosing a projection: %w", err)
			}
			f, err := prepare(rows, keywords, base)
			if err != nil {
				return nil, fmt.Errorf("choosing a projection: %w", err)
			}
			v := f.validation(keywords, space)
			for _, ridge := range space.Ridges {
				base.Ridge = ridge
				if _, err := base.check(rows, keywords); err != nil {
					return nil, fmt.Errorf("choosing a projection: %w", err)
				}
				directions, err := v.directions(ctx, ridge, base.Dim)
				if err != nil {
					return nil, fmt.Errorf("choosing a projection: %w", err)
				}
				for _, dim := range space.Dims {
					base.Dim = dim
					if _, err := base.check(rows, keywords); err != nil {
						return nil, fmt.Errorf("choosing a projection: %w", err)
					}
					samples := v.samples(directions, dim)
					ranker, quality, err := rank.Calibrate(samples, v.words, space.Keep, space.Neighbours)
					if err != nil {
						return nil, fmt.Errorf("choosing a projection: %w", err)
					}
					trial := Trial{base, quality}
					trials = append(trials, trial)
					// Of equals the first: fewer parts, a smaller ridge, fewer dimensions.
					if best == nil || quality.Merit() > best.Quality.Merit() {
						best = &Choice{Trial: trial, Ranker: ranker, Samples: samples}
					}
				}
				base.Dim = slices.Max(space.Dims)
			}
		}
	}
	if best == nil {
		return nil, fmt.Errorf("choosing a projection: %w: nothing to choose from", cpar.ErrInput)
	}
	best.Trials = trials
	return best, nil
}

// validation is a fitting divided into folds.
type validation struct {
	f       *fitting
	words   [][]string // stand-ins of the indices, which the ranker takes
	held    [][]int    // photos of every fold
	asked   [][]int    // those of them that are annotated
	rest    []*moments // of the photos outside every fold
	restRow [][]int
}

func (f *fitting) validation(keywords [][]int, space Space) *validation {
	v := &validation{f: f, held: make([][]int, space.Folds)}
	for _, list := range keywords {
		words := make([]string, len(list))
		for i, w := range list {
			words[i] = strconv.Itoa(w)
		}
		v.words = append(v.words, words)
	}
	for i, p := range rand.New(rand.NewPCG(space.Base.Seed, 0x666f6c64)).Perm(f.x.Rows) { // "fold"
		v.held[i%space.Folds] = append(v.held[i%space.Folds], p)
	}
	whole := f.moments(nil)
	for fold, held := range v.held {
		v.asked = append(v.asked, held[:min(len(held), (space.Most+space.Folds-1)/space.Folds)])
		v.rest = append(v.rest, whole.without(f.moments(held)))
		var others []int
		for other, list := range v.held {
			if other != fold {
				others = append(others, list...)
			}
		}
		slices.Sort(others)
		v.restRow = append(v.restRow, others)
	}
	return v
}

// directions are those of every fold.
func (v *validation) directions(ctx context.Context, ridge float64, dim int) ([]blas64.General, error) {
	var out []blas64.General
	for fold, m := range v.rest {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w, err := correlate(m, ridge, dim)
		if err != nil {
			return nil, fmt.Errorf("fold %d: %w", fold, err)
		}
		out = append(out, w)
	}
	return out, nil
}

// samples are the photos asked with their neighbours, in the first dim directions.
func (v *validation) samples(directions []blas64.General, dim int) []rank.Sample {
	var samples []rank.Sample
	for fold, w := range directions {
		w.Cols = min(w.Cols, dim)
		all := product(blas.NoTrans, v.f.x, w)
		m, mean := v.rest[fold], matrix(1, w.Cols)
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
		records := rowsOf(all, v.restRow[fold])
		// A few hundred at a time: a table of all distances could be large.
		const batch = 256
		asked := v.asked[fold]
		for len(asked) > 0 {
			now := asked[:min(batch, len(asked))]
			asked = asked[len(now):]
			inner := matrix(len(now), records.Rows)
			blas64.Gemm(blas.NoTrans, blas.Trans, 1, rowsOf(all, now), records, 0, inner)
			got := make([]rank.Sample, len(now))
			parallel.For(len(now), func(i int) {
				got[i].Truth, got[i].Fold = v.words[now[i]], fold
				for _, k := range largest(inner.Data[i*inner.Cols:(i+1)*inner.Cols], rank.MostNeighbours) {
					got[i].Near = append(got[i].Near, rank.Neighbour{
						Dis:      max(0, 2-2*inner.Data[i*inner.Cols+k]),
						Keywords: v.words[v.restRow[fold][k]],
					})
				}
			})
			samples = append(samples, got...)
		}
	}
	return samples
}

// largest are the places of the k greatest values, greatest first, of equals the
// first.
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
