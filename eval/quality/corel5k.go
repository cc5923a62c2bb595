package quality

import (
	"context"
	"fmt"

	"cpar"
	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/internal/paper"
	"cpar/internal/parallel"
	"cpar/model/embed"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user"
)

// A JLError is the mean relative error of the L1 distance through the unary map
// and the projection, over all pairs of a test and a training image.
type JLError struct {
	Seeds []float64 `json:"seeds_percent"`
	Mean  float64   `json:"mean_percent"`
	// Theory is √(4/(π·m̂)).
	Theory float64 `json:"theory_percent"`
}

// Corel5k is the standard protocol on one collection.
type Corel5k struct {
	Rows []measure.QualityRow `json:"rows"`
	JL   JLError              `json:"jl_error"`
}

// MeasureCorel5k measures P, R and N+ with exact distances, through the
// projection, and encrypted.
func MeasureCorel5k(ctx context.Context, s *measure.Session, c *measure.Corpus, progress user.Progress) (*Corel5k, error) {
	r := new(Corel5k)
	train, truth := s.Keywords(), measure.Keywords(c.Test)
	exact, err := s.ExactDistances()
	if err != nil {
		return nil, err
	}
	approx, err := s.ProjectedDistances(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range []int{5, 10} {
		r.Rows = append(r.Rows,
			measure.QualityRow{Scheme: "plain-exact", Neighbours: k, Quality: measure.MeasureQuality(measure.AnnotatePlain(exact, train, k, measure.StandardKeywords), truth)},
			measure.QualityRow{Scheme: "plain-jl", Neighbours: k, Quality: measure.MeasureQuality(measure.AnnotatePlain(approx, train, k, measure.StandardKeywords), truth)})
		for _, p := range []cpar.Params{
			{Scheme: cpar.SchemeCAPIA, L: uint16(k), Approx: 1000},
			measure.SearchParams(cpar.SearchDepthFirst, 1000, k),
			measure.SearchParams(cpar.SearchDepthFirst, 100, k),
			measure.SearchParams(cpar.SearchIVF, 100, k),
		} {
			run, err := s.RunAll(ctx, p, progress, fmt.Sprintf("%v, %d neighbours", p.Scheme, k))
			if err != nil {
				return nil, err
			}
			row := measure.QualityRow{Scheme: p.Scheme.String(), Neighbours: k, Quality: measure.MeasureQuality(run.Annotations(), truth)}
			if p.Scheme != cpar.SchemeCAPIA {
				row.Approx, row.Search = float64(p.Approx)/10, p.Search.String()
			}
			r.Rows = append(r.Rows, row)
		}
	}
	r.JL, err = jlError(s, ctx, progress)
	return r, err
}

// jlSeeds is the number of projections for measuring the error.
const jlSeeds = 5

func jlError(s *measure.Session, ctx context.Context, progress user.Progress) (JLError, error) {
	records, err := s.Unrounded(s.Records())
	if err != nil {
		return JLError{}, err
	}
	requests, err := s.Unrounded(s.Corpus.Test)
	if err != nil {
		return JLError{}, err
	}
	exact := make([][]float64, len(requests))
	parallel.For(len(exact), func(i int) {
		for _, r := range records {
			exact[i] = append(exact[i], distance.L1(r.L1, requests[i].L1))
		}
	})
	profile := s.Builder.Profile().(*profile.PaperProfile)
	mhat := profile.Layout().JL
	e := JLError{Theory: measure.RoundTo(theoryError(mhat), 2)}
	errors := make([]float64, jlSeeds)
	for seed := range jlSeeds {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		p, err := embed.New([32]byte{'j', 'l', byte(seed)}, profile.Dimensions(), vector.Beta, mhat, profile.Baselines())
		if err != nil {
			return e, err
		}
		if errors[seed], err = relativeError(p, measure.Levels(measure.Quantized(records)), measure.Levels(measure.Quantized(requests)), exact); err != nil {
			return e, err
		}
		e.Seeds = append(e.Seeds, measure.RoundTo(errors[seed], 3))
		if progress != nil {
			progress("JL error", seed+1, jlSeeds)
		}
	}
	e.Mean = measure.RoundTo(measure.Mean(errors), 3)
	return e, nil
}

// Tables implements Result, with the published results below ours.
func (r *Corel5k) Tables() []measure.Table {
	t := measure.Table{Name: "corel5k", Title: "The standard protocol: five keywords an image, means over the words of the test set",
		Columns: []string{"method", "AP", "neighbours", "P %", "R %", "F1 %", "N+"}}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []string{row.Scheme, measure.FormatNonZero(row.Approx, 1), measure.FormatInt(row.Neighbours), measure.FormatDecimal(row.P, 1), measure.FormatDecimal(row.R, 1), measure.FormatDecimal(row.F1, 1), measure.FormatInt(row.Nplus)})
	}
	for _, row := range published() {
		t.Rows = append(t.Rows, []string{row.Scheme + " (published)", "", "", measure.FormatDecimal(row.P, 0), measure.FormatDecimal(row.R, 0), measure.FormatDecimal(row.F1, 1), measure.FormatInt(row.Nplus)})
	}
	jl := measure.Table{Name: "jl", Title: fmt.Sprintf("L1 through the projection, all pairs; theory says %s %%", measure.FormatDecimal(r.JL.Theory, 2)), Columns: []string{"secret", "error %"}}
	for i, e := range r.JL.Seeds {
		jl.Rows = append(jl.Rows, []string{measure.FormatInt(i + 1), measure.FormatDecimal(e, 3)})
	}
	jl.Rows = append(jl.Rows, []string{"mean", measure.FormatDecimal(r.JL.Mean, 3)})
	return []measure.Table{t, jl}
}

// A PublishedRow is the annotation quality of a method in the literature.
type PublishedRow struct {
	Scheme string `json:"scheme"`
	measure.Quality
}

// Corel5kBeside is a Corel5k whose JSON also has the published results, which
// are not measured and not kept.
type Corel5kBeside struct {
	*Corel5k
	Published []PublishedRow `json:"published"`
}

func Corel5kStep(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	c, err := measure.RunStep(ctx, r, m.Name, nil, measure.WithSession(r, MeasureCorel5k))
	if err != nil {
		return nil, err
	}
	return &Corel5kBeside{c, published()}, nil
}

func published() []PublishedRow {
	var rows []PublishedRow
	for _, p := range paper.Values().Published {
		rows = append(rows, PublishedRow{p.Name, measure.Quality{P: p.P, R: p.R, F1: measure.RoundTo(2*p.P*p.R/(p.P+p.R), 2), Nplus: p.Nplus}})
	}
	return rows
}
