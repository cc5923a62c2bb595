package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cpar"
	"cpar/eval/step"
	"cpar/internal/paper"
	"cpar/user"
)

// Results are all that is measured; what could not be is nil.
type Results struct {
	Machine    string
	Agreement  *Agreement
	Corel5k    *Corel5k
	AlphaGamma *AlphaGamma
	PCA        *PCALoss
	Structures *Structures
	Sealed     *Sealed
	Profiles   *Profiles
	// ProfileGrowth is scheme sealed with short vectors.
	ProfileGrowth *ProfileGrowth
	Sweep         *Sweep
	Samples       *Samples
	FLANN         *FLANN
	Cost          *Cost
	Numbers       *Numbers
	Scaling       *Scaling
	Attacks       *Attacks
	// Steps are how the results came about, in the order of the run.
	Steps []step.Record
	// Failed says, by step, what went wrong.
	Failed []Failure
}

// A Failure is a step without a result.
type Failure struct {
	Step  string `json:"step"`
	Error string `json:"error"`
}

// Each returns the results that are there, in the order of a report.
func (r *Results) Each() []Result {
	var out []Result
	add := func(there bool, x Result) {
		if there {
			out = append(out, x)
		}
	}
	add(r.Sweep != nil, r.Sweep)
	add(r.Cost != nil, r.Cost)
	add(r.AlphaGamma != nil, r.AlphaGamma)
	add(r.PCA != nil, r.PCA)
	add(r.Structures != nil, r.Structures)
	add(r.Sealed != nil, r.Sealed)
	add(r.Profiles != nil, r.Profiles)
	add(r.ProfileGrowth != nil, r.ProfileGrowth)
	add(r.Corel5k != nil, r.Corel5k)
	add(r.Samples != nil, r.Samples)
	add(r.FLANN != nil, r.FLANN)
	add(r.Scaling != nil, r.Scaling)
	add(r.Numbers != nil, r.Numbers)
	add(r.Agreement != nil, r.Agreement)
	add(r.Attacks != nil, r.Attacks)
	return out
}

// A Plan is the steps of the evaluation, each with what it depends on. A step
// may be asked for by itself or by All; either way it is done once.
type Plan struct {
	Lab    *Lab
	Runner *step.Runner
	// N is the size that cost is measured at, Most the greatest of scaling.
	N, Most int
	// Done, if not nil, is told of every step.
	Done func(step.Record, error)
}

// DefaultN is the paper's collection, DefaultMost the last size of scaling.
const (
	DefaultN    = 20000
	DefaultMost = 80000
)

// run is step.Do with the collection among the inputs.
func run[T any](ctx context.Context, p *Plan, name string, inputs any, measure func(context.Context) (*T, error)) (*T, step.Record, error) {
	digest, err := p.Lab.Digest(ctx)
	var result *T
	record := step.Record{Name: name}
	if err == nil {
		result, record, err = step.Do(ctx, p.Runner, name, []any{digest, inputs}, measure)
	}
	record.Name = name
	if p.Done != nil {
		p.Done(record, err)
	}
	return result, record, err
}

// inSession is a step that needs the index of the untouched images.
func inSession[T any](ctx context.Context, p *Plan, name string, measure func(context.Context, *Session, *Corpus) (*T, error)) (*T, step.Record, error) {
	return run(ctx, p, name, nil, func(ctx context.Context) (*T, error) {
		s, c, err := p.Lab.Session(ctx)
		if err != nil {
			return nil, err
		}
		return measure(ctx, s, c)
	})
}

// inCorpus is a step that needs the untouched images only.
func inCorpus[T any](ctx context.Context, p *Plan, name string, measure func(context.Context, *Corpus) (*T, error)) (*T, step.Record, error) {
	return run(ctx, p, name, nil, func(ctx context.Context) (*T, error) {
		c, err := p.Lab.Corpus(ctx)
		if err != nil {
			return nil, err
		}
		return measure(ctx, c)
	})
}

// Agreement is the encrypted search beside its twin.
func (p *Plan) Agreement(ctx context.Context) (*Agreement, step.Record, error) {
	return inSession(ctx, p, "agreement", func(ctx context.Context, s *Session, _ *Corpus) (*Agreement, error) {
		return MeasureAgreement(ctx, s, p.Lab.Progress)
	})
}

// Corel5k is the standard protocol.
func (p *Plan) Corel5k(ctx context.Context) (*Corel5k, step.Record, error) {
	return inSession(ctx, p, "corel5k", func(ctx context.Context, s *Session, c *Corpus) (*Corel5k, error) {
		return MeasureCorel5k(ctx, s, c, p.Lab.Progress)
	})
}

// Sweep is speedup, recall and trade-off.
func (p *Plan) Sweep(ctx context.Context) (*Sweep, step.Record, error) {
	return inSession(ctx, p, "sweep", func(ctx context.Context, s *Session, c *Corpus) (*Sweep, error) {
		return MeasureSweep(ctx, s, c, p.Lab.Progress)
	})
}

// Samples are annotated images to look at.
func (p *Plan) Samples(ctx context.Context) (*Samples, step.Record, error) {
	return inSession(ctx, p, "samples", MeasureSamples)
}

// FLANN is the comparison with FLANN: the encrypted forest there is the
// paper's, which splits levels and has a record at every node.
func (p *Plan) FLANN(ctx context.Context) (*FLANN, step.Record, error) {
	return inCorpus(ctx, p, "flann", func(ctx context.Context, c *Corpus) (*FLANN, error) {
		s, err := NewSession(ctx, c, user.Options{Split: user.SplitOriginal, Place: cpar.PlaceNode, Lists: user.None, Progress: p.Lab.Progress})
		if err != nil {
			return nil, err
		}
		defer s.Close()
		return MeasureFLANN(ctx, c, s, p.Lab.Progress)
	})
}

// AlphaGamma is the L1 approximation against its parameters.
func (p *Plan) AlphaGamma(ctx context.Context) (*AlphaGamma, step.Record, error) {
	return inCorpus(ctx, p, "alphagamma", func(ctx context.Context, c *Corpus) (*AlphaGamma, error) {
		return MeasureAlphaGamma(ctx, c, p.Lab.Progress)
	})
}

// PCA is accuracy against PCA-X.
func (p *Plan) PCA(ctx context.Context) (*PCALoss, step.Record, error) {
	return inCorpus(ctx, p, "pca", func(ctx context.Context, c *Corpus) (*PCALoss, error) {
		return MeasurePCA(ctx, c, p.Lab.Progress)
	})
}

// Structures is how much each structure of an index finds.
func (p *Plan) Structures(ctx context.Context) (*Structures, step.Record, error) {
	return inCorpus(ctx, p, "structures", func(ctx context.Context, c *Corpus) (*Structures, error) {
		return MeasureStructures(ctx, c, p.Lab.Progress)
	})
}

// Sealed is what schemes sealed and local find and cost: three steps, since
// each takes a while. most is the greatest size of growth.
func (p *Plan) Sealed(ctx context.Context) (*Sealed, []step.Record, error) {
	out, found, err := inCorpus(ctx, p, "sealed", func(ctx context.Context, c *Corpus) (*Sealed, error) {
		return MeasureSealed(ctx, c, p.Lab.Progress)
	})
	if err != nil {
		return nil, nil, err
	}
	cost, costed, err := run(ctx, p, "sealed-cost", p.N, func(ctx context.Context) (*SealedCost, error) {
		p.Lab.dropSession() // its memory would count
		return MeasureSealedCost(ctx, p.Lab, p.N)
	})
	if err != nil {
		return nil, nil, err
	}
	sizes := SealedSizes
	if p.N < sizes[0] {
		sizes = []int{p.N, 2 * p.N}
	}
	growth, grown, err := run(ctx, p, "sealed-growth", sizes, func(ctx context.Context) (*[]SealedSize, error) {
		p.Lab.dropSession()
		rows, err := MeasureSealedGrowth(ctx, p.Lab, sizes)
		return &rows, err
	})
	if err != nil {
		return nil, nil, err
	}
	out.with(cost, *growth)
	return out, []step.Record{found, costed, grown}, nil
}

// with adds what other steps measured.
func (s *Sealed) with(c *SealedCost, growth []SealedSize) {
	s.Cost, s.Growth, s.Fits = c, growth, fitSealed(growth)
	if c != nil {
		s.Homes = c.homes()
	}
}

// Cost is what an index of N images costs.
func (p *Plan) Cost(ctx context.Context) (*Cost, step.Record, error) {
	return run(ctx, p, "cost", p.N, func(ctx context.Context) (*Cost, error) {
		p.Lab.dropSession() // its memory would count
		defer p.Lab.dropLarge()
		return MeasureCost(ctx, p.Lab, p.N)
	})
}

// Numbers lays the text's numbers beside ours, which other steps measured.
func (p *Plan) Numbers(ctx context.Context) (*Numbers, error) {
	c, _, err := p.Cost(ctx)
	if err != nil {
		return nil, err
	}
	a, _, err := p.AlphaGamma(ctx)
	if err != nil {
		return nil, err
	}
	loss, _, err := p.PCA(ctx)
	if err != nil {
		return nil, err
	}
	return CollectNumbers(paper.Values(), c, a, loss), nil
}

// Scaling measures every size up to Most, each as a step of its own. Where one
// fails, the smaller ones are returned beside the error; without any, nil is.
func (p *Plan) Scaling(ctx context.Context) (*Scaling, []step.Record, error) {
	var rows []ScalingRow
	var records []step.Record
	sizes := Sizes(p.Most)
	if len(sizes) == 0 {
		return nil, nil, fmt.Errorf("scaling: %w: the smallest size is %d", cpar.ErrInput, ScalingSizes[0])
	}
	for _, n := range sizes {
		row, record, err := run(ctx, p, "scaling-"+strconv.Itoa(n), n, func(ctx context.Context) (*ScalingRow, error) {
			p.Lab.dropSession()
			return MeasureScale(ctx, p.Lab, n)
		})
		if err != nil {
			if len(rows) == 0 {
				return nil, nil, err
			}
			return FitScaling(rows), records, err
		}
		rows, records = append(rows, *row), append(records, record)
	}
	return FitScaling(rows), records, nil
}

// All does every step. One that fails does not stop the others; the error of
// All is of all of them, and the end of ctx ends it.
func (p *Plan) All(ctx context.Context) (*Results, error) {
	r := new(Results)
	defer func() { r.Machine = machines(r.Steps) }()
	var failed []error
	note := func(name string, record step.Record, err error) bool {
		switch {
		case err == nil:
			r.Steps = append(r.Steps, record)
		case ctx.Err() == nil: // an interrupt is no failure of the step's
			r.Failed = append(r.Failed, Failure{name, err.Error()})
			failed = append(failed, err)
		}
		return ctx.Err() == nil
	}
	// The order keeps what is large in memory no longer than needed.
	for _, do := range []func() bool{
		func() bool { x, rec, err := p.Sweep(ctx); r.Sweep = x; return note("sweep", rec, err) },
		func() bool { x, rec, err := p.Corel5k(ctx); r.Corel5k = x; return note("corel5k", rec, err) },
		func() bool { x, rec, err := p.Agreement(ctx); r.Agreement = x; return note("agreement", rec, err) },
		func() bool { x, rec, err := p.Samples(ctx); r.Samples = x; return note("samples", rec, err) },
		func() bool { x, rec, err := p.FLANN(ctx); r.FLANN = x; return note("flann", rec, err) },
		func() bool { x, rec, err := p.AlphaGamma(ctx); r.AlphaGamma = x; return note("alphagamma", rec, err) },
		func() bool { x, rec, err := p.PCA(ctx); r.PCA = x; return note("pca", rec, err) },
		func() bool { x, rec, err := p.Structures(ctx); r.Structures = x; return note("structures", rec, err) },
		func() bool { x, rec, err := p.Attacks(ctx); r.Attacks = x; return note("attacks", rec, err) },
		func() bool { x, rec, err := p.Cost(ctx); r.Cost = x; return note("cost", rec, err) },
		func() bool {
			x, records, err := p.Sealed(ctx)
			r.Sealed = x
			r.Steps = append(r.Steps, records...)
			return err == nil || note("sealed", step.Record{}, err)
		},
		func() bool { x, rec, err := p.Profiles(ctx); r.Profiles = x; return note("profiles", rec, err) },
		func() bool {
			x, rec, err := p.ProfileGrowth(ctx)
			r.ProfileGrowth = x
			return note("profile-growth", rec, err)
		},
		func() bool {
			x, records, err := p.Scaling(ctx)
			r.Scaling = x
			r.Steps = append(r.Steps, records...)
			return err == nil || note("scaling", step.Record{}, err)
		},
	} {
		if !do() {
			return r, ctx.Err()
		}
	}
	if r.Cost != nil && r.AlphaGamma != nil && r.PCA != nil {
		r.Numbers = CollectNumbers(paper.Values(), r.Cost, r.AlphaGamma, r.PCA)
	}
	return r, errors.Join(failed...)
}

// Kept returns the results that a folder holds, whatever program, machine and
// collection they are of: what a report is made of again.
func Kept(r *step.Runner) *Results {
	out := new(Results)
	out.Agreement = kept[Agreement](r, out, "agreement")
	out.Corel5k = kept[Corel5k](r, out, "corel5k")
	out.Sweep = kept[Sweep](r, out, "sweep")
	out.Samples = kept[Samples](r, out, "samples")
	out.FLANN = kept[FLANN](r, out, "flann")
	out.AlphaGamma = kept[AlphaGamma](r, out, "alphagamma")
	out.PCA = kept[PCALoss](r, out, "pca")
	out.Structures = kept[Structures](r, out, "structures")
	out.Attacks = kept[Attacks](r, out, "attacks")
	if out.Sealed = kept[Sealed](r, out, "sealed"); out.Sealed != nil {
		growth := kept[[]SealedSize](r, out, "sealed-growth")
		if growth == nil {
			growth = new([]SealedSize)
		}
		out.Sealed.with(kept[SealedCost](r, out, "sealed-cost"), *growth)
	}
	out.Profiles = kept[Profiles](r, out, "profiles")
	out.ProfileGrowth = kept[ProfileGrowth](r, out, "profile-growth")
	out.Cost = kept[Cost](r, out, "cost")
	var rows []ScalingRow
	for _, n := range ScalingSizes {
		if row := kept[ScalingRow](r, out, "scaling-"+strconv.Itoa(n)); row != nil {
			rows = append(rows, *row)
		}
	}
	if len(rows) > 0 {
		out.Scaling = FitScaling(rows)
	}
	if out.Cost != nil && out.AlphaGamma != nil && out.PCA != nil {
		out.Numbers = CollectNumbers(paper.Values(), out.Cost, out.AlphaGamma, out.PCA)
	}
	out.Machine = machines(out.Steps)
	return out
}

func kept[T any](r *step.Runner, out *Results, name string) *T {
	x, record, err := step.Load[T](r, name)
	if err != nil {
		return nil
	}
	out.Steps = append(out.Steps, record)
	return x
}

// machines says where steps were measured, which need not be where they are
// shown, nor one place: kept results of another machine may have been taken.
// Without a step that tells, it is this machine.
func machines(steps []step.Record) string {
	var names []string
	for _, record := range steps {
		if _, machine, ok := strings.Cut(record.Identity, " "); ok && !slices.Contains(names, machine) {
			names = append(names, machine)
		}
	}
	if len(names) == 0 {
		return Machine()
	}
	return strings.Join(names, "; ")
}

// Identity is what results belong to besides their inputs: the program that
// measured and the machine it ran on, for step.Runner.
func Identity() (string, error) {
	program, err := programDigest()
	return program + " " + Machine(), err
}
