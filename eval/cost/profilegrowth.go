package cost

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user"
)

// ProfileGrowth holds the costs of scheme sealed, by number of records, with
// the short vectors of profiles "learned" and "network".
type ProfileGrowth struct {
	Dim int `json:"dim"`
	// BaseMB is the memory of the process before the measurement.
	BaseMB float64     `json:"base_rss_mb"`
	Rows   []GrowthRow `json:"rows"`
}

// A GrowthRow is the cost at one number of records. Times are medians in
// milliseconds. The owner's times are on all cores.
type GrowthRow struct {
	Records  int     `json:"n"`
	Cloud    float64 `json:"cloud_ms"` // time on one core
	CloudAll float64 `json:"cloud_all_cores_ms"`
	OwnerCost
	Table uint64 `json:"table_bytes"` // size of the encrypted keywords
	Index uint64 `json:"index_bytes"`
	// PeakMB is the peak memory of owner and server together while requests are
	// answered.
	PeakMB float64 `json:"peak_rss_mb"`
	// AddMB is the peak memory while records are added.
	AddMB float64 `json:"add_peak_rss_mb"`
	Add   float64 `json:"add_s"`
}

var ProfileGrowthSizes = []int{20000, 100000, 1000000}

const (
	// growthBase is the number of synthetic photos.
	growthBase = 1000
	// growthWords is the number of keywords, and also the number of values per
	// embedding.
	growthWords = 256
	// growthStep bounds the number of records added at once, to limit memory.
	growthStep     = 100000
	growthRequests = 9
)

// ProfileGrowthStep measures ProfileGrowthSizes, or small sizes if N is small.
func ProfileGrowthStep(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	sizes := ProfileGrowthSizes
	if r.N < sizes[0] {
		n := max(r.N, 100) // learning needs 100 photos
		sizes = []int{n, 2 * n}
	}
	return measure.OneStep(ctx, r, m.Name, sizes, func(ctx context.Context) (*ProfileGrowth, error) {
		return MeasureProfileGrowth(ctx, sizes, r.Lab.Progress)
	})
}

// syntheticPhotos returns photos with more keywords than dimensions, so that a
// fitted profile uses the maximum number of dimensions.
func syntheticPhotos(n int) []user.Photo {
	rng := rand.New(rand.NewPCG(4, 0))
	zeros := feature.New()
	histogram := func() []float32 {
		h, sum := make([]float32, feature.ColorDim), float32(0)
		for i := range h {
			h[i] = rng.Float32()
			sum += h[i]
		}
		for i := range h {
			h[i] /= sum
		}
		return h
	}
	out := make([]user.Photo, n)
	for i := range out {
		v := *zeros
		v.RGB, v.HSV, v.Lab = histogram(), histogram(), histogram()
		values := make([]float32, growthWords)
		for j := range values {
			values[j] = 0.02 * rng.Float32()
		}
		var words []string
		for k, w := range rng.Perm(growthWords)[:3] {
			if k == 0 {
				w = i % growthWords // makes every word occur
			}
			values[w]++
			words = append(words, fmt.Sprintf("word %d", w))
		}
		v.Embedding = &feature.Embedding{Network: [32]byte{'m', 'a', 'd', 'e'}, Values: values}
		out[i] = user.Photo{Vectors: &v, Keywords: words}
	}
	return out
}

// MeasureProfileGrowth repeatedly adds the same photos, because costs depend on
// the number and dimension of records, not on content.
func MeasureProfileGrowth(ctx context.Context, sizes []int, progress user.Progress) (*ProfileGrowth, error) {
	measure.ResetPeakMemory()
	base := measure.RoundTo(measure.PeakMB(), 0)
	photos := syntheticPhotos(min(sizes[0], growthBase))
	s, _, err := measure.OpenSealed(ctx, photos, user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Network, Progress: progress})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows, err := grow(ctx, s, &measure.Corpus{Train: photos, Test: photos}, sizes, growthStep, progress)
	return &ProfileGrowth{Dim: int(s.Manifest.Dim), BaseMB: base, Rows: rows}, err
}

// grow adds copies of c.Train, at most `step` at a time, and measures at each
// of `sizes`.
func grow(ctx context.Context, s *measure.SealedSession, c *measure.Corpus, sizes []int, step int, progress user.Progress) (rows []GrowthRow, err error) {
	for _, n := range sizes {
		row := GrowthRow{Records: n}
		measure.ResetPeakMemory()
		begun := time.Now()
		if err := s.Grow(ctx, c.Train, n, step, progress); err != nil {
			return nil, err
		}
		row.Add, row.AddMB = measure.RoundTo(time.Since(begun).Seconds(), 1), measure.RoundTo(measure.PeakMB(), 0)
		if err := row.measure(ctx, s, c); err != nil {
			return nil, fmt.Errorf("%d records: %w", n, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (row *GrowthRow) measure(ctx context.Context, s *measure.SealedSession, c *measure.Corpus) error {
	requests := measure.VectorsOf(s.Owner, c, growthRequests)
	debug.FreeOSMemory() // releases the memory used for adding
	measure.ResetPeakMemory()
	for _, v := range requests[:min(3, len(requests))] {
		if _, err := s.Nearest(ctx, v, 10); err != nil {
			return err
		}
	}
	// Read the memory first, because the timed requests run without garbage
	// collection.
	row.PeakMB = measure.RoundTo(measure.PeakMB(), 0)
	m, err := s.Time(ctx, requests, func(i int) (time.Duration, error) { return onAllCores(ctx, s, requests[i%len(requests)]) })
	if err != nil {
		return err
	}
	row.Cloud, row.CloudAll = m.Cloud, m.Beside
	row.OwnerCost = OwnerCost{m.Encrypt, m.Read, m.Request, m.Reply, measure.SegmentBytes(s.Manifest, cpar.SegmentHints)}
	row.Table, row.Index = measure.SegmentBytes(s.Manifest, cpar.SegmentKeywords), s.Manifest.Bytes()
	return nil
}

func onAllCores(ctx context.Context, s *measure.SealedSession, v *vector.Vector) (time.Duration, error) {
	_, q, err := s.Owner.RequestVector(v, s.Params(10))
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	_, err = s.Cloud.Annotate(ctx, 0, []*cpar.Request{q})
	return time.Since(begun), err
}

func (g *ProfileGrowth) Tables() []measure.Table {
	t := measure.Table{Name: "profile-growth", Title: fmt.Sprintf("Scheme sealed with learnt vectors of %d dimensions as it grows; owner on all cores; memory of both sides together, which was %s MB before they began", g.Dim, measure.FormatDecimal(g.BaseMB, 0)),
		Columns: []string{"n", "cloud ms, one core", "cloud ms, all cores", "owner: request ms", "owner: reply ms", "request kB", "reply kB", "hints MB", "keywords MB", "index MB", "memory MB", "memory of adding MB", "added in s"}}
	for _, r := range g.Rows {
		t.Rows = append(t.Rows, []string{measure.FormatInt(r.Records), measure.FormatDecimal(r.Cloud, 2), measure.FormatDecimal(r.CloudAll, 2), measure.FormatDecimal(r.Encrypt, 2), measure.FormatDecimal(r.Read, 1), measure.FormatDecimal(float64(r.Request)/1e3, 0), measure.FormatDecimal(float64(r.Reply)/1e3, 0),
			measure.FormatDecimal(float64(r.Hints)/1e6, 1), measure.FormatDecimal(float64(r.Table)/1e6, 1), measure.FormatDecimal(float64(r.Index)/1e6, 0), measure.FormatDecimal(r.PeakMB, 0), measure.FormatDecimal(r.AddMB, 0), measure.FormatNonZero(r.Add, 1)})
	}
	return []measure.Table{t}
}
