package measure

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"cpar"
	"cpar/eval/checkpoint"
	"cpar/user"
)

type Measurement struct {
	// Name is the name of the command and of the stored step.
	Name  string `json:"name"`
	Short string `json:"-"`
	Needs Needs  `json:"-"`
	// Minutes is the expected time on two idle cores in cpar-eval all.
	Minutes float64 `json:"minutes"`
	// Views lists commands that replace the command Name. Each command prints
	// one table.
	Views []View `json:"-"`
	// Custom is set if the command Name has flags and output of its own.
	Custom bool   `json:"-"`
	Get    Getter `json:"-"`
}

// A Getter measures or returns a stored result. If some steps fail, it returns
// a partial result and the error.
type Getter func(ctx context.Context, r *Run, m Measurement) (Result, error)

// A View is a command that prints the table of the same name.
type View struct{ Name, Short string }

func (m Measurement) Commands() []View {
	if len(m.Views) == 0 {
		return []View{{m.Name, m.Short}}
	}
	return m.Views
}

// Needs lists the inputs of a measurement in addition to the images.
type Needs uint

const (
	NeedsIndex    Needs = 1 << iota // the index of the real images
	NeedsSize                       // Plan.N
	NeedsMaxN                       // Plan.MaxN
	NeedsModel                      // an optional image network
	NeedsLiteralN                   // Plan.LiteralN
	NeedsDraws                      // Plan.Draws
)

// order returns the position of a measurement in a run. Costs come first, so
// that only they need a quiet machine. Measurements of the shared index follow
// together, because the index is released after them.
func (m Measurement) order() int {
	switch {
	case m.Needs&(NeedsSize|NeedsMaxN) != 0:
		return 0
	case m.Needs&NeedsIndex != 0:
		return 1
	}
	return 2
}

type Plan struct {
	Lab          *Lab
	Runner       *checkpoint.Runner
	Measurements []Measurement
	// N is the number of images for measuring costs. MaxN is the largest number
	// for measuring scaling.
	N, MaxN int
	// LiteralN is the number of images in the literal index (package letter,
	// the paper's boxes as printed).
	LiteralN int
	// LiteralAlpha is the parameter α of the literal index, or 0 for the
	// paper's value. Tests use a small α, because keys of 2,594 elements are
	// slow.
	LiteralAlpha float64
	// Draws is the number of random choices of key and order of the collection.
	Draws int
	// Done is called after every step, unless it is nil.
	Done func(checkpoint.Record, error)
}

// DefaultN is the size of the paper's collection.
const (
	DefaultN    = 20000
	DefaultMaxN = 80000
)

func (p *Plan) Measure(ctx context.Context, name string) (Result, error) {
	return p.NewRun().get(ctx, name)
}

// Ordered returns the measurements in the order of a run.
func (p *Plan) Ordered() []Measurement {
	return slices.SortedStableFunc(slices.Values(p.Measurements), func(a, b Measurement) int { return cmp.Compare(a.order(), b.order()) })
}

// All runs every measurement. After a failure it continues, and returns an
// error that joins all failures. Cancelling ctx stops the run.
func (p *Plan) All(ctx context.Context) (*Results, error) { return p.NewRun().All(ctx) }

func (p *Plan) NewRun() *Run { return &Run{Plan: p, cache: map[string]cached{}} }

// A Run performs each measurement once, even if others use its result.
type Run struct {
	*Plan
	cache map[string]cached
	Steps []checkpoint.Record
}

type cached struct {
	result Result
	err    error
}

func (r *Run) get(ctx context.Context, name string) (Result, error) {
	table := r.Measurements
	i := slices.IndexFunc(table, func(m Measurement) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: there is no measurement called %q", cpar.ErrInput, name)
	}
	f, done := r.cache[name]
	if !done {
		if table[i].Needs&NeedsIndex == 0 {
			r.Lab.dropSession() // the session's memory would be measured too
		}
		f.result, f.err = table[i].Get(ctx, r, table[i])
		r.cache[name] = f
	}
	return f.result, f.err
}

func (r *Run) All(ctx context.Context) (*Results, error) {
	out := new(Results)
	var failed []error
	for _, m := range r.Ordered() {
		_, err := r.get(ctx, m.Name)
		if ctx.Err() != nil { // a cancellation is not a failure
			failed = []error{ctx.Err()}
			break
		}
		if err != nil {
			out.Failed = append(out.Failed, Failure{m.Name, err.Error()})
			failed = append(failed, err)
		}
	}
	for _, m := range r.Measurements {
		if f := r.cache[m.Name]; f.result != nil {
			out.Each = append(out.Each, f.result)
		}
	}
	out.Steps = r.Steps
	return out, errors.Join(failed...)
}

func ResultFrom[R Result](ctx context.Context, r *Run, name string) (R, error) {
	x, err := r.get(ctx, name)
	out, _ := x.(R)
	return out, err
}

// RunStep returns one step of a result. It measures the step unless one is
// stored for the same inputs and collection.
func RunStep[T any](ctx context.Context, r *Run, name string, inputs any, measure func(context.Context) (*T, error)) (x *T, err error) {
	var record checkpoint.Record
	digest, err := r.Lab.Digest(ctx)
	if err == nil {
		if r.Lab.Draw != 0 {
			digest += fmt.Sprintf(" in order %d", r.Lab.Draw)
		}
		x, record, err = checkpoint.Do(ctx, r.Runner, name, []any{digest, inputs}, measure)
	}
	record.Name = name
	if err == nil {
		r.Steps = append(r.Steps, record)
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

// OneStep is like RunStep, for a result that consists of one step.
func OneStep[T any, R resultOf[T]](ctx context.Context, r *Run, name string, inputs any, measure func(context.Context) (R, error)) (Result, error) {
	x, err := RunStep(ctx, r, name, inputs, func(ctx context.Context) (*T, error) { return measure(ctx) })
	if err != nil {
		return nil, err
	}
	return R(x), nil
}

func needed[T any, R resultOf[T]](ctx context.Context, r *Run, m Measurement, measure func(context.Context) (R, error)) (Result, error) {
	inputs, err := r.Inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	return OneStep(ctx, r, m.Name, inputs, measure)
}

// Inputs returns the inputs of a step that `needs` selects: N, the network, or
// both.
func (p *Plan) Inputs(needs Needs) (any, error) {
	var in struct {
		N                int
		Network, Runtime string // the cost of an embedding depends on the runtime
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

// InSession returns a Getter that searches the index of the real images.
func InSession[T any, R resultOf[T]](measure func(context.Context, *Session, *Corpus, user.Progress) (R, error)) Getter {
	return func(ctx context.Context, r *Run, m Measurement) (Result, error) {
		return needed(ctx, r, m, WithSession(r, measure))
	}
}

func WithSession[R any](r *Run, measure func(context.Context, *Session, *Corpus, user.Progress) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (none R, _ error) {
		s, c, err := r.Lab.Session(ctx)
		if err != nil {
			return none, err
		}
		return measure(ctx, s, c, r.Lab.Progress)
	}
}

// InCorpus returns a Getter that uses only the real images.
func InCorpus[T any, R resultOf[T]](measure func(context.Context, *Corpus, user.Progress) (R, error)) Getter {
	return func(ctx context.Context, r *Run, m Measurement) (Result, error) {
		return needed(ctx, r, m, WithCorpus(r, measure))
	}
}

func WithCorpus[R any](r *Run, measure func(context.Context, *Corpus, user.Progress) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (none R, _ error) {
		c, err := r.Lab.Corpus(ctx)
		if err != nil {
			return none, err
		}
		return measure(ctx, c, r.Lab.Progress)
	}
}

// OfSize returns a Getter that measures with N images.
func OfSize[T any, R resultOf[T]](measure func(context.Context, *Lab, int) (R, error)) Getter {
	return func(ctx context.Context, r *Run, m Measurement) (Result, error) {
		return needed(ctx, r, m, func(ctx context.Context) (R, error) { return measure(ctx, r.Lab, r.N) })
	}
}
