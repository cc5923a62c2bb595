package eval

import (
	"context"
	"fmt"

	"cpar"
	"cpar/internal/parallel"
	"cpar/model/rank"
	"cpar/user"
)

// A SweepRow is one search over all test requests of the untouched collection.
type SweepRow struct {
	Name   string  `json:"name"`
	Scheme string  `json:"scheme"`
	Search string  `json:"search,omitempty"`
	Approx float64 `json:"approx,omitempty"` // AP-X in percent
	NS     int64   `json:"ns"`               // median
	Bytes  float64 `json:"bytes"`            // mean bytes of ciphertext
	Visits float64 `json:"visits"`
	// Speedup is capia's median time over this one's. Bound is what visits alone would
	// allow. Memory is what is left of it if the visited records are scored in the same
	// order and nothing else is done.
	Speedup Interval `json:"speedup"`
	Bound   float64  `json:"bound"`
	Memory  float64  `json:"memory_bound,omitempty"`
	// Recall10 is the share of capia's ten nearest that the search finds, in percent.
	Recall10 Interval `json:"recall_at_10"`
	// Paper is the paper's accuracy; PaperAll is the same recall over all words of the
	// test set; Standard is R at five keywords. Relative is Paper in percent of capia's,
	// and so on, paired.
	Paper            Interval `json:"paper"`
	PaperAll         Interval `json:"paper_all_words"`
	Standard         Interval `json:"standard"`
	Relative         Interval `json:"relative_paper"`
	RelativeAll      Interval `json:"relative_paper_all_words"`
	RelativeStandard Interval `json:"relative_standard"`
	Quality          Quality  `json:"quality"`
}

// A Sweep is the speed and accuracy of every search in one run.
type Sweep struct {
	Records  int `json:"records"`
	Requests int `json:"requests"`
	// Admitted is the number of requests that the paper's protocol counts.
	Admitted  int        `json:"admitted"`
	Words     int        `json:"words"`
	Resamples int        `json:"resamples"`
	Rows      []SweepRow `json:"rows"`
}

// replayed is the number of requests for measuring the memory bound.
const replayed = 100

// MeasureSweep answers all test requests by every search, one at a time, and judges the
// annotations by both protocols.
func MeasureSweep(ctx context.Context, s *Session, c *Corpus, progress user.Progress) (*Sweep, error) {
	configs := searchConfigurations()
	prepared := make([][]preparedRequest, len(configs))
	for j, conf := range configs {
		var err error
		if prepared[j], err = s.prepare(ctx, conf.p, len(s.Requests)); err != nil {
			return nil, fmt.Errorf("%s: %w", conf.name, err)
		}
		if progress != nil {
			progress("requests", j+1, len(configs))
		}
	}
	w := &sweeper{s: s, judge: newJudge(Keywords(c.Test), Keywords(c.Train)), truth: Keywords(c.Test), prepared: prepared}
	w.replies = make([][]*cpar.Reply, len(configs))
	for j := range w.replies {
		w.replies[j] = make([]*cpar.Reply, len(s.Requests))
	}
	tell := func(done, total int) {
		if progress != nil {
			progress("searches", done, total)
		}
	}
	times, err := s.timeSearches(ctx, prepared, tell, func(j, i int, reply *cpar.Reply) { w.replies[j][i] = reply })
	if err != nil {
		return nil, err
	}
	out := &Sweep{Records: int(s.Cloud.Manifest.Records), Requests: len(s.Requests), Words: len(w.judge.index), Resamples: resamples}
	for _, a := range w.judge.admitted {
		if a {
			out.Admitted++
		}
	}
	w.draws = bootstrap(len(s.Requests), 1)
	var base *judged
	for j, conf := range configs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g, err := w.judgeAll(j)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", conf.name, err)
		}
		if base == nil {
			base = g
		}
		row := SweepRow{Name: conf.name, Scheme: conf.p.Scheme.String(),
			NS: median(times[j].ns), Bytes: RoundTo(mean(times[j].bytes), 0), Visits: RoundTo(mean(times[j].visited), 1),
			Speedup: w.speedup(times[0].ns, times[j].ns), Bound: RoundTo(float64(out.Records)/mean(times[j].visited), 2),
			Recall10: interval(g.found), Paper: interval(g.paper), PaperAll: interval(g.paperAll), Standard: interval(g.standard),
			Relative: interval(ratios(g.paper, base.paper)), RelativeAll: interval(ratios(g.paperAll, base.paperAll)),
			RelativeStandard: interval(ratios(g.standard, base.standard)), Quality: g.quality}
		if conf.p.Scheme != cpar.SchemeCAPIA {
			row.Search, row.Approx = conf.p.Search.String(), float64(conf.p.Approx)/10
			if row.Memory, err = s.memoryBound(prepared[j], median(times[0].ns), replayed); err != nil {
				return nil, err
			}
		}
		out.Rows = append(out.Rows, row)
		if progress != nil {
			progress("judging", j+1, len(configs))
		}
	}
	return out, nil
}

// memoryBound is a time over the median time of replays.
func (s *Session) memoryBound(list []preparedRequest, base int64, n int) (float64, error) {
	var ns []int64
	if err := withoutGC(func() error {
		for i := range min(n, len(list)) {
			took, err := s.replay(list[i].request)
			if err != nil {
				return err
			}
			ns = append(ns, took.Nanoseconds())
		}
		return nil
	}); err != nil {
		return 0, err
	}
	return RoundTo(float64(base)/float64(max(1, median(ns))), 2), nil
}

type sweeper struct {
	s        *Session
	judge    *judge
	truth    [][]string
	prepared [][]preparedRequest
	replies  [][]*cpar.Reply
	draws    [][]float64
}

// judged is accuracy by resample; the first is the original.
type judged struct {
	paper, paperAll, standard, found []float64
	quality                          Quality
}

// judgeAll reads the replies of configuration j and judges them.
func (w *sweeper) judgeAll(j int) (*judged, error) {
	n := len(w.truth)
	all, five := make([]marks, n), make([]marks, n)
	predicted := make([][]string, n)
	share := make([]float64, n)
	for i, reply := range w.replies[j] {
		near, err := w.prepared[j][i].pending.Neighbours(reply)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		predicted[i] = keywordStrings(rank.Keywords(near, standardKeywords))
		five[i] = w.judge.mark(i, predicted[i])
		all[i] = w.judge.mark(i, keywordStrings(rank.Keywords(near, allKeywords)))
		share[i] = recall([][]uint32{matchRecords(reply)}, [][]uint32{matchRecords(w.replies[0][i])})
	}
	g := &judged{quality: MeasureQuality(predicted, w.truth)}
	for _, to := range []*[]float64{&g.paper, &g.paperAll, &g.standard, &g.found} {
		*to = make([]float64, len(w.draws))
	}
	parallel.For(len(w.draws), func(b int) {
		t := w.judge.tally(all, w.draws[b], true)
		g.paper[b], g.paperAll[b] = t.recall(true), t.recall(false)
		g.standard[b] = w.judge.tally(five, w.draws[b], false).recall(false)
		sum := 0.0
		for i, times := range w.draws[b] {
			sum += times * share[i]
		}
		g.found[b] = 100 * sum / float64(n)
	})
	return g, nil
}

func matchRecords(reply *cpar.Reply) []uint32 {
	out := make([]uint32, len(reply.Matches))
	for i, m := range reply.Matches {
		out[i] = m.Record
	}
	return out
}

// speedup is the ratio of medians, with its interval over the resamples.
func (w *sweeper) speedup(base, ns []int64) Interval {
	values := make([]float64, len(w.draws))
	parallel.For(len(values), func(b int) {
		values[b] = float64(weightedMedian(base, w.draws[b])) / float64(weightedMedian(ns, w.draws[b]))
	})
	return interval(values)
}

// Tables implements Result: speedup, recall and trade-off are three views of one run.
func (s *Sweep) Tables() []Table { return []Table{s.speedups(), s.recalls(), s.tradeoff()} }

func (s *Sweep) speedups() Table {
	t := Table{Name: "speedup", Title: fmt.Sprintf("cpar and ivf over capia, n = %d, %d requests, one core", s.Records, s.Requests),
		Columns: []string{"search", "AP", "ms", "visits", "MB read", "speedup", "low", "high", "visits allow", "memory leaves"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, []string{r.Name, FormatNonZero(r.Approx, 1), FormatDecimal(float64(r.NS)/1e6, 3), FormatDecimal(r.Visits, 0), FormatDecimal(r.Bytes/1e6, 2),
			FormatDecimal(r.Speedup.Value, 2), FormatDecimal(r.Speedup.Low, 2), FormatDecimal(r.Speedup.High, 2), FormatDecimal(r.Bound, 1), FormatNonZero(r.Memory, 2)})
	}
	return t
}

func (s *Sweep) recalls() Table {
	t := Table{Name: "recall", Title: fmt.Sprintf("Accuracy against AP, n = %d, %d requests", s.Records, s.Requests),
		Columns: []string{"search", "AP", "recall@10 %", "low", "high", "paper's recall %", "low", "high", "over all words %", "low", "high", "standard R %", "low", "high", "P %", "F1 %", "N+"}}
	for _, r := range s.Rows {
		row := []string{r.Name, FormatNonZero(r.Approx, 1)}
		for _, x := range []Interval{r.Recall10, r.Paper, r.PaperAll, r.Standard} {
			row = append(row, FormatDecimal(x.Value, 2), FormatDecimal(x.Low, 2), FormatDecimal(x.High, 2))
		}
		t.Rows = append(t.Rows, append(row, FormatDecimal(r.Quality.P, 2), FormatDecimal(r.Quality.F1, 2), FormatInt(r.Quality.Nplus)))
	}
	return t
}

func (s *Sweep) tradeoff() Table {
	t := Table{Name: "tradeoff", Title: fmt.Sprintf("Speedup against accuracy, both relative to capia, n = %d, %d requests", s.Records, s.Requests),
		Columns: []string{"search", "AP", "speedup", "low", "high", "visits allow", "relative, paper's %", "low", "high", "relative, all words %", "low", "high", "relative, standard %", "low", "high"}}
	for _, r := range s.Rows {
		row := []string{r.Name, FormatNonZero(r.Approx, 1), FormatDecimal(r.Speedup.Value, 2), FormatDecimal(r.Speedup.Low, 2), FormatDecimal(r.Speedup.High, 2), FormatDecimal(r.Bound, 1)}
		for _, x := range []Interval{r.Relative, r.RelativeAll, r.RelativeStandard} {
			row = append(row, FormatDecimal(x.Value, 1), FormatDecimal(x.Low, 1), FormatDecimal(x.High, 1))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
