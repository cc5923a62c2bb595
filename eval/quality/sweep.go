package quality

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/parallel"
	"cpar/model/rank"
	"cpar/user"
)

// A SweepRow is the result of one search over all test requests.
type SweepRow struct {
	Name   string  `json:"name"`
	Scheme string  `json:"scheme"`
	Search string  `json:"search,omitempty"`
	Approx float64 `json:"approx,omitempty"` // X of AP-X, the percentage of records visited
	NS     int64   `json:"ns"`               // median time per request
	Bytes  float64 `json:"bytes"`            // mean number of ciphertext bytes read
	Visits float64 `json:"visits"`           // mean number of records visited
	// Speedup is capia's median time divided by this search's. Scheme capia
	// scans all records.
	Speedup measure.Interval `json:"speedup"`
	// Bound is the speedup that the number of visits allows: the number of
	// records divided by Visits.
	Bound float64 `json:"bound"`
	// Memory is the speedup of only scoring the visited records, in memory
	// order.
	Memory float64 `json:"memory_bound,omitempty"`
	// Recall10 is the percentage found of capia's ten nearest records.
	Recall10 measure.Interval `json:"recall_at_10"`
	// Paper is recall in percent by the paper's protocol (measure/protocol.go),
	// averaged over the keywords that were output.
	Paper measure.Interval `json:"paper"`
	// PaperAll is the same recall averaged over all keywords of the test set.
	PaperAll measure.Interval `json:"paper_all_words"`
	// Standard is recall in percent by the standard protocol, with five
	// keywords per photo.
	Standard measure.Interval `json:"standard"`
	// Relative is Paper in percent of capia's value on the same requests.
	Relative measure.Interval `json:"relative_paper"`
	// RelativeAll is PaperAll in percent of capia's value.
	RelativeAll measure.Interval `json:"relative_paper_all_words"`
	// RelativeStandard is Standard in percent of capia's value.
	RelativeStandard measure.Interval `json:"relative_standard"`
	Quality          measure.Quality  `json:"quality"`
}

type Sweep struct {
	Records  int `json:"records"`
	Requests int `json:"requests"`
	// Admitted is the number of requests that the paper's protocol counts.
	Admitted int `json:"admitted"`
	// Words is the number of keywords in the test set.
	Words int `json:"words"`
	// Resamples is the number of bootstrap reweightings behind each interval.
	Resamples int        `json:"resamples"`
	Rows      []SweepRow `json:"rows"`
}

// MeasureSweep answers all test requests with every search, one request at a
// time, and judges the annotations by both protocols.
func MeasureSweep(ctx context.Context, s *measure.Session, c *measure.Corpus, progress user.Progress) (*Sweep, error) {
	configs := measure.SearchConfigurations()
	prepared := make([][]measure.PreparedRequest, len(configs))
	for j, conf := range configs {
		var err error
		if prepared[j], err = s.Prepare(ctx, conf.P, len(s.Requests)); err != nil {
			return nil, fmt.Errorf("%s: %w", conf.Name, err)
		}
		progress.Report("requests", j+1, len(configs))
	}
	w := &sweeper{judge: measure.NewJudge(measure.Keywords(c.Test), measure.Keywords(c.Train)), truth: measure.Keywords(c.Test), prepared: prepared}
	w.replies = make([][]*cpar.Reply, len(configs))
	for j := range w.replies {
		w.replies[j] = make([]*cpar.Reply, len(s.Requests))
	}
	times, err := s.TimeSearches(ctx, prepared, progress, func(j, i int, reply *cpar.Reply) { w.replies[j][i] = reply })
	if err != nil {
		return nil, err
	}
	out := &Sweep{Records: int(s.Cloud.Manifest.Records), Requests: len(s.Requests), Words: len(w.judge.KeywordIndex), Resamples: measure.Resamples}
	for _, a := range w.judge.Admitted {
		if a {
			out.Admitted++
		}
	}
	w.draws = measure.Bootstrap(len(s.Requests), 1)
	var base *judged
	for j, conf := range configs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g, err := w.judgeAll(j)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", conf.Name, err)
		}
		base = cmp.Or(base, g)
		row := SweepRow{Name: conf.Name, Scheme: conf.P.Scheme.String(),
			NS: measure.Median(times[j].Ns), Bytes: measure.RoundTo(measure.Mean(times[j].Bytes), 0), Visits: measure.RoundTo(measure.Mean(times[j].Visited), 1),
			Speedup: w.speedup(times[0].Ns, times[j].Ns), Bound: measure.RoundTo(float64(out.Records)/measure.Mean(times[j].Visited), 2),
			Recall10: measure.NewInterval(g.found), Paper: measure.NewInterval(g.paper), PaperAll: measure.NewInterval(g.paperAll), Standard: measure.NewInterval(g.standard),
			Relative: measure.NewInterval(measure.Ratios(g.paper, base.paper)), RelativeAll: measure.NewInterval(measure.Ratios(g.paperAll, base.paperAll)),
			RelativeStandard: measure.NewInterval(measure.Ratios(g.standard, base.standard)), Quality: g.quality}
		if conf.P.Scheme != cpar.SchemeCAPIA {
			row.Search, row.Approx = conf.P.Search.String(), float64(conf.P.Approx)/10
			if row.Memory, err = s.MemoryBound(prepared[j], measure.Median(times[0].Ns), measure.Replayed); err != nil {
				return nil, err
			}
		}
		out.Rows = append(out.Rows, row)
		progress.Report("judging", j+1, len(configs))
	}
	return out, nil
}

type sweeper struct {
	judge    *measure.Judge
	truth    [][]string
	prepared [][]measure.PreparedRequest
	replies  [][]*cpar.Reply
	// draws holds the requests' weights in each bootstrap resample.
	draws [][]float64
}

// judged holds accuracies in percent, with one element per bootstrap resample.
// In the first resample all weights are 1.
type judged struct {
	paper, paperAll, standard, found []float64
	quality                          measure.Quality
}

func (w *sweeper) judgeAll(j int) (*judged, error) {
	n := len(w.truth)
	all, five := make([]measure.Marks, n), make([]measure.Marks, n)
	predicted := make([][]string, n)
	share := make([]float64, n)
	for i, reply := range w.replies[j] {
		near, err := w.prepared[j][i].Pending.Neighbours(reply)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		predicted[i] = measure.KeywordStrings(rank.Keywords(near, measure.StandardKeywords))
		five[i] = w.judge.Mark(i, predicted[i])
		all[i] = w.judge.Mark(i, measure.KeywordStrings(rank.Keywords(near, measure.AllKeywords)))
		share[i] = measure.RecallAt10([][]uint32{measure.MatchRecords(reply)}, [][]uint32{measure.MatchRecords(w.replies[0][i])})
	}
	g := &judged{quality: measure.MeasureQuality(predicted, w.truth)}
	for _, to := range []*[]float64{&g.paper, &g.paperAll, &g.standard, &g.found} {
		*to = make([]float64, len(w.draws))
	}
	parallel.For(len(w.draws), func(b int) {
		t := w.judge.Tally(all, w.draws[b], true)
		g.paper[b], g.paperAll[b] = t.Recall(true), t.Recall(false)
		g.standard[b] = w.judge.Tally(five, w.draws[b], false).Recall(false)
		sum := 0.0
		for i, times := range w.draws[b] {
			sum += times * share[i]
		}
		g.found[b] = 100 * sum / float64(n)
	})
	return g, nil
}

func (w *sweeper) speedup(base, ns []int64) measure.Interval {
	values := make([]float64, len(w.draws))
	parallel.For(len(values), func(b int) {
		values[b] = float64(measure.WeightedMedian(base, w.draws[b])) / float64(measure.WeightedMedian(ns, w.draws[b]))
	})
	return measure.NewInterval(values)
}

func (s *Sweep) Tables() []measure.Table {
	return []measure.Table{s.speedups(), s.recalls(), s.tradeoff()}
}

func (s *Sweep) speedups() measure.Table {
	t := measure.Table{Name: "speedup", Title: fmt.Sprintf("cpar and ivf over capia, n = %d, %d requests, one core", s.Records, s.Requests),
		Columns: []string{"search", "AP", "ms", "visits", "MB read", "speedup", "low", "high", "visits allow", "memory leaves"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, slices.Concat([]string{r.Name, measure.FormatNonZero(r.Approx, 1), measure.FormatDecimal(float64(r.NS)/1e6, 3), measure.FormatDecimal(r.Visits, 0), measure.FormatDecimal(r.Bytes/1e6, 2)},
			r.Speedup.Cells(2), []string{measure.FormatDecimal(r.Bound, 1), measure.FormatNonZero(r.Memory, 2)}))
	}
	return t
}

func (s *Sweep) recalls() measure.Table {
	t := measure.Table{Name: "recall", Title: fmt.Sprintf("Accuracy against AP, n = %d, %d requests", s.Records, s.Requests),
		Columns: []string{"search", "AP", "recall@10 %", "low", "high", "paper's recall %", "low", "high", "over all words %", "low", "high", "standard R %", "low", "high", "P %", "F1 %", "N+"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, slices.Concat([]string{r.Name, measure.FormatNonZero(r.Approx, 1)}, r.Recall10.Cells(2), r.Paper.Cells(2), r.PaperAll.Cells(2), r.Standard.Cells(2),
			[]string{measure.FormatDecimal(r.Quality.P, 2), measure.FormatDecimal(r.Quality.F1, 2), measure.FormatInt(r.Quality.Nplus)}))
	}
	return t
}

func (s *Sweep) tradeoff() measure.Table {
	t := measure.Table{Name: "tradeoff", Title: fmt.Sprintf("Speedup against accuracy, both relative to capia, n = %d, %d requests", s.Records, s.Requests),
		Columns: []string{"search", "AP", "speedup", "low", "high", "visits allow", "relative, paper's %", "low", "high", "relative, all words %", "low", "high", "relative, standard %", "low", "high"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, slices.Concat([]string{r.Name, measure.FormatNonZero(r.Approx, 1)}, r.Speedup.Cells(2), []string{measure.FormatDecimal(r.Bound, 1)},
			r.Relative.Cells(1), r.RelativeAll.Cells(1), r.RelativeStandard.Cells(1)))
	}
	return t
}
