package eval

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/internal/lattice"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/user"
)

// Promises is what scheme sealed costs at the sizes that promises are made for: a million
// records of 96 numbers in hidden clusters, 20,000 of profile paper beside capia and a
// plain read, and one photo added to 100,000.
//
//	made records  ─▶ Setup, Encrypt, Request, Annotate, Neighbours ─▶ bytes, times
//	real photos   ─▶ the same number of clusters, in the clear     ─▶ recall, words
type SealedTargets struct {
	Million LargeIndex  `json:"million"`
	Paper   ScanCost `json:"paper20k"`
	Update  Added    `json:"update100k"`
}

// Million describes a large index of made records. Sent and Received count the bytes of one request and of its reply.
type LargeIndex struct {
	Sent     int `json:"sent"`
	Received int `json:"received"`
	// Kept is all that a device keeps: hints, keywords, cells, profile and ledger.
	Kept uint64 `json:"kept"`
	// Recall is the share of the ten nearest that the cluster asked has, relative to one
	// cluster of the same integers. Words are the human keywords found, of those that are
	// found where all records are scored. Both are of real photos, and means of clusterSeeds divisions.
	Recall float64 `json:"recall_at_10"`
	KeywordShare  float64 `json:"words_of_full"`
	// Owner is the time of making a request and reading its reply, on all cores; Cloud is
	// on one core.
	Owner float64 `json:"owner_ms"`
	Cloud float64 `json:"cloud_ms"`

	Records  int     `json:"n"`
	Dim      int     `json:"dim"`
	CellCount int     `json:"clusters"`
	Copies   float64 `json:"copies"`
	Hints    uint64  `json:"hints"`
	Keywords uint64  `json:"keywords"`
	Cells    uint64  `json:"cells"`
	// Profile has the profile and the ledger.
	Profile     uint64  `json:"profile"`
	Request     float64 `json:"owner_request_ms"`
	Read        float64 `json:"owner_read_ms"`
	CloudAll    float64 `json:"cloud_all_cores_ms"`
	Photos      int     `json:"photos"` // real ones, behind Recall and Words
	PhotosOf    string  `json:"photos_profile"`
	LeastRecall float64 `json:"least_recall_at_10"`
}

// A ScanCost is one request on one core, by three scans that take turns.
type ScanCost struct {
	Sealed int64 `json:"sealed_ns"`
	Capia  int64 `json:"capia_ns"`
	// Read is a plain read of the bytes that sealed reads.
	Read    int64 `json:"read_ns"`
	Records int   `json:"n"`
}

// Added is what one more photo costs in bytes: what is sent to the cloud, and what
// another device fetches that has the state before. It is the most of addedInTurn.
type Added struct {
	Pushed    uint64 `json:"pushed"`
	Refetched uint64 `json:"refetched"`
	Records   int    `json:"n"`
}

const (
	scanRounds  = 41
	addedInTurn = 2
)

// A SizePlan is what Promises are measured at. Clusters are those of the large index, 0 for as
// many as the program chooses.
type TargetSizes struct{ Million, Paper, Update, Clusters int }

// promised are the sizes that promises are made for.
var defaultTargets = TargetSizes{Million: 1_000_000, Paper: DefaultN, Update: 100_000}

// promisesStep measures the promised sizes, or small ones if N is small.
func sealedTargetsStep(ctx context.Context, r *Run, m Measurement) (Result, error) {
	network, err := r.inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	plan := defaultTargets
	if r.N < plan.Paper {
		n := max(r.N, 100) // fewer photos are too few to learn from
		plan = TargetSizes{Million: 4 * n, Paper: n, Update: 2 * n, Clusters: 8}
	}
	s, err := RunStep(ctx, r, m.Name, []any{plan, network}, func(ctx context.Context) (*SealedTargets, error) { return MeasureSealedTargets(ctx, r.Lab, plan) })
	if err != nil {
		return nil, err
	}
	return s, nil
}

// MeasurePromises measures what the plan says.
func MeasureSealedTargets(ctx context.Context, l *Lab, plan TargetSizes) (*SealedTargets, error) {
	c, err := l.Corpus(ctx)
	if err != nil {
		return nil, err
	}
	out := new(SealedTargets)
	made, fit, err := syntheticProfile(ctx, plan.Paper, l.Progress)
	if err != nil {
		return nil, fmt.Errorf("fitting a profile to made photos: %w", err)
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
		return nil, fmt.Errorf("what clusters of real photos find: %w", err)
	}
	return out, nil
}

// madeDim is the dimension of made records: the longest that cross-validation chooses from.
const syntheticDim = 96

// madeProfile fits profile network to made photos, so many at most. Whether it takes 64 or 96
// numbers for them is a toss: of several collections the first with 96 is taken. A test has
// few photos, and any profile will do.
func syntheticProfile(ctx context.Context, most int, progress user.Progress) (made []user.Photo, fit *profile.Fitted, err error) {
	for _, n := range []int{900, 1200, 600, 2000} {
		n = max(100, min(most, n)) // fewer are too few to learn from
		made = syntheticPhotos(n)
		fit, err = profile.Fit(ctx, profile.Network, featuresOf(made), Keywords(made), profile.Options{Progress: progress})
		if err != nil || fit.Profile.Dimensions() == syntheticDim || n == max(100, most) {
			return made, fit, err
		}
	}
	return nil, nil, fmt.Errorf("%w: none of the profiles has %d numbers", cpar.ErrInput, syntheticDim)
}

// repeated are n images that show what a few photos show, with contents of their own.
func repeatPhotos(photos []user.Photo, n int) []user.Photo {
	out := make([]user.Photo, n)
	for i := range out {
		out[i] = photos[i%len(photos)]
		binary.LittleEndian.PutUint64(out[i].Content[:], uint64(i)+1)
	}
	return out
}

func featuresOf(images []user.Photo) []*feature.Vectors {
	out := make([]*feature.Vectors, len(images))
	for i, im := range images {
		out[i] = im.Vectors
	}
	return out
}

// find measures what as many clusters of real photos find.
func (m *LargeIndex) find(ctx context.Context, c *Corpus, progress user.Progress) error {
	r, err := newCellRun(ctx, c, progress)
	if err != nil {
		return err
	}
	m.Photos, m.PhotosOf = len(c.Train), r.owner.Profile().Kind().String()
	row, err := r.row(ctx, m.CellCount, m.Copies)
	m.Recall, m.LeastRecall, m.KeywordShare = row.Recall, row.MinRecall, row.KeywordShare
	return err
}

// measure builds an index of made records as cpar build does, and asks it.
func (m *LargeIndex) measure(ctx context.Context, made []user.Photo, fit *profile.Fitted, plan TargetSizes, progress user.Progress) error {
	m.Records = plan.Million
	s, _, err := openSealed(ctx, repeatPhotos(made, m.Records), user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Cells: plan.Clusters, Progress: progress})
	if err != nil {
		return err
	}
	defer s.close()
	parts, err := lattice.DecodeSections(s.files.Segment(cpar.SegmentParams))
	if err != nil {
		return err
	}
	if parts.Clustered == nil {
		return fmt.Errorf("%w: an index without clusters", cpar.ErrInput)
	}
	m.Dim, m.CellCount = int(s.manifest.Dim), parts.Clustered.Slots()
	m.Copies = RoundTo(float64(parts.Rows()*m.CellCount)/float64(m.Records), 3)
	m.Hints, m.Keywords = segmentBytes(s.manifest, cpar.SegmentHints), segmentBytes(s.manifest, cpar.SegmentKeywords)
	m.Cells, m.Profile = segmentBytes(s.manifest, cpar.SegmentCells), segmentBytes(s.manifest, cpar.SegmentProfile, cpar.SegmentLedger)
	m.Kept = m.Hints + m.Keywords + m.Cells + m.Profile
	requests := vectorsOf(s.owner, &Corpus{Test: made}, sealedRequests)
	times, err := s.time(ctx, requests, func(i int) (time.Duration, error) {
		progress.Report("requests", i, len(requests))
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		_, q, err := s.owner.RequestVector(requests[i%len(requests)], s.params(10))
		if err != nil {
			return 0, err
		}
		begun := time.Now()
		_, err = s.cloud.Annotate(ctx, 0, []*cpar.Request{q})
		return time.Since(begun), err
	})
	m.Sent, m.Received, m.Cloud, m.CloudAll = times.request, times.reply, times.cloud, times.beside
	m.Request, m.Read, m.Owner = times.encrypt, times.read, RoundTo(times.encrypt+times.read, 3)
	return err
}

// measure has an index of sealed and one of capia over the same photos answer in turn,
// and reads the memory of the first.
func (out *ScanCost) measure(ctx context.Context, c *Corpus, plan TargetSizes, progress user.Progress) error {
	out.Records = plan.Paper
	some := c.Train[:min(len(c.Train), growthBase)]
	fit, err := profile.Fit(ctx, profile.Paper, featuresOf(some), Keywords(some), profile.Options{Progress: progress})
	if err != nil {
		return err
	}
	photos := &Corpus{Train: repeatPhotos(some, out.Records), Test: c.Test[:min(len(c.Test), scanRounds)]}
	capia, err := OpenSession(ctx, photos, user.Options{Scheme: cpar.SchemeCAPIA, Fitted: fit, Progress: progress})
	if err != nil {
		return err
	}
	defer capia.Close()
	s, _, err := openSealed(ctx, photos.Train, user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Progress: progress})
	if err != nil {
		return err
	}
	defer s.close()
	list, err := capia.prepare(ctx, searchConfigurations()[0].p, len(photos.Test))
	if err != nil {
		return err
	}
	requests := make([]*cpar.Request, len(list))
	for i, v := range vectorsOf(s.owner, photos, len(list)) {
		if _, requests[i], err = s.owner.RequestVector(v, s.params(10)); err != nil {
			return err
		}
	}
	var sealed, other []int64
	var read [2][]int64
	bytes, memory := segmentBytes(s.manifest, cpar.SegmentVectors), newStream(s.files)
	err = withoutGC(func() error {
		for round := range scanRounds + 1 { // round 0 warms up
			progress.Report("scans", round, scanRounds)
			if err := ctx.Err(); err != nil {
				return err
			}
			i, begun := round%len(list), time.Now()
			if _, err := s.cloud.Annotate(ctx, 1, requests[i:i+1]); err != nil {
				return err
			}
			sealed = append(sealed, time.Since(begun).Nanoseconds())
			begun = time.Now()
			if _, err := search.Annotate(capia.Cloud, list[i].request); err != nil {
				return err
			}
			other = append(other, time.Since(begun).Nanoseconds())
			memory.readTwice(bytes, &read)
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.Sealed, out.Capia, out.Read = median(sealed[1:]), median(other[1:]), min(median(read[0][1:]), median(read[1][1:]))
	return nil
}

// measure adds single photos to an index as cpar add does.
func (out *Added) measure(ctx context.Context, made []user.Photo, fit *profile.Fitted, plan TargetSizes, progress user.Progress) error {
	out.Records = plan.Update
	s, _, err := openSealed(ctx, repeatPhotos(made, out.Records), user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Cells: plan.Clusters, Progress: progress})
	if err != nil {
		return err
	}
	defer s.close()
	for i := range addedInTurn {
		before := s.manifest
		if _, err := user.Add(ctx, s.key, s.path(), repeatPhotos(made, out.Records+i+1)[out.Records+i:], progress); err != nil {
			return err
		}
		if err := s.open(); err != nil {
			return err
		}
		pushed, fetched, err := s.since(before)
		if err != nil {
			return err
		}
		out.Pushed, out.Refetched = max(out.Pushed, pushed), max(out.Refetched, fetched)
	}
	return nil
}

// since is how many bytes the cloud lacks of an index that it has in the state before, and
// how many another device does: manifests are sent whole, and of segments what is new.
func (s *sealedSession) since(before *cpar.Manifest) (pushed, fetched uint64, err error) {
	b, err := s.manifest.MarshalBinary()
	if err != nil {
		return 0, 0, err
	}
	pushed, fetched = uint64(len(b)), uint64(len(b))
	needs := s.owner.Needs(s.manifest)
	for _, x := range s.manifest.Segments {
		if slices.Contains(before.Segments, x) {
			continue
		}
		pushed += x.Bytes
		if x.Kind == cpar.SegmentLedger || x.Kind == cpar.SegmentProfile || slices.Contains(needs, x) {
			fetched += x.Bytes
		}
	}
	return pushed, fetched, nil
}

// Tables implements Result.
func (s *SealedTargets) Tables() []Table {
	m := s.Million
	t := Table{Name: "sealed-size", Title: fmt.Sprintf("Scheme sealed at the sizes that promises are made for: %s made records of %d numbers in %d clusters, %s places each; what is found is of %s real photos, profile %s",
		FormatThousands(m.Records), m.Dim, m.CellCount, FormatDecimal(m.Copies, 2), FormatThousands(m.Photos), m.PhotosOf), Columns: []string{"what", "value", "unit", "promised"}}
	megabytes := func(n uint64) string { return FormatDecimal(float64(n)/1e6, 2) }
	row := func(what, value, unit, promised string) {
		t.Rows = append(t.Rows, []string{what, value, unit, promised})
	}
	row("request", FormatDecimal(float64(m.Sent)/1e3, 0), "kB", "")
	row("reply", FormatDecimal(float64(m.Received)/1e3, 0), "kB", "")
	row("both", FormatDecimal(float64(m.Sent+m.Received)/1e6, 3), "MB", "1.6 at most")
	row("hints, kept", megabytes(m.Hints), "MB", "")
	row("keywords, kept", megabytes(m.Keywords), "MB", "")
	row("cells, kept", megabytes(m.Cells), "MB", "")
	row("profile and ledger, kept", megabytes(m.Profile), "MB", "")
	row("all that is kept", megabytes(m.Kept), "MB", "48 at most")
	row("of the ten nearest, found", FormatDecimal(m.Recall, 3), "", "0.85 at least")
	row("the same in the worst division", FormatDecimal(m.LeastRecall, 3), "", "")
	row("human keywords found, of the full scan's", FormatDecimal(100*m.KeywordShare, 1), "%", "98 at least")
	row("owner: a request, all cores", FormatDecimal(m.Request, 1), "ms", "")
	row("owner: reading and checking the reply, all cores", FormatDecimal(m.Read, 1), "ms", "")
	row("owner, both", FormatDecimal(m.Owner, 1), "ms", "80 at most")
	row("cloud, one core", FormatDecimal(m.Cloud, 1), "ms", "")
	row("cloud, all cores", FormatDecimal(m.CloudAll, 1), "ms", "")
	p := s.Paper
	row(fmt.Sprintf("sealed, %s records of profile paper, one core", FormatThousands(p.Records)), FormatDecimal(float64(p.Sealed)/1e6, 2), "ms", "")
	row("capia in turn with it", FormatDecimal(float64(p.Capia)/1e6, 2), "ms", "")
	row("a plain read of the bytes of sealed", FormatDecimal(float64(p.Read)/1e6, 2), "ms", "")
	row("sealed over capia", FormatDecimal(float64(p.Sealed)/float64(p.Capia), 2), "", "1.1 at most with IFMA, 1.5 with AVX2")
	u := s.Update
	row(fmt.Sprintf("one photo added to %s: sent", FormatThousands(u.Records)), FormatDecimal(float64(u.Pushed)/1e3, 1), "kB", "131.1 at most")
	row("fetched by another device", FormatDecimal(float64(u.Refetched)/1e3, 1), "kB", "131.1 at most")
	return []Table{t}
}
