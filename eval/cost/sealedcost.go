package cost

import (
	"context"
	"fmt"
	"math"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/vector"
	"cpar/user"
)

// A SealedCost is the cost of one index of scheme sealed. Times are medians in
// milliseconds on one core unless stated otherwise. SealedTargets compares the
// scheme with capia.
type SealedCost struct {
	Records int     `json:"n"`
	Build   float64 `json:"build_s"` // from raw features, on all cores
	PCA     float64 `json:"pca_s"`
	Cloud   float64 `json:"cloud_ms"`
	OwnerCost
	// Table is the size of the encrypted keywords, which are fetched once.
	Table uint64 `json:"table_bytes"`
	// Profile is the size of profile and ledger, which hardly grows with n.
	// Every scheme fetches them once.
	Profile uint64 `json:"profile_bytes"`
	Index   uint64 `json:"index_bytes"`
	// LocalIndex is the number of bytes that scheme local fetches. LocalScan is
	// the time of its scan on the device.
	LocalIndex uint64  `json:"local_index_bytes"`
	LocalScan  float64 `json:"local_scan_ms"`
	PeakMB     float64 `json:"peak_rss_mb"`
}

type OwnerCost struct {
	// Encrypt is the time to make a request from a vector.
	Encrypt float64 `json:"owner_request_ms"`
	// Read is the time to decrypt, check and rank all scores, on all cores.
	Read    float64 `json:"owner_read_ms"`
	Request int     `json:"request_bytes"`
	Reply   int     `json:"reply_bytes"`
	// Hints is the size of the data about the index that the owner needs to
	// decrypt scores. They are fetched once, and after an update only if new.
	Hints uint64 `json:"hints_bytes"`
}

const sealedRequests = 15

func MeasureSealedCost(ctx context.Context, l *measure.Lab, n int) (*SealedCost, error) {
	c, err := l.Collection(ctx, n)
	if err != nil {
		return nil, err
	}
	out := &SealedCost{Records: n}
	if err := out.local(ctx, c); err != nil {
		return nil, fmt.Errorf("scheme local: %w", err)
	}
	clock := measure.StageClock{Report: l.Progress, Spans: map[string]time.Duration{}}
	measure.ResetPeakMemory()
	begun := time.Now()
	s, _, err := measure.OpenSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeSealed, Progress: clock.Progress})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out.Build, out.PCA = measure.RoundTo(time.Since(begun).Seconds(), 2), measure.RoundTo(clock.Spans["pca"].Seconds(), 2)
	out.PeakMB = measure.RoundTo(measure.PeakMB(), 0)
	out.Index = s.Manifest.Bytes()
	out.Table = measure.SegmentBytes(s.Manifest, cpar.SegmentKeywords)
	out.Profile = measure.SegmentBytes(s.Manifest, cpar.SegmentLedger, cpar.SegmentProfile)
	m, err := s.Time(ctx, measure.VectorsOf(s.Owner, c, sealedRequests), nil)
	out.Cloud = m.Cloud
	out.OwnerCost = OwnerCost{m.Encrypt, m.Read, m.Request, m.Reply, measure.SegmentBytes(s.Manifest, cpar.SegmentHints)}
	return out, err
}

func (out *SealedCost) local(ctx context.Context, c *measure.Corpus) error {
	s, _, err := measure.OpenSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeLocal})
	if err != nil {
		return err
	}
	defer s.Close()
	out.LocalIndex = s.Manifest.Bytes()
	out.LocalScan, err = localScanMS(ctx, s, measure.VectorsOf(s.Owner, c, sealedRequests))
	return err
}

func localScanMS(ctx context.Context, s *measure.SealedSession, requests []*vector.Vector) (float64, error) {
	return measure.MedianMS(ctx, len(requests), func(i int) error {
		_, err := s.Nearest(ctx, requests[i%len(requests)], 10)
		return err
	})
}

// SealedGrowthSizes lists the numbers of records at which scheme sealed is
// measured with profile "paper".
var SealedGrowthSizes = []int{20000, 40000, 80000, 200000}

// MeasureSealedGrowth repeatedly adds the same photos, because costs depend on
// the number of records, not on their content.
func MeasureSealedGrowth(ctx context.Context, l *measure.Lab, sizes []int) ([]GrowthRow, error) {
	c, err := l.Collection(ctx, min(sizes[0], measure.DefaultN))
	if err != nil {
		return nil, err
	}
	s, _, err := measure.OpenSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeSealed, Progress: l.Progress})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return grow(ctx, s, c, sizes, len(c.Train), l.Progress)
}

// A TransferRow compares the bytes that an owner sends and receives in schemes
// sealed and local.
type TransferRow struct {
	Records  int     `json:"n"`
	Requests int     `json:"requests"`
	Sealed   float64 `json:"sealed_mb"`
	Local    float64 `json:"local_mb"`
	// SealedStored is the size of the profile, hints and keywords that a device
	// keeps in scheme sealed.
	SealedStored float64 `json:"sealed_stored_mb"`
	// LocalStored is the size of the whole index that a device keeps in scheme
	// local.
	LocalStored float64 `json:"local_stored_mb"`
}

type TransferSizes struct {
	Profile float64 // fetched once in every scheme
	Request float64
	Reply   float64 // per record
	Sealed  float64 // per record: hints and keywords, which scheme sealed fetches once
	Local   float64 // per record: vector and keywords, which scheme local fetches once
}

func LocalVectorBytes(dim int) float64 {
	return float64(cpar.LocalBlockBytes(uint32(dim))) / cpar.LocalBlockRecords
}

// once returns the bytes that each scheme fetches once for n records, and the
// bytes of one request and reply in scheme sealed.
func (h TransferSizes) once(n int) (sealed, local, each float64) {
	records := float64(n)
	return h.Profile + records*h.Sealed, h.Profile + records*h.Local, h.Request + records*h.Reply
}

func (h TransferSizes) Rows() (rows []TransferRow) {
	mb := func(bytes float64) float64 { return measure.RoundTo(bytes/1e6, 1) }
	for _, n := range []int{1000, 10000, 100000, 1000000} {
		sealed, local, each := h.once(n)
		for _, requests := range []int{1, 100, 10000} {
			rows = append(rows, TransferRow{Records: n, Requests: requests, Sealed: mb(sealed + float64(requests)*each), Local: mb(local),
				SealedStored: mb(sealed), LocalStored: mb(local)})
		}
	}
	return rows
}

// Crossing returns the smallest number of requests to an index of n records for
// which scheme local transfers fewer bytes than sealed.
func (h TransferSizes) Crossing(n int) int {
	sealed, local, each := h.once(n)
	return max(0, int(math.Floor((local-sealed)/each))+1)
}
