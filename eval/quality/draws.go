package quality

import (
	"context"
	"fmt"
	"slices"

	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

// Draws holds the quality of annotation as mean and range over draws. A draw is
// a random choice of the order of the collection and of the secret for the
// projection of profile "paper". The order determines the folds of
// cross-validation and calibration. Differences within the range are not
// significant.
//
//	collection ─▶ draw: another order, another key ─▶ user.Setup, as cpar build does
//	  ─▶ plain · capia · cpar · ivf · sealed ─▶ P, R, N+, keywords found; the paper's recall
type Draws struct {
	Draws []Draw `json:"draws"`
}

// A Draw holds the results of one draw, with one index per profile.
type Draw struct {
	Number   int       `json:"draw"`
	Records  int       `json:"n"`
	Requests int       `json:"requests"`
	Rows     []DrawRow `json:"rows"`
	// Recalls holds recall by the paper's protocol, in profile "paper".
	Recalls []DrawRecall     `json:"paper_recall"`
	Skipped []SkippedProfile `json:"skipped"`
}

// A DrawRow is the result of one profile, ranker and scheme by the standard
// protocol (five keywords per photo, ranked as by cpar annotate).
type DrawRow struct {
	Profile    string `json:"profile"`
	Ranker     string `json:"ranker"`
	Scheme     string `json:"scheme"` // "plain", "sealed", or a measure.ConfigurationName
	Neighbours int    `json:"neighbours"`
	// P and R are precision and recall in percent, as means over keywords.
	P float64 `json:"P"`
	R float64 `json:"R"`
	// Nplus is the number of keywords found at least once.
	Nplus int `json:"Nplus"`
	// Found is the mean number of human keywords among a photo's five keywords.
	Found float64 `json:"found"`
	// Likely describes the keywords that cpar annotate writes, with one element
	// per requested share of right keywords. It is empty for rankers without
	// probabilities.
	Likely []Likely `json:"likely,omitempty"`
}

// DefaultDraws is the number of draws. Draws are numbered from 1. Measurements
// of a single draw use DefaultDraw. Draw 0 stands for the collection's own
// order.
const DefaultDraws, DefaultDraw = 9, 1

// drawSchemes lists the schemes measured by the standard protocol.
// recallSearches lists the searches measured by the paper's protocol. A suffix
// @X stands for AP-X, which visits X percent of the records.
var (
	drawSchemes    = []string{"plain", "capia", "cpar@10", "cpar-rank@10", "ivf@10", "sealed"}
	recallSearches = []string{"capia", "cpar@10", "cpar@2.5", "cpar-rank@10", "cpar-rank@2.5", "ivf@10", "ivf@2.5"}
)

// DrawSteps runs a separate step for each draw, so that a later run can add
// draws.
func DrawSteps(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	out := new(Draws)
	var basis *profile.Fitted
	network, err := r.Inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	for d := 1; d <= r.Draws; d++ {
		draw, err := measure.RunStep(ctx, r, fmt.Sprintf("%s-%d", m.Name, d), []any{network, d}, func(ctx context.Context) (*Draw, error) {
			c, err := r.Lab.ReadCorpus(ctx)
			if err != nil {
				return nil, err
			}
			if basis == nil {
				if basis, err = fitProfile(ctx, c, profile.Paper, r.Lab.Progress); err != nil {
					return nil, err
				}
			}
			return MeasureDraw(ctx, c, d, basis, r.Lab.Progress)
		})
		switch {
		case err == nil:
			out.Draws = append(out.Draws, *draw)
		case d == 1:
			return nil, err
		default:
			return out, err
		}
	}
	return out, nil
}

// MeasureDraw builds and searches an index of each profile. The draw's number
// determines the order of the collection. Keys and the order of records are
// drawn anew. The caller fits profile "paper" once for all draws, because its
// principal components depend on neither order nor key.
func MeasureDraw(ctx context.Context, c *measure.Corpus, number int, paper *profile.Fitted, progress user.Progress) (*Draw, error) {
	c = c.InOrderOf(number)
	out := &Draw{Number: number, Records: len(c.Train), Requests: len(c.Test), Skipped: []SkippedProfile{}}
	for _, kind := range []profile.Kind{profile.Paper, profile.Learned, profile.Network} {
		if kind == profile.Network && c.Train[0].Vectors.Embedding == nil {
			out.Skipped = append(out.Skipped, SkippedProfile{kind.String(), "no image network was named (--model FILE)"})
			continue
		}
		if err := out.add(ctx, c, kind, paper, progress); err != nil {
			return nil, fmt.Errorf("profile %v: %w", kind, err)
		}
	}
	return out, nil
}

func (d *Draw) add(ctx context.Context, c *measure.Corpus, kind profile.Kind, fit *profile.Fitted, progress user.Progress) (err error) {
	searches := drawSchemes
	if kind == profile.Paper {
		searches = slices.Concat(drawSchemes, recallSearches)
	} else if fit, err = fitProfile(ctx, c, kind, progress); err != nil {
		return err
	}
	r, err := drawProfile(ctx, c, fit, searches, progress)
	if err != nil {
		return err
	}
	rows, err := r.drawRows(drawSchemes)
	if err != nil {
		return err
	}
	d.Rows = append(d.Rows, rows...)
	if kind == profile.Paper {
		d.Recalls, err = r.drawRecalls(measure.Keywords(c.Train), d.Number)
	}
	return err
}

// fitProfile fits a profile as user.Setup does, but without cross-validation,
// because that takes a sixth of the time and does not affect search.
func fitProfile(ctx context.Context, c *measure.Corpus, kind profile.Kind, progress user.Progress) (*profile.Fitted, error) {
	fit, err := profile.Fit(ctx, kind, measure.FeaturesOf(c.Train), measure.Keywords(c.Train), profile.Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	fit.Samples = nil
	return fit, nil
}

// drawProfile builds an index as cpar build does, and finds the neighbours of
// every test image with every search.
func drawProfile(ctx context.Context, c *measure.Corpus, fit *profile.Fitted, searches []string, progress user.Progress) (*profileRun, error) {
	s, err := measure.OpenSession(ctx, c, user.Options{WithLists: true, Fitted: fit, Ranker: rank.KindCalibrated, Progress: progress})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &profileRun{owner: s.Builder, truth: measure.Keywords(c.Test), requests: s.Requests,
		near: map[string][][]rank.Neighbour{}, dims: map[string]int{"plain": s.Builder.Profile().Dimensions() + len(s.Requests[0].KL)}}
	if slices.Contains(searches, "plain") {
		if r.near["plain"], err = s.PlainNearest(ctx, r.maxNeighbours()); err != nil {
			return nil, err
		}
	}
	for _, conf := range measure.SearchConfigurations() {
		if !slices.Contains(searches, conf.Name) {
			continue
		}
		conf.P.L, r.dims[conf.Name] = uint16(r.maxNeighbours()), int(s.Cloud.Manifest.Dim)
		if r.near[conf.Name], err = s.NearestAll(ctx, conf.P, measure.CountStage(progress, r.name()+", "+conf.Name, len(c.Test))); err != nil {
			return nil, fmt.Errorf("%s: %w", conf.Name, err)
		}
	}
	if slices.Contains(searches, "sealed") {
		err = r.sealed(ctx, c, s.Requests, progress)
	}
	return r, err
}

func (r *profileRun) drawRows(schemes []string) ([]DrawRow, error) {
	var out []DrawRow
	for _, ranker := range []profileRanker{{rank.KindPaper, paperNeighbours}, {rank.KindCalibrated, r.owner.Ranker().Neighbours()}} {
		for _, scheme := range schemes {
			said, err := r.annotate(scheme, ranker.kind, ranker.neighbours, user.Ranking{MaxKeywords: measure.AllKeywords})
			if err != nil {
				return nil, fmt.Errorf("scheme %s: %w", scheme, err)
			}
			words := measure.KeywordsOf(firstKeywords(said, measure.StandardKeywords))
			q := measure.MeasureQuality(words, r.truth)
			row := DrawRow{Profile: r.name(), Ranker: ranker.kind.String(), Scheme: scheme, Neighbours: ranker.neighbours,
				P: q.P, R: q.R, Nplus: q.Nplus, Found: measure.RoundTo(measure.MeanKeywordsFound(words, r.truth), 3)}
			if ranker.kind == rank.KindCalibrated {
				for _, asked := range askedShares {
					row.Likely = append(row.Likely, likely(said, r.truth, asked, r.owner.Threshold(asked)))
				}
			}
			out = append(out, row)
		}
	}
	return out, nil
}

// meanRange returns the mean, minimum and maximum. Rounding makes the mean of
// equal values exact.
func meanRange(x []float64) measure.Interval {
	return measure.Interval{Value: measure.RoundTo(measure.Mean(x), 6), Low: slices.Min(x), High: slices.Max(x)}
}

func medianRange(x []float64) measure.Interval {
	y := slices.Sorted(slices.Values(x))
	at := func(percent int) float64 { return y[min(len(y)-1, len(y)*percent/100)] }
	return measure.Interval{Value: at(50), Low: at(5), High: at(95)}
}

func (d *Draws) Tables() []measure.Table {
	return []measure.Table{d.quality(), d.written(), d.recalls()}
}

func (d *Draws) title(what string) string {
	first := d.Draws[0]
	t := fmt.Sprintf("%s, n = %d, %d requests; mean, least and greatest of %d draws of key and order", what, first.Records, first.Requests, len(d.Draws))
	for _, s := range first.Skipped {
		t += fmt.Sprintf("; profile %s was left out: %s", s.Profile, s.Reason)
	}
	return t
}

func (d *Draws) quality() measure.Table {
	t := measure.Table{Name: "draws", Title: d.title("What is found, five keywords a photo"),
		Columns: []string{"profile", "ranker", "scheme", "P %", "low", "high", "R %", "low", "high", "N+", "low", "high", "words found", "low", "high"}}
	for i, row := range d.Draws[0].Rows {
		of := func(value func(DrawRow) float64) measure.Interval { return d.of(i, value) }
		t.Rows = append(t.Rows, slices.Concat([]string{row.Profile, row.Ranker, row.Scheme},
			of(func(r DrawRow) float64 { return r.P }).Cells(1), of(func(r DrawRow) float64 { return r.R }).Cells(1),
			of(func(r DrawRow) float64 { return float64(r.Nplus) }).Cells(0), of(func(r DrawRow) float64 { return r.Found }).Cells(2)))
	}
	return t
}

// written returns a table with one row per profile, scheme and requested share
// of right keywords.
func (d *Draws) written() measure.Table {
	t := measure.Table{Name: "draws-written", Title: d.title("What cpar annotate writes by requested share of right words (--right)"),
		Columns: append([]string{"profile", "scheme", "asked"}, likelyColumns...)}
	for i, row := range d.Draws[0].Rows {
		for k, first := range row.Likely {
			var draws []Likely
			for _, draw := range d.Draws {
				draws = append(draws, draw.Rows[i].Likely[k])
			}
			t.Rows = append(t.Rows, append([]string{row.Profile, row.Scheme, measure.FormatDecimal(first.Asked, 2)}, likelyCells(draws)...))
		}
	}
	return t
}

// of returns the mean and range of a value in row i over draws.
func (d *Draws) of(i int, value func(DrawRow) float64) measure.Interval {
	var x []float64
	for _, draw := range d.Draws {
		x = append(x, value(draw.Rows[i]))
	}
	return meanRange(x)
}

// recalls returns two rows for each search and each reading of "related"
// (relatedByOneKeyword, relatedByAllKeywords). The first row covers all
// requests, with the range over draws. The second covers random subsets of
// requests, with the 5th and 95th percentiles.
func (d *Draws) recalls() measure.Table {
	t := measure.Table{Name: "draws-recall", Title: d.title("The paper's recall: all words of ten neighbours, over the words output") +
		fmt.Sprintf("; of random sets of %d requests: median, 5th and 95th percentile of %d sets a draw", fewRequests, fewDraws),
		Columns: []string{"search", "related by", "requests", "recall %", "low", "high", "% of capia's", "low", "high"}}
	base := 0
	for i, row := range d.Draws[0].Recalls {
		if row.Search == "capia" {
			base = i
		}
		var all, allOf, few, fewOf []float64
		for _, draw := range d.Draws {
			x, capia := draw.Recalls[i], draw.Recalls[base]
			all, few = append(all, x.All), append(few, x.Subsets...)
			allOf = append(allOf, measure.Ratios([]float64{x.All}, []float64{capia.All})...)
			fewOf = append(fewOf, measure.Ratios(x.Subsets, capia.Subsets)...)
		}
		t.Rows = append(t.Rows,
			slices.Concat([]string{row.Search, row.Related, measure.FormatInt(row.Admitted)}, meanRange(all).Cells(1), meanRange(allOf).Cells(1)),
			slices.Concat([]string{row.Search, row.Related, measure.FormatInt(min(fewRequests, row.Admitted))}, medianRange(few).Cells(1), medianRange(fewOf).Cells(1)))
	}
	return t
}
