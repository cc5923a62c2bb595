package learn

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

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

// A Trial is a set of options with its merit (rank.Merit) on the collection.
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
	Samples   []rank.Sample
	reduction reduction // of all rows
	// problem and whole belong to the best trial. Fit uses them again if that
	// trial used all photos.
	problem *ccaProblem
	whole   *moments
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
// and the most dimensions. For the best pair it tries the other ridges, for the
// best ridge the other dimensions, and finally Options.Square. With many
// photos, trials test only some of the folds (testedPhotos). Principal
// components and landmarks may also come from test photos, because they do not
// depend on keywords. The result depends only on the arguments. After ctx ends,
// Choose returns within one trial. Errors wrap cpar.ErrInput.
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
	c := &chooser{space: space, all: keywords, best: new(Choice), steps: progress{tell: space.Base.Progress,
		total: len(blocks) + 2*len(space.Skips)*len(space.Landmarks) + len(space.Ridges) + len(space.Dims)}}
	r, err := reduce(ctx, rows, blocks, space.Base.Seed, &c.steps)
	if err != nil {
		return nil, err
	}
	c.best.reduction = *r
	if rows.N > space.MaxPhotos {
		some := sample(rows.N, space.MaxPhotos, space.Base.Seed)
		r.rows, keywords = rows.pick(some), pick(keywords, some)
	}
	if err := c.tryBlocks(ctx, r, keywords); err != nil {
		return nil, err
	}
	return c.best, c.tryRidges(ctx)
}

// A chooser tries options.
type chooser struct {
	space Grid
	all   [][]string // keywords of the whole collection
	steps progress
	best  *Choice
	// bestV and bestS belong to the best trial.
	bestV *validation
	bestS []solution
}

// try tries options with the solutions, or computes these if they are nil.
func (c *chooser) try(ctx context.Context, v *validation, o Options, solutions []solution) error {
	samples, solutions, err := v.samples(ctx, o, solutions)
	if err != nil {
		return err
	}
	merit, err := rank.Merit(ctx, samples, c.all, c.space.Keep, c.space.Neighbours)
	if err != nil {
		return err
	}
	trial := Trial{o, merit}
	c.best.Trials = append(c.best.Trials, trial)
	// Among equal trials, keep the first.
	if c.bestV == nil || merit > c.best.Merit {
		c.best.Trial, c.best.Samples, c.bestV, c.bestS = trial, samples, v, solutions
	}
	c.steps.step()
	return nil
}

// middle returns the ridge and dimensions for trials of blocks and landmarks.
func (s Grid) middle() (ridge float64, dim int) {
	return s.Ridges[len(s.Ridges)/2], slices.Max(s.Dims)
}

// testedPhotos is the number of photos on which trials are compared, rounded up
// to whole folds. More photos would hardly make the comparison more certain.
const testedPhotos = 2000

// tryBlocks tries all pairs of blocks and landmarks.
func (c *chooser) tryBlocks(ctx context.Context, r *reduction, keywords [][]string) error {
	y, err := label(keywords)
	if err != nil {
		return err
	}
	parts, err := r.project(ctx, r.rows, 0, r.rows.N)
	if err != nil {
		return err
	}
	base := c.space.Base
	base.Ridge, base.Dim = c.space.middle()
	left := len(c.space.Skips) * len(c.space.Landmarks)
	for _, base.Skip = range c.space.Skips {
		for _, base.Landmarks = range c.space.Landmarks {
			f, err := r.problem(ctx, y, base, parts)
			if err == nil {
				f.x, err = f.mapToLandmarks(ctx, parts)
			}
			if err != nil {
				return err
			}
			if left--; left == 0 {
				parts = nil // the last trial needs the most memory
			}
			v, err := f.validation(ctx, keywords, c.space.Folds, c.space.Base.Seed)
			if err != nil {
				return err
			}
			v.tested = min(v.tested, max(2, (testedPhotos*v.tested+r.rows.N-1)/r.rows.N))
			c.steps.step()
			if err := c.try(ctx, v, base, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryRidges tries the other ridges with the best blocks and landmarks, then the
// other dimensions, and finally Options.Square. It calibrates the ranker.
func (c *chooser) tryRidges(ctx context.Context) (err error) {
	space, v, base := c.space, c.bestV, c.best.Options
	middle, most := space.middle()
	for _, base.Ridge = range space.Ridges {
		if base.Ridge != middle {
			if err := c.try(ctx, v, base, nil); err != nil {
				return err
			}
		}
	}
	base, solutions := c.best.Options, c.bestS
	for _, base.Dim = range space.Dims {
		if base.Dim != most {
			if err := c.try(ctx, v, base, solutions); err != nil {
				return err
			}
		}
	}
	squared := make([]solution, len(c.bestS))
	for fold, s := range c.bestS {
		squared[fold] = s.scaleByCorrelation()
	}
	base = c.best.Options
	base.Square = true
	if err := c.try(ctx, v, base, squared); err != nil {
		return err
	}
	c.bestS = nil
	best := c.best
	if space.FinalFolds != space.Folds || v.tested < space.Folds {
		if best.Samples, err = v.again(ctx, space, best.Options); err != nil {
			return err
		}
	}
	best.problem, best.whole = v.f, v.whole
	v.f.x = blas64.General{}
	best.Ranker, best.Quality, err = rank.Calibrate(ctx, best.Samples, c.all, space.Keep, space.Neighbours)
	c.steps.step()
	return err
}

// Fit fits a projection with the chosen options to the rows and keywords that
// were passed to Choose, and reuses their principal components.
func (c *Choice) Fit(ctx context.Context, rows Rows, keywords [][]string) (p *Projection, err error) {
	steps := progress{tell: c.Options.Progress, total: 2}
	if c.whole.n == float64(rows.N) {
		p, err = c.problem.fit(ctx, c.whole, c.Options, &steps)
	} else {
		var y labels
		r := c.reduction
		if r.rows, _, err = c.Options.check(rows, keywords); err == nil {
			y, err = label(keywords)
		}
		if err == nil {
			p, err = r.fit(ctx, y, c.Options, &steps)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("learning a projection: %w", err)
	}
	return p, nil
}

func pick[T any](from []T, which []int) []T {
	out := make([]T, len(which))
	for k, i := range which {
		out[k] = from[i]
	}
	return out
}
