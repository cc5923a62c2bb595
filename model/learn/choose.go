package learn

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/model/rank"
)

// Grid is the set of options that Choose tries. Zero fields other than Base get
// the defaults in their comments.
type Grid struct {
	Base       Options   // Blocks, Seed and Progress for every trial
	Ridges     []float64 // by default 0.03, 0.1, 0.3, 1
	Dims       []int     // by default 64, 96, which keep an index of 20,000 photos below 25 MB
	Landmarks  []int     // by default 0, 1000
	Skips      [][]bool  // by default {nil}, which leaves no block out
	Folds      int       // by default 5, or 10 for 300 to 1,000 photos
	FinalFolds int       // folds of the final calibration, by default Folds, or 80 above 1,000 photos
	Keep       int       // keywords per annotated photo, by default 5
	Neighbours int       // number of voting neighbours, 0 to choose it too
	// MaxPhotos bounds the photos on which the choice is made, by default 5000.
	// Fit uses all photos.
	MaxPhotos int
}

// With five folds, a fifth of the photos is missing from learning, which makes
// probabilities too low (docs/quality.md). From minTenFolds photos on, the
// ranker is therefore calibrated on ten folds. Above maxTenFolds photos, trials
// use five folds, and only the best is repeated, on eighty.
const minTenFolds, maxTenFolds = 300, 1000

// A Trial is one set of options with its merit (rank.Merit) on the collection's
// own photos.
type Trial struct {
	Options Options
	Merit   float64
}

type Choice struct {
	Trial
	Ranker  *rank.Calibrated // calibrated for the keywords of the whole collection
	Quality rank.Quality     // quality of Ranker
	Trials  []Trial
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
	folds, final := 5, 80
	switch {
	case photos < minTenFolds:
		final = 5
	case photos <= maxTenFolds:
		folds, final = 10, 10
	}
	s.FinalFolds = cmp.Or(s.FinalFolds, s.Folds, final)
	s.Folds, s.Keep, s.MaxPhotos = cmp.Or(s.Folds, folds), cmp.Or(s.Keep, 5), cmp.Or(s.MaxPhotos, 5000)
	s.Folds, s.FinalFolds = min(s.Folds, photos), min(s.FinalFolds, photos)
	return s
}

func (s Grid) check(rows Rows, keywords [][]string) (Rows, []int, error) {
	if s.Folds < 2 || s.FinalFolds < 2 || s.Keep < 1 || s.MaxPhotos < 2 || len(s.Ridges)*len(s.Dims)*len(s.Landmarks)*len(s.Skips) == 0 {
		return rows, nil, fmt.Errorf("%w: the grid is empty or too small: %d folds of %d photos, %d keywords, %d photos to choose on, %d ridges, %d dimensions, %d numbers of landmarks, %d skips",
			cpar.ErrInput, s.Folds, rows.N, s.Keep, s.MaxPhotos, len(s.Ridges), len(s.Dims), len(s.Landmarks), len(s.Skips))
	}
	o := s.Base
	o.Ridge, o.Dim = s.Ridges[0], s.Dims[0]
	rows, blocks, err := o.check(rows, keywords)
	if err != nil {
		return rows, nil, err
	}
	for _, o.Ridge = range s.Ridges {
		for _, o.Dim = range s.Dims {
			for _, o.Landmarks = range s.Landmarks {
				for _, o.Skip = range s.Skips {
					if err := o.bounds(len(blocks)); err != nil {
						return rows, nil, err
					}
				}
			}
		}
	}
	return rows, blocks, nil
}

// Choose tries options by cross-validation on the collection alone. The
// calibrated ranker annotates each photo with neighbours from the other folds,
// at distances learnt from the other folds. The trial with the highest merit
// wins.
//
// Choose first tries all pairs of blocks and landmarks with the middle ridge
// and the most dimensions. For the best pair it tries all pairs of ridge and
// dimensions, and finally Options.Square. Principal components and landmarks
// come from all photos, test photos included, because they do not depend on
// keywords. The result depends only on the arguments. After ctx ends, Choose
// returns within one trial. Errors wrap cpar.ErrInput.
func Choose(ctx context.Context, rows Rows, keywords [][]string, space Grid) (*Choice, error) {
	c, err := choose(ctx, rows, keywords, space.filled(rows.N))
	if err != nil {
		return nil, fmt.Errorf("choosing a projection: %w", err)
	}
	return c, nil
}

func choose(ctx context.Context, rows Rows, keywords [][]string, space Grid) (*Choice, error) {
	rows, blocks, err := space.check(rows, keywords)
	if err != nil {
		return nil, err
	}
	all := keywords
	if rows.N > space.MaxPhotos {
		some := sample(rows.N, space.MaxPhotos, space.Base.Seed)
		rows, keywords = rows.pick(some), pick(keywords, some)
	}
	y, err := label(keywords)
	if err != nil {
		return nil, err
	}
	middle, most := space.Ridges[len(space.Ridges)/2], slices.Max(space.Dims)
	steps := progress{tell: space.Base.Progress,
		total: len(blocks) + 2*len(space.Skips)*len(space.Landmarks) + len(space.Ridges)*len(space.Dims)}
	if space.FinalFolds != space.Folds {
		steps.total++
	}
	base := space.Base
	base.Skip = nil
	r, err := reduce(ctx, rows, blocks, base, &steps)
	if err != nil {
		return nil, err
	}
	parts, err := r.project(ctx, rows, 0, rows.N)
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
		merit, err := rank.Merit(ctx, samples, all, space.Keep, space.Neighbours)
		if err != nil {
			return err
		}
		trial := Trial{o, merit}
		best.Trials = append(best.Trials, trial)
		// Among equal trials, take the first, for example that with the
		// smallest ridge.
		if bestV == nil || merit > best.Merit {
			best.Trial, best.Samples, bestV, bestS = trial, samples, v, solutions
		}
		steps.step()
		return nil
	}
	for _, base.Skip = range space.Skips {
		for _, base.Landmarks = range space.Landmarks {
			base.Ridge, base.Dim = middle, most
			f, err := r.problem(ctx, y, base)
			if err == nil {
				f.x, err = f.mapToLandmarks(ctx, f.join(parts))
			}
			if err != nil {
				return nil, err
			}
			v = nil // frees its moments, unless it is the best
			if v, err = f.validation(ctx, keywords, space.Folds, space.Base.Seed); err != nil {
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
	if space.FinalFolds != space.Folds {
		bestV.held, bestS = nil, nil // frees what the other folds do not need
		if best.Samples, err = bestV.again(ctx, space, best.Options); err != nil {
			return nil, err
		}
		steps.step()
	}
	best.Ranker, best.Quality, err = rank.Calibrate(ctx, best.Samples, all, space.Keep, space.Neighbours)
	return best, err
}

func pick[T any](from []T, which []int) []T {
	out := make([]T, len(which))
	for k, i := range which {
		out[k] = from[i]
	}
	return out
}
