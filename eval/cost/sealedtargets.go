package cost

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/eval/measure"
	"cpar/internal/lattice"
	"cpar/model/profile"
	"cpar/user"
)

// SealedTargets holds the cost of scheme sealed at the sizes of its documented
// targets: a million records of 96 numbers in cells (hidden clusters of
// records), 20,000 records of profile "paper" compared with scheme capia and a
// plain read, and one photo added to 100,000 records.
//
//	synthetic records ─▶ Setup, Encrypt, Request, Annotate, Neighbours ─▶ bytes, times
//	real photos       ─▶ the same number of cells, in plaintext ─▶ recall, keywords
type SealedTargets struct {
	Million LargeIndex `json:"million"`
	Paper   ScanCost   `json:"paper20k"`
	Update  Added      `json:"update100k"`
}

// A LargeIndex is the cost of a large index of synthetic records. Sent and
// Received are the bytes of one request and its reply.
type LargeIndex struct {
	Sent     int `json:"sent"`
	Received int `json:"received"`
	// Kept is the number of bytes that a device stores: hints, keywords, cells,
	// profile and ledger.
	Kept uint64 `json:"kept"`
	// Recall is the share of the ten nearest records that a search of one cell
	// finds. It is a mean over partitions of real photos.
	Recall float64 `json:"recall_at_10"`
	// KeywordShare is the number of human keywords found, divided by the number
	// that a search of all records finds.
	KeywordShare float64 `json:"words_of_full"`
	// Owner is the time to make a request and read its reply, on all cores.
	// Cloud is the server's time on one core.
	Owner float64 `json:"owner_ms"`
	Cloud float64 `json:"cloud_ms"`

	Records   int     `json:"n"`
	Dim       int     `json:"dim"`
	CellCount int     `json:"clusters"`
	Copies    float64 `json:"copies"`
	Hints     uint64  `json:"hints"`
	Keywords  uint64  `json:"keywords"`
	Cells     uint64  `json:"cells"`
	// Profile is the size of the profile and the ledger.
	Profile     uint64  `json:"profile"`
	Request     float64 `json:"owner_request_ms"`
	Read        float64 `json:"owner_read_ms"`
	CloudAll    float64 `json:"cloud_all_cores_ms"`
	Photos      int     `json:"photos"` // number of real photos behind Recall and KeywordShare
	PhotosOf    string  `json:"photos_profile"`
	LeastRecall float64 `json:"least_recall_at_10"`
}

// A ScanCost is the time of one request on one core in three scans. The scans
// take turns.
type ScanCost struct {
	Sealed int64 `json:"sealed_ns"`
	Capia  int64 `json:"capia_ns"`
	// Read is the time of a plain read of the bytes that sealed reads.
	Read    int64 `json:"read_ns"`
	Records int   `json:"n"`
}

// Added is the cost of adding one photo. Each value is the maximum over
// addedInTurn photos.
type Added struct {
	// Pushed is the number of bytes sent to the server.
	Pushed uint64 `json:"pushed"`
	// Refetched is the number of bytes that a device with the previous
	// generation (version) fetches.
	Refetched uint64 `json:"refetched"`
	Records   int    `json:"n"`
}

const (
	scanRounds  = 41
	addedInTurn = 2
)

// TargetSizes holds the numbers of records that are measured. Clusters is the
// number of cells of the large index, or 0 to let the program choose it.
type TargetSizes struct{ Million, Paper, Update, Clusters int }

var defaultTargets = TargetSizes{Million: 1_000_000, Paper: measure.DefaultN, Update: 100_000}

// SealedTargetsStep measures the target sizes, or small sizes if N is small.
func SealedTargetsStep(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	network, err := r.Inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	plan := defaultTargets
	if r.N < plan.Paper {
		n := max(r.N, 100) // learning needs 100 photos
		plan = TargetSizes{Million: 4 * n, Paper: n, Update: 2 * n, Clusters: 8}
	}
	return measure.OneStep(ctx, r, m.Name, []any{plan, network}, func(ctx context.Context) (*SealedTargets, error) {
		return MeasureSealedTargets(ctx, r.Lab, plan)
	})
}

func MeasureSealedTargets(ctx context.Context, l *measure.Lab, plan TargetSizes) (*SealedTargets, error) {
	c, err := l.Corpus(ctx)
	if err != nil {
		return nil, err
	}
	out := new(SealedTargets)
	made, fit, err := syntheticProfile(ctx, plan.Paper, l.Progress)
	if err != nil {
		return nil, fmt.Errorf("fitting a profile to synthetic photos: %w", err)
	}
	if err := out.Update.measure(ctx, made, fit, plan, l.Progress); err != nil {
		return nil, fmt.Errorf("adding a photo to %d: %w", plan.Update, err)
	}
	if err := out.Paper.measure(ctx, c, plan, l.Progress); err != nil {
		return nil, fmt.Errorf("%d records of profile paper: %w", plan.Paper, err)
	}
	if err := out.Million.measure(ctx, made, fit, plan, l.Progress); err != nil {
		return nil, fmt.Errorf("%d records: %w", plan.Million, err)
	}
	if err := out.Million.find(ctx, c, l.Progress); err != nil {
		return nil, fmt.Errorf("measuring clusters of real photos: %w", err)
	}
	return out, nil
}

// syntheticDim is the largest dimension that cross-validation of a profile
// considers.
const syntheticDim = 96

// syntheticProfile fits profile "network" to at most the given number of
// synthetic photos. It tries different numbers of photos until cross-validation
// chooses 96 dimensions rather than 64. Tests accept any dimension.
func syntheticProfile(ctx context.Context, most int, progress user.Progress) (made []user.Photo, fit *profile.Fitted, err error) {
	for _, n := range []int{900, 1200, 600, 2000} {
		n = max(100, min(most, n)) // learning needs 100 photos
		made = syntheticPhotos(n)
		fit, err = profile.Fit(ctx, profile.Network, measure.FeaturesOf(made), measure.Keywords(made), profile.Options{Progress: progress})
		if err != nil || fit.Profile.Dimensions() == syntheticDim || n == max(100, most) {
			return made, fit, err
		}
	}
	return nil, nil, fmt.Errorf("%w: none of the profiles has %d numbers", cpar.ErrInput, syntheticDim)
}

func repeatPhotos(photos []user.Photo, n int) []user.Photo {
	out := make([]user.Photo, n)
	for i := range out {
		out[i] = photos[i%len(photos)]
		binary.LittleEndian.PutUint64(out[i].Content[:], uint64(i)+1)
	}
	return out
}

// find measures recall on real photos, with the same number of cells.
func (m *LargeIndex) find(ctx context.Context, c *measure.Corpus, progress user.Progress) error {
	r, err := measure.NewCellRun(ctx, c, progress)
	if err != nil {
		return err
	}
	m.Photos, m.PhotosOf = len(c.Train), r.Owner.Profile().Kind().String()
	row, err := r.Row(ctx, m.CellCount, m.Copies)
	m.Recall, m.LeastRecall, m.KeywordShare = row.Recall, row.MinRecall, row.KeywordShare
	return err
}

func (m *LargeIndex) measure(ctx context.Context, made []user.Photo, fit *profile.Fitted, plan TargetSizes, progress user.Progress) error {
	m.Records = plan.Million
	s, _, err := measure.OpenSealed(ctx, repeatPhotos(made, m.Records), user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Cells: plan.Clusters, Progress: progress})
	if err != nil {
		return err
	}
	defer s.Close()
	parts, err := lattice.DecodeSections(s.Files.Segment(cpar.SegmentParams))
	if err != nil {
		return err
	}
	if parts.Clustered == nil {
		return fmt.Errorf("%w: an index without clusters", cpar.ErrInput)
	}
	m.Dim, m.CellCount = int(s.Manifest.Dim), parts.Clustered.Slots()
	m.Copies = measure.RoundTo(float64(parts.Rows()*m.CellCount)/float64(m.Records), 3)
	m.Hints, m.Keywords = measure.SegmentBytes(s.Manifest, cpar.SegmentHints), measure.SegmentBytes(s.Manifest, cpar.SegmentKeywords)
	m.Cells, m.Profile = measure.SegmentBytes(s.Manifest, cpar.SegmentCells), measure.SegmentBytes(s.Manifest, cpar.SegmentProfile, cpar.SegmentLedger)
	m.Kept = m.Hints + m.Keywords + m.Cells + m.Profile
	requests := measure.VectorsOf(s.Owner, &measure.Corpus{Test: made}, sealedRequests)
	times, err := s.Time(ctx, requests, func(i int) (time.Duration, error) {
		progress.Report("requests", i, len(requests))
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return onAllCores(ctx, s, requests[i%len(requests)])
	})
	m.Sent, m.Received, m.Cloud, m.CloudAll = times.Request, times.Reply, times.Cloud, times.Beside
	m.Request, m.Read, m.Owner = times.Encrypt, times.Read, measure.RoundTo(times.Encrypt+times.Read, 3)
	return err
}

// measure alternates requests to sealed, requests to capia over the same
// photos, and plain reads of the bytes that sealed reads.
func (out *ScanCost) measure(ctx context.Context, c *measure.Corpus, plan TargetSizes, progress user.Progress) error {
	out.Records = plan.Paper
	some := c.Train[:min(len(c.Train), growthBase)]
	fit, err := profile.Fit(ctx, profile.Paper, measure.FeaturesOf(some), measure.Keywords(some), profile.Options{Progress: progress})
	if err != nil {
		return err
	}
	photos := &measure.Corpus{Train: repeatPhotos(some, out.Records), Test: c.Test[:min(len(c.Test), scanRounds)]}
	capia, err := measure.OpenSession(ctx, photos, user.Options{Scheme: cpar.SchemeCAPIA, Fitted: fit, Progress: progress})
	if err != nil {
		return err
	}
	defer capia.Close()
	s, _, err := measure.OpenSealed(ctx, photos.Train, user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Progress: progress})
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := capia.Prepare(ctx, measure.SearchConfigurations()[0].P, len(photos.Test))
	if err != nil {
		return err
	}
	requests := measure.VectorsOf(s.Owner, photos, len(list))
	bytes, memory := measure.SegmentBytes(s.Manifest, cpar.SegmentVectors), measure.NewStream(s.Files)
	var read [2][]int64
	times, err := s.Time(ctx, slices.Repeat(requests, (scanRounds+len(requests)-1)/len(requests)), func(i int) (time.Duration, error) {
		progress.Report("scans", i, scanRounds)
		begun := time.Now()
		_, err := search.Annotate(capia.Cloud, list[i%len(list)].Request)
		took := time.Since(begun)
		memory.ReadTwice(bytes, &read)
		return took, errors.Join(err, ctx.Err())
	})
	out.Sealed, out.Capia, out.Read = int64(1e6*times.Cloud), int64(1e6*times.Beside), min(measure.Median(read[0]), measure.Median(read[1]))
	return err
}

func (out *Added) measure(ctx context.Context, made []user.Photo, fit *profile.Fitted, plan TargetSizes, progress user.Progress) error {
	out.Records = plan.Update
	s, _, err := measure.OpenSealed(ctx, repeatPhotos(made, out.Records), user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Cells: plan.Clusters, Progress: progress})
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range addedInTurn {
		before := s.Manifest
		if err := s.Add(ctx, repeatPhotos(made, out.Records+i+1)[out.Records+i:], progress); err != nil {
			return err
		}
		pushed, fetched, err := s.Since(before)
		if err != nil {
			return err
		}
		out.Pushed, out.Refetched = max(out.Pushed, pushed), max(out.Refetched, fetched)
	}
	return nil
}

func (s *SealedTargets) Tables() []measure.Table {
	m := s.Million
	t := measure.Table{Name: "sealed-size", Title: fmt.Sprintf("Scheme sealed at the sizes of its documented targets: %s synthetic records of %d numbers in %d clusters, %s places each; recall on %s real photos, profile %s",
		measure.FormatThousands(m.Records), m.Dim, m.CellCount, measure.FormatDecimal(m.Copies, 2), measure.FormatThousands(m.Photos), m.PhotosOf), Columns: []string{"what", "value", "unit", "promised"}}
	megabytes := func(n uint64) string { return measure.FormatDecimal(float64(n)/1e6, 2) }
	row := func(what, value, unit, promised string) {
		t.Rows = append(t.Rows, []string{what, value, unit, promised})
	}
	row("request", measure.FormatDecimal(float64(m.Sent)/1e3, 0), "kB", "")
	row("reply", measure.FormatDecimal(float64(m.Received)/1e3, 0), "kB", "")
	row("both", measure.FormatDecimal(float64(m.Sent+m.Received)/1e6, 3), "MB", "1.6 at most")
	row("hints, kept", megabytes(m.Hints), "MB", "")
	row("keywords, kept", megabytes(m.Keywords), "MB", "")
	row("cells, kept", megabytes(m.Cells), "MB", "")
	row("profile and ledger, kept", megabytes(m.Profile), "MB", "")
	row("all that is kept", megabytes(m.Kept), "MB", "48 at most")
	row("of the ten nearest, found", measure.FormatDecimal(m.Recall, 3), "", "0.85 at least")
	row("the same in the worst division", measure.FormatDecimal(m.LeastRecall, 3), "", "")
	row("human keywords found, of the full scan's", measure.FormatDecimal(100*m.KeywordShare, 1), "%", "98 at least")
	row("owner: a request, all cores", measure.FormatDecimal(m.Request, 1), "ms", "")
	row("owner: reading and checking the reply, all cores", measure.FormatDecimal(m.Read, 1), "ms", "")
	row("owner, both", measure.FormatDecimal(m.Owner, 1), "ms", "80 at most")
	row("cloud, one core", measure.FormatDecimal(m.Cloud, 1), "ms", "")
	row("cloud, all cores", measure.FormatDecimal(m.CloudAll, 1), "ms", "")
	p := s.Paper
	row(fmt.Sprintf("sealed, %s records of profile paper, one core", measure.FormatThousands(p.Records)), measure.FormatDecimal(float64(p.Sealed)/1e6, 2), "ms", "")
	row("capia in turn with it", measure.FormatDecimal(float64(p.Capia)/1e6, 2), "ms", "")
	row("a plain read of the bytes of sealed", measure.FormatDecimal(float64(p.Read)/1e6, 2), "ms", "")
	row("sealed over capia", measure.FormatDecimal(float64(p.Sealed)/float64(p.Capia), 2), "", "1.1 at most with IFMA, 1.5 with AVX2")
	u := s.Update
	row(fmt.Sprintf("one photo added to %s: sent", measure.FormatThousands(u.Records)), measure.FormatDecimal(float64(u.Pushed)/1e3, 1), "kB", "131.1 at most in the first 256 updates")
	row("fetched by another device", measure.FormatDecimal(float64(u.Refetched)/1e3, 1), "kB", "131.1 at most in the first 256 updates")
	return []measure.Table{t}
}
