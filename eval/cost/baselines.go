package cost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/f32"
	"cpar/internal/hint"
	"cpar/kdforest"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// Baselines compares other searches over the integers that scheme sealed
// encrypts. There are two sets of n photos: synthetic photos with 96 numbers
// each, and photos mixed from real ones with 1,344.
type Baselines struct {
	Rows []BaselineRow `json:"rows"`
	// Skipped lists the libraries that are missing, with the packages to
	// install.
	Skipped []string `json:"skipped"`
}

// A BaselineRow is the cost of one search. Times are per request on one core.
type BaselineRow struct {
	Search  string  `json:"search"`
	Dim     int     `json:"dim"`
	Records int     `json:"n"`
	Index   uint64  `json:"index_bytes"`
	Request int     `json:"request_bytes"`
	Reply   int     `json:"reply_bytes"`
	Cloud   float64 `json:"cloud_ms"`
	// Owner is the time to make a request and read the reply.
	Owner float64 `json:"owner_ms"`
	// Recall is the share found of the ten nearest records. These are nearest
	// by score for sealed, and by squared L2 for plaintext searches.
	Recall float64 `json:"recall_at_10"`
	Leaks  string  `json:"cloud_learns"`
}

const (
	peerRequests = 50
	bgvRequests  = 3
	peerNear     = 10
	inTheClear   = "everything"
)

func MeasureBaselines(ctx context.Context, l *measure.Lab, n int) (*Baselines, error) {
	c, err := l.Corpus(ctx)
	if err != nil {
		return nil, err
	}
	out := &Baselines{Skipped: []string{}}
	_, short, err := syntheticProfile(ctx, n, l.Progress)
	if err != nil {
		return nil, fmt.Errorf("fitting a profile to synthetic photos: %w", err)
	}
	made := syntheticPhotos(n + peerRequests)
	if err := out.measure(ctx, &measure.Corpus{Train: made[:n], Test: made[n:]}, short, l.Progress); err != nil {
		return nil, fmt.Errorf("synthetic photos: %w", err)
	}
	some := c.Train[:min(len(c.Train), growthBase)]
	long, err := profile.Fit(ctx, profile.Paper, measure.FeaturesOf(some), measure.Keywords(some), profile.Options{Progress: l.Progress})
	if err != nil {
		return nil, err
	}
	mixed, err := c.Mixed(ctx, n, l.Progress)
	if err != nil {
		return nil, err
	}
	mixed.Test = c.Test[:min(len(c.Test), peerRequests)]
	if err := out.measure(ctx, mixed, long, l.Progress); err != nil {
		return nil, fmt.Errorf("profile paper: %w", err)
	}
	return out, nil
}

type baselineRun struct {
	*measure.Integers
	out     *Baselines
	session *measure.SealedSession
	vectors []*vector.Vector
	truth   [][]uint32 // nearest records of every request by score
	table   *vectorTable
}

func (out *Baselines) measure(ctx context.Context, c *measure.Corpus, fit *profile.Fitted, progress user.Progress) error {
	// Use one cell (a hidden cluster), so that the search scores all records.
	s, b, err := measure.OpenSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Cells: 1, Progress: progress})
	if err != nil {
		return err
	}
	defer s.Close()
	p := &baselineRun{out: out, session: s, vectors: measure.VectorsOf(s.Owner, c, peerRequests)}
	if err := p.prepare(b, len(c.Train)); err != nil {
		return err
	}
	stages := []func(context.Context) error{p.sealed, p.bgv, p.scan, p.flann, p.hnsw, p.faiss}
	for i, stage := range stages {
		progress.Report("peers", i, len(stages))
		err := stage(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !out.skip(err) {
			return err
		}
	}
	return nil
}

// skip reports whether err is due to a missing library. If so, it adds the
// library to Skipped.
func (out *Baselines) skip(err error) bool {
	advice := hint.Of(err)
	if advice == "" || !errors.Is(err, cpar.ErrInput) {
		return false
	}
	if said := fmt.Sprintf("%v; %s", err, advice); !slices.Contains(out.Skipped, said) {
		out.Skipped = append(out.Skipped, said)
	}
	return true
}

func (p *baselineRun) prepare(b *user.Builder, n int) (err error) {
	if p.Integers, err = measure.IntegersOf(b, n, p.vectors); err != nil {
		return err
	}
	p.table = &vectorTable{name: "sealed", d: int(p.session.Manifest.Dim)}
	p.table.records = measure.Map(p.Rows, func(row []int16) []float32 { return measure.Floats(row, 1) })
	p.table.requests = measure.Map(p.Requests, func(u []int16) []float32 { return measure.Floats(u, -1) })
	p.truth = measure.Map(p.Scores, nearestScores)
	p.table.setTruth(min(peerNear, n))
	return nil
}

func (p *baselineRun) add(r BaselineRow) {
	r.Dim, r.Records = p.table.d, len(p.Rows)
	if r.Leaks == "" {
		r.Leaks, r.Request, r.Reply = inTheClear, 4*r.Dim, 8*peerNear // a request sends float32 numbers, and a reply returns records with distances
	}
	r.Cloud, r.Owner, r.Recall = measure.RoundTo(r.Cloud, 4), measure.RoundTo(r.Owner, 3), measure.RoundTo(r.Recall, 3)
	p.out.Rows = append(p.out.Rows, r)
}

// nearestScores returns the ten records with the smallest scores. If scores are
// equal, it prefers the lower record number.
func nearestScores(scores []int64) []uint32 {
	queue := kdforest.NewQueue(peerNear)
	for record, score := range scores {
		queue.Push(kdforest.Hit{Record: uint32(record), Score: score})
	}
	return hitRecords(queue.Hits())
}

func hitRecords(hits []kdforest.Hit) []uint32 {
	return measure.Map(hits, func(hit kdforest.Hit) uint32 { return hit.Record })
}

func (p *baselineRun) sealed(ctx context.Context) error {
	r := BaselineRow{Search: "sealed", Index: p.session.Manifest.Bytes(), Leaks: "nothing; lies are noticed"}
	near := make([][]rank.Neighbour, len(p.vectors))
	for i, v := range p.vectors {
		var err error
		if near[i], err = p.session.Nearest(ctx, v, peerNear); err != nil {
			return err
		}
	}
	r.Recall = measure.RecallAt10(measure.TopRecords(near), p.truth)
	times, err := p.session.Time(ctx, p.vectors[:min(sealedRequests, len(p.vectors))], nil)
	r.Request, r.Reply, r.Cloud, r.Owner = times.Request, times.Reply, times.Cloud, times.Encrypt+times.Read
	p.add(r)
	return err
}

// scan measures a plaintext scan with the kernel of the image networks.
func (p *baselineRun) scan(ctx context.Context) error {
	d := p.table.d
	memory, halves := make([]float32, 0, d*len(p.Rows)), make([]float32, len(p.Rows))
	for i, row := range p.table.records {
		memory, halves[i] = append(memory, row...), f32.Dot(row, row)/2
	}
	// ‖x − y‖²/2 = ‖x‖²/2 − ⟨x, y⟩ + ‖y‖²/2 for a record x and request y. The
	// last term is the same for all records.
	found := make([][]uint32, len(p.table.requests))
	ms, err := measure.MedianMS(ctx, len(found), func(i int) error {
		y := p.table.requests[i%len(found)]
		queue := kdforest.NewQueue(peerNear)
		for j, half := range halves {
			queue.Push(kdforest.Hit{Record: uint32(j), Score: int64(2*half - 2*f32.Dot(memory[j*d:(j+1)*d], y))})
		}
		found[i%len(found)] = hitRecords(queue.Hits())
		return nil
	})
	if err != nil {
		return err
	}
	p.add(BaselineRow{Search: "scan of float32, Go", Index: uint64(4*len(memory) + 4*len(halves)), Cloud: ms, Recall: measure.RecallAt10(found, p.table.truth)})
	return nil
}

// flann measures a scan, and a search of a tenth of the records that is several
// times faster.
func (p *baselineRun) flann(ctx context.Context) error {
	checks := max(peerNear, len(p.Rows)/10)
	return p.library(ctx, flannLibrary, flannArguments(flannTrees, 1, []int{checks, peerScan}), map[string]string{
		"kdtree": "FLANN, kd-forest, a tenth visited", "scan": "FLANN, scan"})
}

func (p *baselineRun) hnsw(ctx context.Context) error {
	return p.library(ctx, hnswLibrary, []string{"50", "200"}, map[string]string{"hnsw": "hnswlib, ef %d"})
}

func (p *baselineRun) faiss(ctx context.Context) error {
	lists := max(1, len(p.Rows)/150)
	return p.library(ctx, faissLibrary, []string{strconv.Itoa(lists), strconv.Itoa(max(1, lists/10))}, map[string]string{
		"flat": "faiss, scan", "ivf": "faiss, inverted file, a tenth of the lists"})
}

// library measures a third-party library. `names` maps the driver's searches to
// names of rows.
func (p *baselineRun) library(ctx context.Context, l library, arguments []string, names map[string]string) error {
	peer, err := compileDriver(ctx, l)
	if err != nil {
		return err
	}
	defer peer.close()
	return peer.run(ctx, p.table, arguments, func(line driverLine) {
		name := names[line.Search]
		if strings.Contains(name, "%") {
			name = fmt.Sprintf(name, line.Checks)
		}
		p.add(BaselineRow{Search: name, Index: uint64(line.Bytes), Cloud: 1e3 * line.Seconds, Recall: line.Recall})
	})
}

func (p *baselineRun) bgv(ctx context.Context) error {
	x, err := newBGV(p.Rows, p.Addends)
	if err != nil {
		return err
	}
	r := BaselineRow{Search: "BGV of lattigo, ciphertext × ciphertext", Index: x.bytes(), Leaks: "nothing; lies are not noticed"}
	n := min(bgvRequests, len(p.Requests))
	found := make([][]uint32, n)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		begun := time.Now()
		request, err := x.request(p.Requests[i])
		if err != nil {
			return err
		}
		asked := time.Now()
		reply, err := x.answer(request)
		if err != nil {
			return err
		}
		answered := time.Now()
		scores, err := x.read(reply)
		if err != nil {
			return err
		}
		r.Owner += 1e3 * (asked.Sub(begun) + time.Since(answered)).Seconds() / float64(n)
		r.Cloud += 1e3 * answered.Sub(asked).Seconds() / float64(n)
		r.Request, r.Reply = bytesOfAll(request), bytesOfAll(reply)
		found[i] = nearestScores(scores)
	}
	r.Recall = measure.RecallAt10(found, p.truth[:n])
	p.add(r)
	return nil
}

func (p *Baselines) Tables() []measure.Table {
	t := measure.Table{Name: "peers", Title: "Other searches beside sealed, one request on one core; recall of the ten nearest by the exact values that each compares",
		Columns: []string{"search", "numbers", "records", "index MB", "request kB", "reply kB", "cloud ms", "owner ms", "recall@10", "the cloud learns"}}
	for _, r := range p.Rows {
		t.Rows = append(t.Rows, []string{r.Search, measure.FormatInt(r.Dim), measure.FormatInt(r.Records), measure.FormatDecimal(float64(r.Index)/1e6, 1), measure.FormatDecimal(float64(r.Request)/1e3, 2), measure.FormatDecimal(float64(r.Reply)/1e3, 2),
			measure.FormatDecimal(r.Cloud, 3), measure.FormatNonZero(r.Owner, 2), measure.FormatDecimal(r.Recall, 3), r.Leaks})
	}
	if len(p.Skipped) == 0 {
		return []measure.Table{t}
	}
	left := measure.Table{Name: "peers-skipped", Title: "Left out", Columns: []string{"why"}}
	for _, why := range p.Skipped {
		left.Rows = append(left.Rows, []string{why})
	}
	return []measure.Table{t, left}
}
