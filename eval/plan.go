package eval

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"cpar"
	"cpar/eval/step"
	"cpar/user"
)

// Measurements is the table of all that can be measured, in the order of a report.
// Whatever there is of a measurement follows from its row: its command, its steps,
// and by its Result the tables, the figures and the JSON that is kept. A row of
// several steps, or one that is computed from others, has a function of its own.
func Measurements() []Measurement {
	return []Measurement{
		{Name: "sweep", Needs: NeedsIndex, get: inSession(MeasureSweep), Views: []View{
			{"speedup", "measure cpar over capia against AP"},
			{"recall", "measure accuracy against AP"},
			{"tradeoff", "measure speedup against accuracy"},
		}},
		{Name: "cost", Needs: NeedsSize, get: ofSize(MeasureCost), Short: "measure cloud time against AP, the build and a request"},
		{Name: "alphagamma", get: inCorpus(MeasureAlphaGamma), Short: "measure error and size of the L1 approximation against α and γ"},
		{Name: "pca", get: inCorpus(MeasurePCA), Short: "measure what PCA costs in accuracy"},
		{Name: "sealed", Needs: NeedsSize, get: sealedSteps, Short: "measure what schemes sealed and local find and cost"},
		{Name: "profiles", Needs: NeedsSize | NeedsModel, get: ofSize(MeasureProfiles), Short: "lay the profiles side by side: what each finds and costs"},
		{Name: "profile-growth", Needs: NeedsSize, get: profileGrowthStep, Short: "measure scheme sealed with short vectors, to a million"},
		{Name: "structures", get: inCorpus(MeasureStructures), Short: "measure what each structure and search of an index finds"},
		{Name: "corel5k", Needs: NeedsIndex, get: corel5kStep, Short: "measure annotation quality by the standard protocol"},
		{Name: "samples", Needs: NeedsIndex, get: inSession(MeasureSamples), Short: "annotate a few test images"},
		{Name: "flann", get: inCorpus(flannOfCorpus), Short: "hold the forests against FLANN's"},
		{Name: "scaling", Needs: NeedsMost, get: scalingSteps, Short: "measure growth with n"},
		{Name: "numbers", Needs: NeedsSize, get: numbersOfOthers, Short: "lay the numbers of the paper's text beside ours"},
		{Name: "agreement", Needs: NeedsIndex, get: inSession(MeasureAgreement), Short: "hold the encrypted search against its plaintext twin"},
		{Name: "attacks", Needs: NeedsModel, get: inCorpus(MeasureAttacks), Short: "learn what SECURITY.md says that a cloud can learn"},
	}
}

// A Measurement is one row.
type Measurement struct {
	// Name is that of the command, and of the step that keeps the result.
	Name string
	// Short says in a line what is measured.
	Short string
	Needs Needs
	// Views are commands that show one table each, in place of one that shows all.
	Views []View
	get   getter
}

// A getter measures, or takes what is kept. What there is of a result some of whose
// steps failed comes with the error.
type getter func(ctx context.Context, r *run, m Measurement) (Result, error)

// A View is a command that shows the table of its name.
type View struct{ Name, Short string }

// Commands are those that measure m: its views, or one that shows all.
func (m Measurement) Commands() []View {
	if len(m.Views) == 0 {
		return []View{{m.Name, m.Short}}
	}
	return m.Views
}

// Needs are what a measurement takes besides the images.
type Needs uint

// The needs.
const (
	NeedsIndex Needs = 1 << iota // the index of the untouched images
	NeedsSize                    // Plan.N
	NeedsMost                    // Plan.Most
	NeedsModel                   // an image network, if there is one
)

// turn orders measurements so that what is large in memory is kept no longer than
// needed: first those that share an index, last those that build large ones.
func (m Measurement) turn() int {
	switch {
	case m.Needs&NeedsIndex != 0:
		return 0
	case m.Needs&(NeedsSize|NeedsMost) != 0:
		return 2
	}
	return 1
}

// A Plan says how to measure.
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

// Measure does the measurement of a name.
func (p *Plan) Measure(ctx context.Context, name string) (Result, error) {
	return p.run().get(ctx, name)
}

// All does every measurement. One that fails does not stop the others; the error of
// All is of all of them, and the end of ctx ends it.
func (p *Plan) All(ctx context.Context) (*Results, error) { return p.run().all(ctx) }

// Kept returns the results that a folder holds, whatever program, machine and
// collection they are of: what a report is made of again.
func Kept(runner *step.Runner) *Results {
	r := (&Plan{Lab: new(Lab), Runner: runner, Most: slices.Max(ScalingSizes)}).run()
	r.kept = true
	out, _ := r.all(context.Background())
	out.Failed = nil // it is not there
	return out
}

func (p *Plan) run() *run { return &run{Plan: p, found: map[string]found{}} }

// A run does each measurement once, also where another is computed from it.
type run struct {
	*Plan
	kept  bool // what is kept is taken, and nothing measured
	found map[string]found
	steps []step.Record
}

type found struct {
	result Result
	err    error
}

func (r *run) get(ctx context.Context, name string) (Result, error) {
	table := Measurements()
	i := slices.IndexFunc(table, func(m Measurement) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: nothing called %q can be measured", cpar.ErrInput, name)
	}
	f, done := r.found[name]
	if !done {
		if table[i].Needs&NeedsIndex == 0 {
			r.Lab.dropSession() // its memory would count
		}
		f.result, f.err = table[i].get(ctx, r, table[i])
		r.found[name] = f
	}
	return f.result, f.err
}

func (r *run) all(ctx context.Context) (*Results, error) {
	out := new(Results)
	table := Measurements()
	var failed []error
	for _, m := range slices.SortedStableFunc(slices.Values(table), func(a, b Measurement) int { return cmp.Compare(a.turn(), b.turn()) }) {
		_, err := r.get(ctx, m.Name)
		if ctx.Err() != nil { // no failure of the measurement's
			failed = []error{ctx.Err()}
			break
		}
		if err != nil {
			out.Failed = append(out.Failed, Failure{m.Name, err.Error()})
			failed = append(failed, err)
		}
	}
	for _, m := range table {
		if f := r.found[m.Name]; f.result != nil {
			out.Each = append(out.Each, f.result)
		}
	}
	out.Steps, out.Machine = r.steps, machines(r.steps)
	return out, errors.Join(failed...)
}

// from is the result of another measurement.
func from[R Result](ctx context.Context, r *run, name string) (R, error) {
	x, err := r.get(ctx, name)
	out, _ := x.(R)
	return out, err
}

// part is one step of a result: done before, or now. inputs are what it depends on
// besides the collection.
func part[T any](ctx context.Context, r *run, name string, inputs any, measure func(context.Context) (*T, error)) (x *T, err error) {
	var record step.Record
	if r.kept {
		x, record, err = step.Load[T](r.Runner, name)
	} else {
		var digest string
		if digest, err = r.Lab.Digest(ctx); err == nil {
			x, record, err = step.Do(ctx, r.Runner, name, []any{digest, inputs}, measure)
		}
	}
	record.Name = name
	if err == nil {
		r.steps = append(r.steps, record)
	}
	if r.Done != nil {
		r.Done(record, err)
	}
	return x, err
}

type resultOf[T any] interface {
	*T
	Result
}

// alone is a result that is one step. What that depends on follows from its needs.
func alone[T any, R resultOf[T]](ctx context.Context, r *run, m Measurement, measure func(context.Context) (R, error)) (Result, error) {
	inputs, err := r.inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	x, err := part(ctx, r, m.Name, inputs, func(ctx context.Context) (*T, error) { return measure(ctx) })
	if err != nil {
		return nil, err
	}
	return R(x), nil
}

// inputs are N, the network, or both.
func (p *Plan) inputs(needs Needs) (any, error) {
	var in struct {
		N                int
		Network, Runtime string // the runtime decides what an embedding costs
	}
	if needs&NeedsSize != 0 {
		in.N = p.N
	}
	switch {
	case needs&NeedsModel != 0:
		network, err := p.Lab.Network()
		if err != nil || network == nil {
			return in, err
		}
		digest := network.Digest()
		in.Network, in.Runtime = hex.EncodeToString(digest[:]), network.Runtime()
		return in, nil
	case needs&NeedsSize != 0:
		return in.N, nil
	}
	return nil, nil
}

// inSession is a step that searches the index of the untouched images.
func inSession[T any, R resultOf[T]](measure func(context.Context, *Session, *Corpus, user.Progress) (R, error)) getter {
	return func(ctx context.Context, r *run, m Measurement) (Result, error) {
		return alone(ctx, r, m, withSession(r, measure))
	}
}

func withSession[R any](r *run, measure func(context.Context, *Session, *Corpus, user.Progress) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (none R, _ error) {
		s, c, err := r.Lab.Session(ctx)
		if err != nil {
			return none, err
		}
		return measure(ctx, s, c, r.Lab.Progress)
	}
}

// inCorpus is a step that takes the untouched images only.
func inCorpus[T any, R resultOf[T]](measure func(context.Context, *Corpus, user.Progress) (R, error)) getter {
	return func(ctx context.Context, r *run, m Measurement) (Result, error) {
		return alone(ctx, r, m, withCorpus(r, measure))
	}
}

func withCorpus[R any](r *run, measure func(context.Context, *Corpus, user.Progress) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (none R, _ error) {
		c, err := r.Lab.Corpus(ctx)
		if err != nil {
			return none, err
		}
		return measure(ctx, c, r.Lab.Progress)
	}
}

// ofSize is a step that builds an index of N images.
func ofSize[T any, R resultOf[T]](measure func(context.Context, *Lab, int) (R, error)) getter {
	return func(ctx context.Context, r *run, m Measurement) (Result, error) {
		return alone(ctx, r, m, func(ctx context.Context) (R, error) { return measure(ctx, r.Lab, r.N) })
	}
}
