package learn

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"cpar"
	"cpar/internal/parallel"
	"cpar/model/rank"
)

// Grid is the set of options that Choose tries. Zero fields other than Base
// take the defaults given here.
type Grid struct {
	Base       Options   // Blocks, Seed and Progress for every trial
	Ridges     []float64 // 0.03, 0.1, 0.3, 1
	Dims       []int     // 64, 96, which keep an index of 20,000 photos below 25 MB
	Landmarks  []int     // 0, 1000
	Skips      [][]bool  // {nil}: no block left out
	Folds      int       // 5, or 10 for 300 to 1,000 photos, at most the number of photos
	Keep       int       // keywords per annotated photo, 5
	Neighbours int       // number of voting neighbours, 0 to choose it too
	// MaxPhotos bounds the photos that the choice is made on, 5000. Fit uses
	// all photos.
	MaxPhotos int
}

// With a few hundred photos, five folds cost accuracy and make probabilities
// too low (docs/quality.md), so Choose takes ten.
const minTenFolds, maxTenFolds = 300, 1000

// A Trial is one set of options with its quality on the collection's own
// photos.
type Trial struct {
	Options Options
	Quality rank.Quality
}

// Choice is the best trial.
type Choice struct {
	Trial
	Ranker *rank.Calibrated // calibrated for the keywords of the whole collection
	Trials []Trial
	// Samples are the annotated photos with their neighbours in the best trial.
	Samples []rank.Sample
}

func (s Grid) filled(photos int) Grid {
	if s.Ridges == nil {
		s.Ridges = []float64{0.03, 0.1, 0.3, 1}
	}
	if s.Dims == nil {
		s.Dims = []int{64, 96}
	}
	if s.Landmarks == nil {
		s.Landmarks = []int{0, 1000}
	}
	if s.Skips == nil {
		s.Skips = [][]bool{nil}
	}
	folds := 5
	if photos >= minTenFolds && photos <= maxTenFolds {
		folds = 10
	}
	s.Folds, s.Keep, s.MaxPhotos = cmp.Or(s.Folds, folds), cmp.Or(s.Keep, 5), cmp.Or(s.MaxPhotos, 5000)
	s.Folds = min(s.Folds, photos)
	return s
}

func (s Grid) check(rows [][]float32, keywords [][]string) ([]int, error) {
	if s.Folds < 2 || s.Keep < 1 || s.MaxPhotos < 2 || len(s.Ridges)*len(s.Dims)*len(s.Landmarks)*len(s.Skips) == 0 {
		return nil, fmt.Errorf("%w: the grid is empty or too small: %d folds of %d photos, %d keywords, %d photos to choose on, %d ridges, %d dimensions, %d numbers of landmarks, %d skips",
			cpar.ErrInput, s.Folds, len(rows), s.Keep, s.MaxPhotos, len(s.Ridges), len(s.Dims), len(s.Landmarks), len(s.Skips))
	}
	o := s.Base
	o.Ridge, o.Dim = s.Ridges[0], s.Dims[0]
	blocks, err := o.check(rows, keywords)
	if err != nil {
		return nil, err
	}
	for _, o.Ridge = range s.Ridges {
		for _, o.Dim = range s.Dims {
			for _, o.Landmarks = range s.Landmarks {
				for _, o.Skip = range s.Skips {
					if err := o.bounds(len(blocks)); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return blocks, nil
}

// Choose tries options by cross-validation on the collection alone. The
// calibrated ranker annotates each photo with neighbours from the other folds,
// at distances learnt from the other folds. The trial with the highest
// Quality.Distances wins.
//
// Choose first tries all pairs of blocks and landmarks with the middle ridge
// and the most dimensions, then all pairs of ridge and dimensions for the best
// of these, and finally squared correlations. Principal components and
// landmarks come from all photos, test photos included, because they do not
// depend on keywords. The result depends only on the arguments. After ctx ends,
// Choose returns within one trial. Errors wrap cpar.ErrInput.
func Choose(ctx context.Context, rows [][]float32, keywords [][]string, space Grid) (*Choice, error) {
	c, err := choose(ctx, rows, keywords, space.filled(len(rows)))
	if err != nil {
		return nil, fmt.Errorf("choosing a projection: %w", err)
	}
	return c, nil
}

func choose(ctx context.Context, rows [][]float32, keywords [][]string, space Grid) (*Choice, error) {
	blocks, err := space.check(rows, keywords)
	if err != nil {
		return nil, err
	}
	all := keywords
	if len(rows) > space.MaxPhotos {
		some := sample(len(rows), space.MaxPhotos, space.Base.Seed)
		rows, keywords = pick(rows, some), pick(keywords, some)
	}
	y, err := label(keywords)
	if err != nil {
		return nil, err
	}
	middle, most := space.Ridges[len(space.Ridges)/2], slices.Max(space.Dims)
	steps := progress{tell: space.Base.Progress,
		total: len(blocks) + 2*len(space.Skips)*len(space.Landmarks) + len(space.Ridges)*len(space.Dims)}
	base := space.Base
	base.Skip = nil
	r, err := reduce(ctx, rows, blocks, base, &steps)
	if err != nil {
		return nil, err
	}
	best := &Choice{}
	var v, bestV *validation
	var bestS []solution
	try := func(o Options, solutions []solution) error {
		samples, err := v.samples(ctx, solutions, o.Dim)
		if err != nil {
			return err
		}
		ranker, quality, err := rank.Calibrate(ctx, samples, all, space.Keep, space.Neighbours)
		if err != nil {
			return err
		}
		trial := Trial{o, quality}
		best.Trials = append(best.Trials, trial)
		// Among equals, take the first: fewer blocks, a smaller ridge, fewer
		// dimensions.
		if best.Ranker == nil || quality.Distances > best.Quality.Distances {
			best.Trial, best.Ranker, best.Samples, bestV, bestS = trial, ranker, samples, v, solutions
		}
		steps.step()
		return nil
	}
	for _, base.Skip = range space.Skips {
		for _, base.Landmarks = range space.Landmarks {
			base.Ridge, base.Dim = middle, most
			f, err := r.fitting(ctx, y, base)
			if err != nil {
				return nil, err
			}
			if v, err = f.validation(ctx, keywords, space); err != nil {
				return nil, err
			}
			steps.step()
			solutions, err := v.solutions(ctx, middle, most)
			if err == nil {
				err = try(base, solutions)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	base, v = best.Options, bestV
	for _, base.Ridge = range space.Ridges {
		solutions, err := v.solutions(ctx, base.Ridge, most)
		if err != nil {
			return nil, err
		}
		for _, base.Dim = range space.Dims {
			if base.Ridge == middle && base.Dim == most {
				continue
			}
			if err := try(base, solutions); err != nil {
				return nil, err
			}
		}
	}
	squared := make([]solution, len(bestS))
	for fold, s := range bestS {
		squared[fold] = s.scaleByCorrelation()
	}
	base = best.Options
	base.Square = true
	if err := try(base, squared); err != nil {
		return nil, err
	}
	return best, nil
}

func pick[T any](from []T, which []int) []T {
	out := make([]T, len(which))
	for k, i := range which {
		out[k] = from[i]
	}
	return out
}

type validation struct {
	f            *ccaProblem
	words        [][]string // keywords of every photo, for the ranker
	heldOut      [][]int
	trainMoments []*moments // moments of the photos outside each fold
	trainRows    [][]int
}

func (f *ccaProblem) validation(ctx context.Context, words [][]string, space Grid) (*validation, error) {
	v := &validation{f: f, words: words, heldOut: make([][]int, space.Folds)}
	for i, p := range rand.New(rand.NewPCG(space.Base.Seed, 0x666f6c64)).Perm(f.x.Rows) { // "fold"
		v.heldOut[i%space.Folds] = append(v.heldOut[i%space.Folds], p)
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

// samples returns the tested photos with their neighbours in the first dim
// directions. Each fold is measured in two halves, because a mean over keywords
// depends on the number of test photos: a tenth of the photos is the usual size
// of a test set.
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
		half := (len(v.heldOut[fold]) + 1) / 2
		for asked := range slices.Chunk(v.heldOut[fold], half) {
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
