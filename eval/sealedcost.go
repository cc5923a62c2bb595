package eval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/model/vector"
	"cpar/user"
)

// A SealedCost is the cost of one index of scheme sealed beside one of capia over the
// same photos, measured in turn in one run. Times are medians in milliseconds, on one
// core unless stated otherwise.
type SealedCost struct {
	Records int     `json:"n"`
	Build   float64 `json:"build_s"` // from raw features, all cores
	PCA     float64 `json:"pca_s"`
	Cloud   float64 `json:"cloud_ms"`
	Capia   float64 `json:"capia_ms"`
	// OverCapia is Cloud over Capia.
	OverCapia float64 `json:"over_capia"`
	// Encrypt makes a request from a vector; Read decrypts and checks all scores and
	// ranks, on all cores.
	Encrypt float64 `json:"owner_request_ms"`
	Read    float64 `json:"owner_read_ms"`
	Request int     `json:"request_bytes"`
	Reply   int     `json:"reply_bytes"`
	// Hints and Table, the keywords, are fetched once, and what is new of them after an update.
	Hints uint64 `json:"hints_bytes"`
	Table uint64 `json:"table_bytes"`
	// Profile is also fetched once, in every scheme; it hardly grows with n.
	Profile    uint64 `json:"profile_bytes"`
	Index      uint64 `json:"index_bytes"`
	CapiaIndex uint64 `json:"capia_index_bytes"`
	// LocalIndex is all that scheme local fetches, LocalScan the time of its scan at home.
	LocalIndex uint64  `json:"local_index_bytes"`
	LocalScan  float64 `json:"local_scan_ms"`
	PeakMB     float64 `json:"peak_rss_mb"`
}

// sealedRequests is the number of requests behind a median.
const sealedRequests = 15

// MeasureSealedCost measures indexes of n images.
func MeasureSealedCost(ctx context.Context, l *Lab, n int) (*SealedCost, error) {
	c, err := l.Collection(ctx, n)
	if err != nil {
		return nil, err
	}
	out := &SealedCost{Records: n}
	if err := out.local(ctx, c); err != nil {
		return nil, fmt.Errorf("scheme local: %w", err)
	}
	capia, err := OpenSession(ctx, c, user.Options{Scheme: cpar.SchemeCAPIA, Progress: l.Progress})
	if err != nil {
		return nil, err
	}
	defer capia.Close()
	clock := stageClock{report: l.Progress, spans: map[string]time.Duration{}}
	resetPeakMemory()
	begun := time.Now()
	s, _, err := openSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeSealed, Progress: clock.progress})
	if err != nil {
		return nil, err
	}
	defer s.close()
	out.Build, out.PCA = RoundTo(time.Since(begun).Seconds(), 2), RoundTo(clock.spans["pca"].Seconds(), 2)
	out.PeakMB = RoundTo(peakMB(), 0)
	out.sizes(s.manifest)
	out.CapiaIndex = capia.Cloud.Manifest.Bytes()
	list, err := capia.prepare(ctx, searchConfigurations()[0].p, min(sealedRequests, len(capia.Requests)))
	if err != nil {
		return nil, err
	}
	m, err := s.time(ctx, vectorsOf(s.owner, c, sealedRequests), func(i int) (time.Duration, error) {
		begun := time.Now()
		_, err := search.Annotate(capia.Cloud, list[i%len(list)].request)
		return time.Since(begun), err
	})
	if err != nil {
		return nil, err
	}
	out.Cloud, out.Capia, out.Encrypt, out.Read = m.cloud, m.beside, m.encrypt, m.read
	out.Request, out.Reply = m.request, m.reply
	out.OverCapia = RoundTo(out.Cloud/out.Capia, 3)
	return out, nil
}

func (out *SealedCost) sizes(m *cpar.Manifest) {
	out.Index = m.Bytes()
	out.Hints, out.Table = segmentBytes(m, cpar.SegmentHints), segmentBytes(m, cpar.SegmentKeywords)
	out.Profile = segmentBytes(m, cpar.SegmentLedger, cpar.SegmentProfile)
}

// segmentBytes are those of all segments of some kinds.
func segmentBytes(m *cpar.Manifest, kinds ...cpar.SegmentKind) (n uint64) {
	for _, s := range m.Segments {
		if slices.Contains(kinds, s.Kind) {
			n += s.Bytes
		}
	}
	return n
}

// local measures the scan at home.
func (out *SealedCost) local(ctx context.Context, c *Corpus) error {
	s, _, err := openSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeLocal})
	if err != nil {
		return err
	}
	defer s.close()
	out.LocalIndex = s.manifest.Bytes()
	requests := vectorsOf(s.owner, c, sealedRequests)
	out.LocalScan, err = medianMS(ctx, len(requests), func(i int) error {
		_, err := s.nearest(ctx, requests[i%len(requests)], 10)
		return err
	})
	return err
}

// vectorsOf returns the vectors of some test images.
func vectorsOf(o *user.Owner, c *Corpus, n int) []*vector.Vector {
	var out []*vector.Vector
	for _, im := range c.Test[:min(n, len(c.Test))] {
		if v, err := o.Vector(im.Vectors); err == nil {
			out = append(out, v)
		}
	}
	return out
}

// sealedTimes are medians in milliseconds, and sizes.
type sealedTimes struct {
	cloud, beside, encrypt, read float64
	request, reply               int
}

// time answers requests one after the other, and after each calls beside, if not nil, to
// measure something else: a slow spell of the machine then affects both.
func (s *sealedSession) time(ctx context.Context, requests []*vector.Vector, beside func(i int) (time.Duration, error)) (m sealedTimes, err error) {
	var cloud, other, encrypt, read []float64
	err = withoutGC(func() error {
		for i := range len(requests) + 1 { // the first warms up
			begun := time.Now()
			lap := func(to *[]float64) {
				if i > 0 {
					*to = append(*to, time.Since(begun).Seconds()*1e3)
				}
				begun = time.Now()
			}
			pending, q, err := s.owner.RequestVector(requests[i%len(requests)], s.params(10))
			if err != nil {
				return err
			}
			lap(&encrypt)
			replies, err := s.cloud.Annotate(ctx, 1, []*cpar.Request{q})
			if err != nil {
				return err
			}
			lap(&cloud)
			if _, err := readReply(s.owner, pending, replies[0]); err != nil {
				return err
			}
			lap(&read)
			m.request, m.reply = len(q.Opaque), len(replies[0].Opaque)
			if beside != nil {
				took, err := beside(i)
				if err != nil {
					return err
				}
				other = append(other, took.Seconds()*1e3)
			}
		}
		return nil
	})
	m.cloud, m.encrypt, m.read = RoundTo(median(cloud), 3), RoundTo(median(encrypt), 3), RoundTo(median(read), 3)
	if beside != nil {
		m.beside = RoundTo(median(other), 3)
	}
	return m, err
}

// A SealedSize is one size of growth.
type SealedGrowthRow struct {
	Records int     `json:"n"`
	Cloud   float64 `json:"cloud_ms"`
	Encrypt float64 `json:"owner_request_ms"`
	Read    float64 `json:"owner_read_ms"`
	Request int     `json:"request_bytes"`
	Reply   int     `json:"reply_bytes"`
	Hints   uint64  `json:"hints_bytes"`
	Index   uint64  `json:"index_bytes"`
	// Add is the time in seconds for adding the records that the previous size lacked.
	Add float64 `json:"add_s,omitempty"`
	// PeakMB is for the process, which is both owner and cloud.
	PeakMB float64 `json:"peak_rss_mb"`
}

func (r SealedGrowthRow) size() int { return r.Records }

// SealedSizes are the sizes of the growth measurement.
var SealedGrowthSizes = []int{20000, 40000, 80000, 200000}

// MeasureSealedGrowth builds an index of the first size and keeps adding the same photos:
// the cost depends on the number of records, not on what they show.
func MeasureSealedGrowth(ctx context.Context, l *Lab, sizes []int) ([]SealedGrowthRow, error) {
	c, err := l.Collection(ctx, min(sizes[0], DefaultN))
	if err != nil {
		return nil, err
	}
	s, _, err := openSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeSealed, Progress: l.Progress})
	if err != nil {
		return nil, err
	}
	defer s.close()
	var out []SealedGrowthRow
	for i, n := range sizes {
		resetPeakMemory()
		row := SealedGrowthRow{Records: n}
		begun := time.Now()
		for at := int(s.manifest.Records); at < n; at = int(s.manifest.Records) {
			some := c.Train[:min(len(c.Train), n-at)]
			if _, err := user.Add(ctx, s.key, s.path(), some, l.Progress); err != nil {
				return nil, fmt.Errorf("adding to %d records: %w", at, err)
			}
			if err := s.open(); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			row.Add = RoundTo(time.Since(begun).Seconds(), 1)
		}
		m, err := s.time(ctx, vectorsOf(s.owner, c, 7), nil)
		if err != nil {
			return nil, fmt.Errorf("%d records: %w", n, err)
		}
		row.Cloud, row.Encrypt, row.Read, row.Request, row.Reply = m.cloud, m.encrypt, m.read, m.request, m.reply
		var size SealedCost
		size.sizes(s.manifest)
		row.Hints, row.Index = size.Hints, size.Index
		row.PeakMB = RoundTo(peakMB(), 0)
		out = append(out, row)
	}
	return out, nil
}

// fitSealed fits exponents to the growth.
func fitSealed(rows []SealedGrowthRow) (fits []Fit) {
	for _, part := range []struct {
		what string
		of   func(SealedGrowthRow) float64
	}{
		{"cloud", func(r SealedGrowthRow) float64 { return r.Cloud }},
		{"owner, reading", func(r SealedGrowthRow) float64 { return r.Read }},
		{"reply", func(r SealedGrowthRow) float64 { return float64(r.Reply) }},
		{"hints", func(r SealedGrowthRow) float64 { return float64(r.Hints) }},
		{"index", func(r SealedGrowthRow) float64 { return float64(r.Index) }},
	} {
		if f, ok := fitPower(rows, part.of); ok {
			f.What = part.what
			fits = append(fits, f)
		}
	}
	return fits
}
