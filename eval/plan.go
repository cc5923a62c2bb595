package eval

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

// Measurements is the table of everything that can be measured, in the order of a report.
// A row determines everything else about a measurement: its command, its steps, and by
// its Result the tables, the figures and the kept JSON. A row with several steps, or
// computed from others, has its own function.
func Measurements() []Measurement {
	return []Measurement{
		{Name: "sweep", Needs: NeedsIndex, Get: inSession(MeasureSweep), Views: []View{
			{"speedup", "measure cpar over capia against AP"},
			{"recall", "measure accuracy against AP"},
			{"tradeoff", "measure speedup against accuracy"},
		}},
		{Name: "cost", Needs: NeedsSize, Get: ofSize(MeasureCost), Short: "measure cloud time against AP, the build and a request"},
		{Name: "alphagamma", Get: inCorpus(MeasureAlphaGamma), Short: "measure error and size of the L1 approximation against α and γ"},
		{Name: "pca", Get: inCorpus(MeasurePCA), Short: "measure what PCA costs in accuracy"},
		{Name: "sealed", Needs: NeedsSize, Get: SealedSteps, Short: "measure what schemes sealed and local find and cost"},
		{Name: "profiles", Needs: NeedsSize | NeedsModel, Get: ofSize(MeasureProfiles), Short: "compare the profiles: what each finds and costs"},
		{Name: "draws", Needs: NeedsModel | NeedsDraws, Get: DrawSteps, Short: "measure what is found, as mean and range over draws of key and order"},
		{Name: "small", Needs: NeedsModel | NeedsDraws, Get: SmallStep, Short: "measure what probabilities are worth after few photos"},
		{Name: "profile-growth", Needs: NeedsSize, Get: ProfileGrowthStep, Short: "measure scheme sealed with short vectors, to a million"},
		{Name: "sealed-size", Needs: NeedsSize | NeedsModel, Get: sealedTargetsStep, Short: "measure scheme sealed at the sizes that promises are made for"},
		{Name: "clusters", Needs: NeedsModel, Get: inCorpus(MeasureCells), Short: "measure what scheme sealed finds if a request asks one hidden cluster"},
		{Name: "structures", Get: inCorpus(MeasureStructures), Short: "measure what each structure and search of an index finds"},
		{Name: "corel5k", Needs: NeedsIndex, Get: Corel5kStep, Short: "measure annotation quality by the standard protocol"},
		{Name: "samples", Needs: NeedsIndex, Get: inSession(MeasureSamples), Short: "annotate a few test images"},
		{Name: "flann", Get: inCorpus(MeasureFLANNOfCorpus), Short: "compare the forests with FLANN's"},
		{Name: "peers", Needs: NeedsSize, Get: ofSize(MeasureBaselines), Short: "compare sealed with searches in the clear, and with BGV"},
		{Name: "scaling", Needs: NeedsMaxN, Get: ScalingSteps, Short: "measure growth with n"},
		{Name: "numbers", Needs: NeedsSize, Get: numbersStep, Short: "compare the numbers in the paper's text with ours"},
		{Name: "agreement", Needs: NeedsIndex, Get: inSession(MeasureAgreement), Short: "compare the encrypted search with its plaintext twin"},
		{Name: "letter", Needs: NeedsLiteralN, Get: LetterStep, Short: "run the paper's boxes and Algorithm 1 as printed, and count their cost"},
		{Name: "attacks", Needs: NeedsModel, Get: inCorpus(MeasureAttacks), Short: "attack the schemes as a curious cloud, as SECURITY.md describes"},
	}
}

// A Measurement is one row of the table.
type Measurement struct {
	// Name is that of the command, and of the step that keeps the result.
	Name string
	// Short describes the measurement in one line.
	Short string
	Needs Needs
	// Views are commands that show one table each, instead of one that shows all.
	Views []View
	Get   Getter
}

// A getter measures, or returns a kept result. If some steps failed, it returns both a
// partial result and the error.
type Getter func(ctx context.Context, r *Run, m Measurement) (Result, error)

// A View is a command that shows the table with its name.
type View struct{ Name, Short string }

// Commands returns the commands that measure m: its views, or one that shows all.
func (m Measurement) Commands() []View {
	if len(m.Views) == 0 {
		return []View{{m.Name, m.Short}}
	}
	return m.Views
}

// Needs are the requirements of a measurement besides the images.
type Needs uint

// The needs.
const (
	NeedsIndex Needs = 1 << iota // the index of the untouched images
	NeedsSize                    // Plan.N
	NeedsMaxN                    // Plan.Most
	NeedsModel                   // an image network, if there is one
	NeedsLiteralN                     // Plan.Few
	NeedsDraws                   // Plan.Draws
)

// turn orders measurements so that large data are kept in memory no longer than needed:
// first those that share an index, last those that build large ones.
func (m Measurement) order() int {
	switch {
	case m.Needs&NeedsIndex != 0:
		return 0
	case m.Needs&(NeedsSize|NeedsMaxN) != 0:
		return 2
	}
	return 1
}

// A Plan says how to measure.
type Plan struct {
	Lab    *Lab
	Runner *checkpoint.Runner
	// N is the size for measuring cost, Most the greatest size for scaling.
	N, MaxN int
	// Few is the size of the literal index.
	LiteralN int
	// alpha is its α, 0 for the paper's: tests have no time for keys of 2,594 elements.
	alpha float64
	// Draws is the number of draws of key and order for measuring what is found.
	Draws int
	// Done, if not nil, is called after every step.
	Done func(checkpoint.Record, error)
}

// DefaultN is the size of the paper's collection, DefaultMost the last size of scaling.
const (
	DefaultN    = 20000
	DefaultMaxN = 80000
)

// Measure runs the measurement with this name.
func (p *Plan) Measure(ctx context.Context, name string) (Result, error) {
	return p.NewRun().get(ctx, name)
}

// All runs every measurement. A failure does not stop the others, and All's error
// combines all failures; the end of ctx stops it.
func (p *Plan) All(ctx context.Context) (*Results, error) { return p.NewRun().all(ctx) }

// Kept returns the results in a folder, whatever their program, machine and collection,
// for writing the report again.
func Kept(runner *checkpoint.Runner) *Results {
	r := (&Plan{Lab: new(Lab), Runner: runner, MaxN: slices.Max(ScalingSizes)}).NewRun()
	r.onlyKept = true
	out, _ := r.all(context.Background())
	out.Failed = nil // missing results are no failures
	return out
}

func (p *Plan) NewRun() *Run { return &Run{Plan: p, cache: map[string]cached{}} }

// A run performs each measurement once, even if another is computed from it.
type Run struct {
	*Plan
	onlyKept bool // use kept results and measure nothing
	cache    map[string]cached
	steps    []checkpoint.Record
}

type cached struct {
	result Result
	err    error
}

func (r *Run) get(ctx context.Context, name string) (Result, error) {
	table := Measurements()
	i := slices.IndexFunc(table, func(m Measurement) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: nothing called %q can be measured", cpar.ErrInput, name)
	}
	f, done := r.cache[name]
	if !done {
		if table[i].Needs&NeedsIndex == 0 {
			r.Lab.dropSession() // its memory would count
		}
		f.result, f.err = table[i].Get(ctx, r, table[i])
		r.cache[name] = f
	}
	return f.result, f.err
}

func (r *Run) all(ctx context.Context) (*Results, error) {
	out := new(Results)
	table := Measurements()
	var failed []error
	for _, m := range slices.SortedStableFunc(slices.Values(table), func(a, b Measurement) int { return cmp.Compare(a.order(), b.order()) }) {
		_, err := r.get(ctx, m.Name)
		if ctx.Err() != nil { // not the measurement's failure
			failed = []error{ctx.Err()}
			break
		}
		if err != nil {
			out.Failed = append(out.Failed, Failure{m.Name, err.Error()})
			failed = append(failed, err)
		}
	}
	for _, m := range table {
		if f := r.cache[m.Name]; f.result != nil {
			out.Each = append(out.Each, f.result)
		}
	}
	out.Steps, out.Machine = r.steps, machines(r.steps)
	return out, errors.Join(failed...)
}

// resultFrom returns the result of another measurement.
func ResultFrom[R Result](ctx context.Context, r *Run, name string) (R, error) {
	x, err := r.get(ctx, name)
	out, _ := x.(R)
	return out, err
}

// runStep is one step of a result, kept or performed now. inputs are what it depends on
// besides the collection.
func RunStep[T any](ctx context.Context, r *Run, name string, inputs any, measure func(context.Context) (*T, error)) (x *T, err error) {
	var record checkpoint.Record
	if r.onlyKept {
		x, record, err = checkpoint.Load[T](r.Runner, name)
	} else {
		var digest string
		if digest, err = r.Lab.Digest(ctx); err == nil {
			if r.Lab.Draw != 0 {
				digest += fmt.Sprintf(" in order %d", r.Lab.Draw)
			}
			x, record, err = checkpoint.Do(ctx, r.Runner, name, []any{digest, inputs}, measure)
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

// singleStep is a result with a single step. Its needs determine what it depends on.
func singleStep[T any, R resultOf[T]](ctx context.Context, r *Run, m Measurement, measure func(context.Context) (R, error)) (Result, error) {
	inputs, err := r.inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	x, err := RunStep(ctx, r, m.Name, inputs, func(ctx context.Context) (*T, error) { return measure(ctx) })
	if err != nil {
		return nil, err
	}
	return R(x), nil
}

// inputs returns N, the network, or both.
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
func inSession[T any, R resultOf[T]](measure func(context.Context, *Session, *Corpus, user.Progress) (R, error)) Getter {
	return func(ctx context.Context, r *Run, m Measurement) (Result, error) {
		return singleStep(ctx, r, m, withSession(r, measure))
	}
}

func withSession[R any](r *Run, measure func(context.Context, *Session, *Corpus, user.Progress) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (none R, _ error) {
		s, c, err := r.Lab.Session(ctx)
		if err != nil {
			return none, err
		}
		return measure(ctx, s, c, r.Lab.Progress)
	}
}

// inCorpus is a step that uses only the untouched images.
func inCorpus[T any, R resultOf[T]](measure func(context.Context, *Corpus, user.Progress) (R, error)) Getter {
	return func(ctx context.Context, r *Run, m Measurement) (Result, error) {
		return singleStep(ctx, r, m, withCorpus(r, measure))
	}
}

func withCorpus[R any](r *Run, measure func(context.Context, *Corpus, user.Progress) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (none R, _ error) {
		c, err := r.Lab.Corpus(ctx)
		if err != nil {
			return none, err
		}
		return measure(ctx, c, r.Lab.Progress)
	}
}

// ofSize is a step that builds an index of N images.
func ofSize[T any, R resultOf[T]](measure func(context.Context, *Lab, int) (R, error)) Getter {
	return func(ctx context.Context, r *Run, m Measurement) (Result, error) {
		return singleStep(ctx, r, m, func(ctx context.Context) (R, error) { return measure(ctx, r.Lab, r.N) })
	}
}
