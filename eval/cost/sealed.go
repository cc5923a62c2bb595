package cost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/rank"
	"cpar/user"
)

// Sealed holds the quality and cost of schemes sealed and local. In scheme
// local, the device downloads the index and searches it.
type Sealed struct {
	Records  int `json:"records"`
	Requests int `json:"requests"`
	// Top10Equal is the share of requests for which scheme sealed and a search
	// of the quantised plaintext vectors find the same ten nearest records in
	// the same order.
	Top10Equal float64 `json:"top10_equal"`
	// LocalEqual is this share for scheme local.
	LocalEqual float64 `json:"local_top10_equal"`
	// Quality compares sealed with plain-jl, which searches the same profile
	// and projection in plaintext without quantising.
	Quality []measure.QualityRow `json:"quality"`
	Cost    *SealedCost          `json:"cost,omitempty"`
	Growth  []GrowthRow          `json:"growth,omitempty"`
}

// SealedSteps runs three steps. Each is slow and therefore stored separately.
func SealedSteps(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	out, err := measure.RunStep(ctx, r, m.Name, nil, measure.WithCorpus(r, MeasureSealed))
	if err != nil {
		return nil, err
	}
	cost, err := measure.RunStep(ctx, r, m.Name+"-cost", r.N, func(ctx context.Context) (*SealedCost, error) { return MeasureSealedCost(ctx, r.Lab, r.N) })
	sizes := SealedGrowthSizes
	if r.N < sizes[0] {
		sizes = []int{r.N, 2 * r.N}
	}
	growth, failed := measure.RunStep(ctx, r, m.Name+"-growth", sizes, func(ctx context.Context) (*[]GrowthRow, error) {
		rows, err := MeasureSealedGrowth(ctx, r.Lab, sizes)
		return &rows, err
	})
	out.Cost = cost
	if growth != nil {
		out.Growth = *growth
	}
	return out, errors.Join(err, failed)
}

func MeasureSealed(ctx context.Context, c *measure.Corpus, progress user.Progress) (*Sealed, error) {
	out := &Sealed{Records: len(c.Train), Requests: len(c.Test)}
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		if err := out.measure(ctx, c, scheme, progress); err != nil {
			return nil, fmt.Errorf("scheme %v: %w", scheme, err)
		}
	}
	return out, nil
}

func (out *Sealed) measure(ctx context.Context, c *measure.Corpus, scheme cpar.Scheme, progress user.Progress) error {
	s, b, err := measure.OpenSealed(ctx, c.Train, user.Options{Scheme: scheme, Progress: progress})
	if err != nil {
		return err
	}
	defer s.Close()
	plain := &measure.Session{Corpus: c, Builder: b}
	if plain.Twin, err = b.Twin(); err != nil {
		return err
	}
	twin, _ := plain.Twin.Rows()
	if plain.Requests, err = c.TestVectors(b.Owner); err != nil {
		return err
	}
	train, truth := plain.Keywords(), measure.Keywords(c.Test)
	unquantised, err := plain.ProjectedDistances(ctx)
	if err != nil {
		return err
	}
	var equal atomic.Int64
	told := measure.CountStage(progress, scheme.String(), len(truth))
	found := map[int][][]string{5: make([][]string, len(truth)), 10: make([][]string, len(truth))}
	if err := measure.Each(ctx, len(truth), func(i int) error {
		v := plain.Requests[i]
		near, err := s.Nearest(ctx, v, 10)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		scores, err := twin.Scores(v)
		if err != nil {
			return fmt.Errorf("request %d in the clear: %w", i, err)
		}
		if slices.EqualFunc(near, nearestScores(scores), func(n rank.Neighbour, record uint32) bool { return n.Record == record }) {
			equal.Add(1)
		}
		for k := range found {
			found[k][i] = measure.KeywordStrings(rank.Keywords(near[:min(k, len(near))], measure.StandardKeywords))
		}
		told()
		return nil
	}); err != nil {
		return err
	}
	share := float64(equal.Load()) / float64(len(truth))
	if scheme == cpar.SchemeLocal {
		out.LocalEqual = share
		return nil
	}
	out.Top10Equal = share
	for _, k := range []int{5, 10} {
		out.Quality = append(out.Quality,
			measure.QualityRow{Scheme: "plain-jl", Neighbours: k, Quality: measure.MeasureQuality(measure.AnnotatePlain(unquantised, train, k, measure.StandardKeywords), truth)},
			measure.QualityRow{Scheme: scheme.String(), Neighbours: k, Quality: measure.MeasureQuality(found[k], truth)})
	}
	return nil
}

func (s *Sealed) Tables() []measure.Table {
	quality := measure.Table{Name: "sealed", Title: fmt.Sprintf("Scheme sealed on untouched images, n = %d: the same ten nearest as in the clear for %s %% of %d requests (local: %s %%)",
		s.Records, measure.FormatDecimal(100*s.Top10Equal, 2), s.Requests, measure.FormatDecimal(100*s.LocalEqual, 2)),
		Columns: []string{"method", "neighbours", "P %", "R %", "F1 %", "N+"}}
	for _, row := range s.Quality {
		quality.Rows = append(quality.Rows, []string{row.Scheme, measure.FormatInt(row.Neighbours), measure.FormatDecimal(row.P, 1), measure.FormatDecimal(row.R, 1), measure.FormatDecimal(row.F1, 1), measure.FormatInt(row.Nplus)})
	}
	out := []measure.Table{quality}
	if s.Cost != nil {
		out = append(out, s.Cost.table())
	}
	if len(s.Growth) > 0 {
		growth := measure.Table{Name: "sealed-growth", Title: "Scheme sealed as it grows; the cloud on one core, the owner on all; memory of both together",
			Columns: []string{"n", "cloud ms", "owner: request ms", "owner: reply ms", "request kB", "reply kB", "hints MB", "index MB", "memory MB", "added in s"}}
		for _, r := range s.Growth {
			growth.Rows = append(growth.Rows, []string{measure.FormatInt(r.Records), measure.FormatDecimal(r.Cloud, 1), measure.FormatDecimal(r.Encrypt, 1), measure.FormatDecimal(r.Read, 1), measure.FormatDecimal(float64(r.Request)/1e3, 0),
				measure.FormatDecimal(float64(r.Reply)/1e3, 0), measure.FormatDecimal(float64(r.Hints)/1e6, 1), measure.FormatDecimal(float64(r.Index)/1e6, 0), measure.FormatDecimal(r.PeakMB, 0), measure.FormatNonZero(r.Add, 1)})
		}
		out = append(out, growth)
	}
	return out
}

func (c *SealedCost) table() measure.Table {
	return quantityTable("sealed-cost", fmt.Sprintf("What scheme sealed costs, n = %d", c.Records), []quantity{
		{"cloud, a request, one core", c.Cloud, "ms"},
		{"owner: a request of a vector", c.Encrypt, "ms"}, {"owner: reading and checking the reply", c.Read, "ms"},
		{"request", float64(c.Request) / 1e3, "kB"}, {"reply", float64(c.Reply) / 1e3, "kB"},
		{"profile, once, as in every scheme", float64(c.Profile) / 1e6, "MB"}, {"hints, once", float64(c.Hints) / 1e6, "MB"}, {"keyword table, once", float64(c.Table) / 1e6, "MB"},
		{"index", float64(c.Index) / 1e6, "MB"},
		{"build, all cores", c.Build, "s"}, {"of it PCA", c.PCA, "s"}, {"peak memory of the build", c.PeakMB, "MB"},
		{"scheme local: index, once", float64(c.LocalIndex) / 1e6, "MB"}, {"scheme local: scan at home", c.LocalScan, "ms"},
	})
}
