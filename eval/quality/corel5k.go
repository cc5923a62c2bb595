package quality

import (
	"context"
	"fmt"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/paper"
	"cpar/user"
)

// Corel5k holds the results of the standard protocol (five keywords per image)
// on one collection.
type Corel5k struct {
	Rows []measure.QualityRow `json:"rows"`
}

// MeasureCorel5k measures P, R and N+ (see measure.Quality) by exact distances,
// by distances estimated from the projection, and by encrypted search.
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
	return r, nil
}

func (r *Corel5k) Tables() []measure.Table {
	t := measure.Table{Name: "corel5k", Title: "The standard protocol: five keywords an image, means over the words of the test set",
		Columns: []string{"method", "AP", "neighbours", "P %", "R %", "F1 %", "N+"}}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []string{row.Scheme, measure.FormatNonZero(row.Approx, 1), measure.FormatInt(row.Neighbours), measure.FormatDecimal(row.P, 1), measure.FormatDecimal(row.R, 1), measure.FormatDecimal(row.F1, 1), measure.FormatInt(row.Nplus)})
	}
	for _, row := range published() {
		t.Rows = append(t.Rows, []string{row.Scheme + " (published)", "", "", measure.FormatDecimal(row.P, 0), measure.FormatDecimal(row.R, 0), measure.FormatDecimal(row.F1, 1), measure.FormatInt(row.Nplus)})
	}
	return []measure.Table{t}
}

type PublishedRow struct {
	Scheme string `json:"scheme"`
	measure.Quality
}

// Corel5kBeside adds the published results to the JSON, because they are not
// stored with a run.
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
