// Package load measures a real cpard process on loopback under many concurrent
// clients. It checks that every answer equals, byte for byte, the answer to the
// same request on an idle cloud. It also decrypts a sample of the answers.
//
//	collection ─▶ indexes of 4,500 and 20,000 records, of three schemes ─▶ a pool of requests each
//	pool ─▶ 1 to 1,000 connections, for some seconds ─▶ a Row
//
// Each index has its own data folder and process, so that the memory in a row
// is the memory for one index. The cloud's cost does not depend on photo
// contents. If an index needs more records than the collection has photos, each
// further record is therefore made from the features of two photos
// (measure.Corpus.Mixed). All indexes share one fitted profile.
package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/bearer"
	"cpar/internal/progress"
	"cpar/model/profile"
	"cpar/user"
)

type Options struct {
	// Data is the folder of the collection. Cache is a folder for features, or
	// "" to keep none.
	Data, Cache string
	// Photos bounds the number of photos that are read and indexed. Further
	// records are made by mixing the features of these photos.
	Photos int
	// Cpard is the path of the program, or "" to build it.
	Cpard string
	// Records lists the indexes' numbers of records.
	Records []int
	Schemes []cpar.Scheme
	// Clients lists the numbers of connections.
	Clients []int
	// Length is the duration of a row.
	Length time.Duration
	// Fair adds two measurements at the first size: how one client of a tenant
	// fares beside many clients of another tenant, and how the cloud withstands
	// attacks.
	Fair     bool
	Done     func(Row)
	Progress progress.Func
}

var (
	DefaultRecords = []int{4500, 20000}
	DefaultSchemes = []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeCAPIA, cpar.SchemeSealed}
	DefaultClients = []int{1, 8, 64, 256, 1000}
)

const (
	DefaultLength = 20 * time.Second
	ShortLength   = 6 * time.Second
)

// DefaultPhotos and ShortPhotos are the numbers of photos in a full and a short
// measurement. Reading photos takes most of the time before the first row.
const (
	DefaultPhotos = 4500
	ShortPhotos   = 1000
)

const (
	MaxClients = 10_000
	MaxLength  = time.Hour
)

func (o Options) check() error {
	switch {
	case len(o.Records) == 0 || len(o.Schemes) == 0 || len(o.Clients) == 0:
		return fmt.Errorf("%w: no sizes, schemes or clients", cpar.ErrInput)
	case slices.Min(o.Records) < 1 || slices.Max(o.Records) > cpar.MaxRecords:
		return fmt.Errorf("%w: indexes of %v records; 1 to %d are possible", cpar.ErrInput, o.Records, cpar.MaxRecords)
	case slices.Min(o.Clients) < 1 || slices.Max(o.Clients) > MaxClients:
		return fmt.Errorf("%w: %v clients; 1 to %d are possible", cpar.ErrInput, o.Clients, MaxClients)
	case o.Photos < 1:
		return fmt.Errorf("%w: %d photos; at least 1 is needed", cpar.ErrInput, o.Photos)
	case o.Length < 100*time.Millisecond || o.Length > MaxLength:
		return fmt.Errorf("%w: %v a row; 100ms to %v are possible", cpar.ErrInput, o.Length, MaxLength)
	}
	for _, s := range o.Schemes {
		if !s.CloudSearches() {
			return fmt.Errorf("%w: no cloud searches an index of scheme %v", cpar.ErrInput, s)
		}
	}
	return nil
}

// A Row is the result for one index and one number of clients.
type Row struct {
	Scheme  string `json:"scheme"`
	Records int    `json:"records"`
	Clients int    `json:"clients"`
	// Rate is the number of complete and correct answers per second. P50 and
	// P99 are the median and 99th percentile of response times in milliseconds,
	// from the first byte sent to the last byte received.
	Rate float64 `json:"rate"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	// Errors counts wrong answers and failures. Shed counts refusals by an
	// overloaded cloud, after which the client waits as long as the cloud asks.
	Errors int `json:"errors"`
	Shed   int `json:"shed"`
	// RSS is the maximum anonymous memory of the cloud in 2²⁰ bytes, or 0 on
	// systems that do not report it.
	RSS   float64 `json:"rss_mb"`
	First error   `json:"-"`
}

// Load is the result of Measure. Requests in flight at the end of a row are not
// counted.
type Load struct {
	Rows    []Row         `json:"rows"`
	Fair    []FairnessRow `json:"-"`
	Attacks []AttackRow   `json:"-"`
	Machine string        `json:"-"`
	Seconds float64       `json:"-"`
	Photos  int           `json:"-"`
}

var ErrWrongAnswers = errors.New("answers were wrong or missing")

// Measure measures all rows. If some answers were wrong, it returns both the
// rows and ErrWrongAnswers.
func Measure(ctx context.Context, o Options) (*Load, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "cpar-load-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the cloud: %w: %w", cpar.ErrStorage, err)
	}
	defer os.RemoveAll(work)
	if o.Cpard == "" {
		if o.Cpard, err = Build(ctx, work, "cpard"); err != nil {
			return nil, err
		}
	}
	out := &Load{Machine: measure.Machine(), Seconds: o.Length.Seconds(), Photos: o.Photos}
	b := &builder{Options: o}
	photos, err := measure.LoadSample(ctx, o.Data, o.Cache, o.Photos, poolSize, o.Progress)
	if err != nil {
		return nil, err
	}
	for _, n := range o.Records {
		c, err := photos.Mixed(ctx, n, o.Progress)
		if err != nil {
			return nil, err
		}
		for _, scheme := range o.Schemes {
			rows, err := b.rows(ctx, c, scheme)
			if err != nil {
				return nil, fmt.Errorf("scheme %v, %d records: %w", scheme, n, err)
			}
			out.Rows = append(out.Rows, rows...)
		}
	}
	if o.Fair {
		if out.Fair, err = b.fair(ctx, photos); err != nil {
			return nil, err
		}
		if out.Attacks, err = b.attacks(ctx, work); err != nil {
			return nil, err
		}
	}
	return out, out.wrong()
}

func (l *Load) wrong() error {
	n := 0
	for _, r := range l.Rows {
		n += r.Errors
	}
	for _, f := range l.Fair {
		n += f.Errors
	}
	if n > 0 {
		return fmt.Errorf("%w: %d of them", ErrWrongAnswers, n)
	}
	return nil
}

type builder struct {
	Options
	fitted *profile.Fitted
}

func (b *builder) rows(ctx context.Context, c *measure.Corpus, scheme cpar.Scheme) ([]Row, error) {
	x, err := b.build(ctx, c, scheme)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	d, err := start(ctx, b.Cpard, x.Folder)
	if err != nil {
		return nil, err
	}
	defer d.stop()
	if err := x.push(ctx, d, bearer.Token{}); err != nil {
		return nil, err
	}
	if err := x.recordAnswers(ctx, d, bearer.Token{}); err != nil {
		return nil, err
	}
	var out []Row
	for _, n := range b.Clients {
		t, err := x.ask(ctx, d, b.Length, clientGroup{clients: n})
		if err != nil {
			return nil, d.explain(err)
		}
		row := t[0].row(b.Length)
		row.Scheme, row.Records, row.Clients = scheme.String(), x.records, n
		if b.Done != nil {
			b.Done(row)
		}
		out = append(out, row)
	}
	return out, d.explain(d.stop())
}

func (b *builder) build(ctx context.Context, c *measure.Corpus, scheme cpar.Scheme) (*index, error) {
	made, owner, err := measure.BuildIndex(ctx, user.NewKey(cpar.Schemes()...), c.Train, user.Options{Scheme: scheme, Fitted: b.fitted, Progress: b.Progress})
	if err != nil {
		return nil, err
	}
	if b.fitted == nil {
		b.fitted = owner.Fitted()
	}
	x := &index{Index: made, records: len(c.Train)}
	if err := x.prepare(ctx, c); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}
