package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"cpar"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/user"
)

// ProfileGrowth is the growth of scheme sealed with the short vectors of profiles learned
// and network.
type ProfileGrowth struct {
	// Dim is the dimension of the records.
	Dim int `json:"dim"`
	// BaseMB is the memory of the process beforehand, such as a collection's features.
	BaseMB float64            `json:"base_rss_mb"`
	Rows   []ProfileGrowthRow `json:"rows"`
}

// A ProfileGrowthRow is one size. Times are medians in milliseconds; the owner's are on all cores.
type ProfileGrowthRow struct {
	Records  int     `json:"n"`
	Cloud    float64 `json:"cloud_ms"` // one core
	CloudAll float64 `json:"cloud_all_cores_ms"`
	Encrypt  float64 `json:"owner_request_ms"`
	Read     float64 `json:"owner_read_ms"`
	Request  int     `json:"request_bytes"`
	Reply    int     `json:"reply_bytes"`
	Hints    uint64  `json:"hints_bytes"`
	Table    uint64  `json:"table_bytes"` // keywords
	Index    uint64  `json:"index_bytes"`
	// PeakMB is the memory of the process, owner and cloud together, while it answers;
	// AddMB is that while records were added, and Add the seconds this took.
	PeakMB float64 `json:"peak_rss_mb"`
	AddMB  float64 `json:"add_peak_rss_mb"`
	Add    float64 `json:"add_s"`
}

// ProfileSizes are the sizes of the growth measurement.
var ProfileGrowthSizes = []int{20000, 100000, 1000000}

const (
	// growthBase photos are made, with growthWords words and values per embedding.
	growthBase  = 1000
	growthWords = 256
	// growthStep is the number of records added at once, to bound memory.
	growthStep     = 100000
	growthRequests = 9
)

// profileGrowthStep uses ProfileSizes, or small sizes if N is small.
func ProfileGrowthStep(ctx context.Context, r *Run, m Measurement) (Result, error) {
	sizes := ProfileGrowthSizes
	if r.N < sizes[0] {
		n := max(r.N, 100) // fewer photos are too few to learn from
		sizes = []int{n, 2 * n}
	}
	g, err := RunStep(ctx, r, m.Name, sizes, func(ctx context.Context) (*ProfileGrowth, error) {
		return MeasureProfileGrowth(ctx, sizes, r.Lab.Progress)
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// syntheticPhotos are synthetic: each has three words, and an embedding near the sum of its
// words' directions. There are more words than dimensions, so that a profile fitted to
// them uses all dimensions that it may have.
func syntheticPhotos(n int) []user.Photo {
	rng := rand.New(rand.NewPCG(augmentSeed+3, 0))
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
				w = i % growthWords // every word occurs
			}
			values[w]++
			words = append(words, fmt.Sprintf("word %d", w))
		}
		v.Embedding = &feature.Embedding{Network: [32]byte{'m', 'a', 'd', 'e'}, Values: values}
		out[i] = user.Photo{Vectors: &v, Keywords: words}
	}
	return out
}

// MeasureProfileGrowth builds an index of scheme sealed of synthetic photos and keeps
// adding the same photos: the cost depends on the number of records and their dimension,
// not on what they show. It needs no real photos.
func MeasureProfileGrowth(ctx context.Context, sizes []int, progress user.Progress) (*ProfileGrowth, error) {
	resetPeakMemory()
	base := RoundTo(peakMB(), 0)
	photos := syntheticPhotos(min(sizes[0], growthBase))
	s, _, err := openSealed(ctx, photos, user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Network, Progress: progress})
	if err != nil {
		return nil, err
	}
	defer s.close()
	out := &ProfileGrowth{Dim: int(s.manifest.Dim), BaseMB: base}
	for _, n := range sizes {
		row := ProfileGrowthRow{Records: n}
		resetPeakMemory()
		begun := time.Now()
		for at := int(s.manifest.Records); at < n; at = int(s.manifest.Records) {
			some := make([]user.Photo, min(growthStep, n-at))
			for i := range some {
				some[i] = photos[i%len(photos)]
			}
			if _, err := user.Add(ctx, s.key, s.path(), some, progress); err != nil {
				return nil, fmt.Errorf("adding to %d records: %w", at, err)
			}
			if err := s.open(); err != nil {
				return nil, err
			}
		}
		row.Add, row.AddMB = RoundTo(time.Since(begun).Seconds(), 1), RoundTo(peakMB(), 0)
		if err := row.measure(ctx, s, photos); err != nil {
			return nil, fmt.Errorf("%d records: %w", n, err)
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

func (row *ProfileGrowthRow) measure(ctx context.Context, s *sealedSession, photos []user.Photo) error {
	requests := vectorsOf(s.owner, &Corpus{Test: photos}, growthRequests)
	debug.FreeOSMemory() // release the memory of adding
	resetPeakMemory()
	for _, v := range requests[:min(3, len(requests))] {
		if _, err := s.nearest(ctx, v, 10); err != nil {
			return err
		}
	}
	// Before times are taken, which runs without garbage collection.
	row.PeakMB = RoundTo(peakMB(), 0)
	m, err := s.time(ctx, requests, func(i int) (time.Duration, error) {
		_, q, err := s.owner.RequestVector(requests[i%len(requests)], s.params(10))
		if err != nil {
			return 0, err
		}
		begun := time.Now()
		_, err = s.cloud.Annotate(ctx, 0, []*cpar.Request{q})
		return time.Since(begun), err
	})
	if err != nil {
		return err
	}
	var size SealedCost
	size.sizes(s.manifest)
	row.Cloud, row.CloudAll, row.Encrypt, row.Read = m.cloud, m.beside, m.encrypt, m.read
	row.Request, row.Reply = m.request, m.reply
	row.Hints, row.Table, row.Index = size.Hints, size.Table, size.Index
	return nil
}
