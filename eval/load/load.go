// Package load asks a real cpard, a process of its own on loopback, by many clients at
// once, and counts what comes back. It checks every answer: each must be, byte for byte,
// the one that the same request got when it was alone, and a sample of those is decrypted.
//
//	collection ─▶ indexes of 4,500 and 20,000 records, of three schemes ─▶ a pool of requests each
//	pool ─▶ 1 to 1,000 connections, for some seconds ─▶ a Row
//
// Each index has its own data folder and its own process, so that a row's memory is that
// of one index. What the cloud costs does not depend on what photos show: records beyond
// the collection's are mixed from its features (eval.Corpus.Mixed), and all indexes share one
// fitted profile.
package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"cpar"
	"cpar/eval"
	"cpar/internal/bearer"
	"cpar/internal/progress"
	"cpar/model/profile"
	"cpar/user"
)

// Options say what is asked of the cloud.
type Options struct {
	// Data is the folder of the collection, Cache one that keeps features, "" for none.
	Data, Cache string
	// Photos is how many photos of the collection are indexed at most; further records are
	// mixed from their features.
	Photos int
	// Cpard is the program; "" builds it with the go command.
	Cpard string
	// Records are the sizes of the indexes, Clients the numbers of connections.
	Records []int
	Schemes []cpar.Scheme
	Clients []int
	// Length is how long each row takes.
	Length time.Duration
	// Fair also measures one client of a tenant beside many of another, of the first size.
	Fair bool
	// Done, if not nil, is called after each row.
	Done     func(Row)
	Progress progress.Func
}

// The defaults, and a length for a run that somebody waits for.
var (
	DefaultRecords = []int{4500, 20000}
	DefaultSchemes = []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeCAPIA, cpar.SchemeSealed}
	DefaultClients = []int{1, 8, 64, 256, 1000}
)

// The lengths of a row: of the measurement, and of a shorter one.
const (
	DefaultLength = 20 * time.Second
	ShortLength   = 6 * time.Second
)

// The photos of the measurement, and of a shorter one: reading them takes longest before
// the first row.
const (
	DefaultPhotos = 4500
	ShortPhotos   = 1000
)

// The bounds of what one machine can hold open.
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
		return fmt.Errorf("%w: %d photos; 1 is the least", cpar.ErrInput, o.Photos)
	case o.Length < 100*time.Millisecond || o.Length > MaxLength:
		return fmt.Errorf("%w: %v a row; 100ms to %v are possible", cpar.ErrInput, o.Length, MaxLength)
	}
	for _, s := range o.Schemes {
		if !s.CloudSearches() {
			return fmt.Errorf("%w: a cloud is not asked to search an index of scheme %v", cpar.ErrInput, s)
		}
	}
	return nil
}

// A Row is what so many clients got from one index.
type Row struct {
	Scheme  string `json:"scheme"`
	Records int    `json:"records"`
	Clients int    `json:"clients"`
	// Rate is of full and correct answers, a second. The median and the 99th percentile
	// are of their times, in milliseconds, from the first byte sent to the last received.
	Rate float64 `json:"rate"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	// Errors are answers that were neither right nor a refusal for being full; Shed are
	// those refusals, after each of which the client waited as long as it was told.
	Errors int `json:"errors"`
	Shed   int `json:"shed"`
	// RSS is the greatest anonymous memory of the cloud during the row, in 2²⁰ bytes; 0
	// where the system does not say.
	RSS float64 `json:"rss_mb"`
	// First is one of the errors, for people.
	First error `json:"-"`
}

// Load is the result. Requests that were under way when a row ended count nowhere.
type Load struct {
	Rows []Row         `json:"rows"`
	Fair []FairnessRow `json:"-"`
	// Machine, the length of a row and the number of photos are for people.
	Machine string  `json:"-"`
	Seconds float64 `json:"-"`
	Photos  int     `json:"-"`
}

// ErrWrong: some answers were errors.
var ErrWrongAnswers = errors.New("answers were wrong or did not come")

// Measure measures all rows. If some answers were wrong it returns both the rows and
// ErrWrong.
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
		if o.Cpard, err = Build(ctx, work); err != nil {
			return nil, err
		}
	}
	out := &Load{Machine: eval.Machine(), Seconds: o.Length.Seconds(), Photos: o.Photos}
	b := &builder{folder: work, progress: o.Progress}
	photos, err := eval.LoadSample(ctx, o.Data, o.Cache, o.Photos, poolSize, o.Progress)
	if err != nil {
		return nil, err
	}
	for _, n := range o.Records {
		c, err := photos.Mixed(ctx, n, o.Progress)
		if err != nil {
			return nil, err
		}
		for _, scheme := range o.Schemes {
			rows, err := b.rows(ctx, c, scheme, o)
			if err != nil {
				return nil, fmt.Errorf("scheme %v, %d records: %w", scheme, n, err)
			}
			out.Rows = append(out.Rows, rows...)
		}
	}
	if o.Fair {
		if out.Fair, err = b.fair(ctx, photos, o); err != nil {
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

// A builder makes the indexes of a run.
type builder struct {
	folder   string
	progress progress.Func
	fitted   *profile.Fitted
}

// rows builds an index, pushes it to a cloud of its own, and measures it with every number
// of clients.
func (b *builder) rows(ctx context.Context, c *eval.Corpus, scheme cpar.Scheme, o Options) ([]Row, error) {
	x, err := b.build(ctx, c, scheme)
	if err != nil {
		return nil, err
	}
	defer x.close()
	d, err := start(ctx, o.Cpard, x.folder)
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
	for _, n := range o.Clients {
		t, err := x.ask(ctx, d, o.Length, clientGroup{clients: n})
		if err != nil {
			return nil, d.explain(err)
		}
		row := Row{Scheme: scheme.String(), Records: x.records, Clients: n}
		t[0].fill(&row, o.Length)
		if o.Done != nil {
			o.Done(row)
		}
		out = append(out, row)
	}
	return out, d.explain(d.stop())
}

// build builds an index of the corpus's training images. The first one fits the profile.
func (b *builder) build(ctx context.Context, c *eval.Corpus, scheme cpar.Scheme) (*index, error) {
	folder, err := os.MkdirTemp(b.folder, scheme.String()+"-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the index: %w: %w", cpar.ErrStorage, err)
	}
	x := &index{folder: folder, records: len(c.Train), key: user.NewKey(cpar.Schemes()...)}
	made, err := user.Setup(ctx, x.key, c.Train, user.Options{Scheme: scheme, Fitted: b.fitted, Progress: b.progress})
	if err == nil {
		if b.fitted == nil {
			b.fitted = memoize(made.Fitted())
		}
		_, err = made.Encrypt(ctx, x.path())
	}
	if err == nil {
		err = x.prepare(ctx, c)
	}
	if err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}
