package immich

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/model/feature"
	"cpar/model/rank"
	"cpar/user/device"
)

// A Library represents the photos of an Immich server and the journal of runs.
type Library struct {
	client  *Client
	journal *Journal
}

func NewLibrary(c *Client, j *Journal) *Library { return &Library{c, j} }

// An Index finds keywords of photos. *device.Index implements it.
type Index interface {
	UncachedFeatures(photo []byte) (*feature.Vectors, error)
	Annotate(ctx context.Context, photos []device.Photo, w device.AnnotateOptions) ([]device.Annotated, error)
	Digest() [32]byte
}

type Options struct {
	Filter
	Annotate device.AnnotateOptions
	DryRun   bool // request keywords, but set no tags
	Again    bool // include finished photos
	// Each receives the result of every photo, in groups of 32.
	Each func(Result)
}

type Result struct {
	Photo    string         `json:"photo"` // id
	Name     string         `json:"name"`
	Keywords []rank.Keyword `json:"keywords,omitempty"`
	Tags     []string       `json:"tags,omitempty"` // tags set, or planned in a dry run
	Err      error          `json:"-"`
}

type Summary struct {
	Run     string `json:"run,omitempty"` // "" if there was nothing to do
	Photos  int    `json:"photos"`        // photos that match the filter
	Known   int    `json:"known"`         // photos finished by earlier runs
	Done    int    `json:"done"`
	Tags    int    `json:"tags"`    // set on photos
	Failed  int    `json:"failed"`  // photos that failed
	Foreign int    `json:"foreign"` // photos of other users, which cannot be tagged
}

// group is the number of photos that are fetched, requested and later tagged together.
const group = 32

const fetching = 4

type run struct {
	*Library
	o       Options
	x       Index
	key     string // identifies answers by generation of the index and ranking
	tagger  *tagger
	summary Summary
}

// Annotate tags the photos not yet finished in this generation of the index. All
// requests are sent before the first tag is set. Neither tags nor errors of tagging can
// therefore influence the requests, which the cloud sees. After an error, answers and
// finished work remain, and the next run continues from there.
func (l *Library) Annotate(ctx context.Context, x Index, o Options) (Summary, error) {
	r := &run{Library: l, o: o, x: x}
	photos, err := r.begin(ctx)
	if err != nil {
		return r.summary, err
	}
	cloud, err := r.askAll(ctx, photos)
	if err == nil {
		err = r.tagAll(ctx, slices.DeleteFunc(photos, func(p *photo) bool { return !p.settled }))
	}
	return r.summary, cmp.Or(err, cloud)
}

// begin returns the photos to finish, with the answers of earlier runs. It
// records the start of the run, except in a dry run or if no photos remain.
func (r *run) begin(ctx context.Context) ([]*photo, error) {
	all, _, err := r.journal.Runs("")
	if err != nil {
		return nil, err
	}
	assets, err := r.client.photos(ctx, r.o.Filter, r.o.Annotate.Progress)
	if err != nil {
		return nil, err
	}
	r.summary.Photos = len(assets)
	state, ranking := r.x.Digest(), r.o.Annotate.Ranking
	digest := hex.EncodeToString(state[:])
	r.key = fmt.Sprintf("%s %d %v %v %g", digest, ranking.MaxKeywords, ranking.Ranker, ranking.Rare, ranking.MinProbability)
	here := slices.DeleteFunc(slices.Clone(all), func(run *Run) bool { return run.Server != r.client.Address() })
	before, answers := known(here, digest), answered(here, r.key)
	var photos []*photo
	for _, a := range assets {
		p := &photo{asset: a, result: Result{Photo: string(a.ID), Name: a.Name}}
		if sum, ok := before[a.ID]; ok && sum == a.Checksum && !r.o.Again {
			r.summary.Known++
			continue
		}
		if answer, ok := answers[a.ID]; ok && answer.sum == a.Checksum && !r.o.Again {
			p.settled, p.result.Keywords = true, answer.keywords
		}
		photos = append(photos, p)
	}
	if len(photos) == 0 || r.o.DryRun {
		return photos, nil
	}
	now := time.Now()
	r.summary.Run = nameRun(all, now)
	return photos, r.journal.append(record{Kind: "begin", Run: r.summary.Run, At: now, Server: r.client.Address(), State: digest})
}

type photo struct {
	asset
	has     []string // values of the photo's tags
	settled bool     // result has an answer or an error
	result  Result
}

// askAll requests keywords for the photos without an answer. It returns an
// error of the cloud separately, because photos that already have an answer can
// still be tagged.
func (r *run) askAll(ctx context.Context, photos []*photo) (cloud, err error) {
	photos = slices.DeleteFunc(slices.Clone(photos), func(p *photo) bool { return p.settled })
	done := 0
	for some := range slices.Chunk(photos, group) {
		features, e := r.fetch(ctx, some)
		if e != nil {
			return nil, e
		}
		cloud = r.ask(ctx, some, features)
		// A journal error, such as a full disk, ends the run only after the
		// last request.
		err = cmp.Or(err, r.keep(some))
		if cloud != nil {
			break
		}
		done += len(some)
		r.o.Annotate.Progress.Report("annotate photos", done, len(photos))
	}
	return cloud, err
}

// fetch fetches previews and returns their features. A server error ends the
// run. An unavailable or unreadable photo is recorded as failed.
func (r *run) fetch(ctx context.Context, photos []*photo) ([]*feature.Vectors, error) {
	features := make([]*feature.Vectors, len(photos))
	return features, each(ctx, photos, func(ctx context.Context, i int) error {
		b, err := r.client.preview(ctx, photos[i].ID)
		if err != nil {
			return err
		}
		if features[i], err = r.x.UncachedFeatures(b); err != nil {
			return fmt.Errorf("%w: %w: %w", cpar.ErrInput, errPicture, err)
		}
		return ctx.Err()
	})
}

// each calls `work` for several photos at a time. It records photos that are
// gone or unreadable as failed.
func each(ctx context.Context, photos []*photo, work func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fetching)
	for i, p := range photos {
		g.Go(func() error {
			err := work(ctx, i)
			if errors.Is(err, errGone) || errors.Is(err, errPicture) {
				p.settled, p.result.Err = true, err
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

var errPicture = errors.New("its preview cannot be read")

func (r *run) ask(ctx context.Context, photos []*photo, features []*feature.Vectors) error {
	var questions []device.Photo
	var asked []*photo
	for i, p := range photos {
		if !p.settled {
			questions = append(questions, device.Extracted(string(p.ID), features[i]))
			asked = append(asked, p)
		}
	}
	ask := r.o.Annotate
	ask.Progress = nil // askAll reports the progress
	answers, err := r.x.Annotate(ctx, questions, ask)
	for i, a := range answers {
		p := asked[i]
		p.settled, p.result.Keywords, p.result.Err = true, a.Keywords, a.Err
	}
	return err
}

// keep records the answers of a group for reuse by the next run.
func (r *run) keep(photos []*photo) error {
	if r.o.DryRun {
		return nil
	}
	answers := record{Kind: "answer", Run: r.summary.Run, State: r.key}
	for _, p := range photos {
		if p.settled && p.result.Err == nil {
			answers.Photos, answers.Sums = append(answers.Photos, p.ID), append(answers.Sums, p.Checksum)
			answers.Keywords = append(answers.Keywords, p.result.Keywords)
		}
	}
	return r.journal.append(answers)
}

func (r *run) tagAll(ctx context.Context, photos []*photo) (err error) {
	if len(photos) == 0 {
		return nil
	}
	if r.tagger, err = r.taggerOf(ctx, r.summary.Run); err != nil {
		return err
	}
	done := 0
	for some := range slices.Chunk(photos, group) {
		likely := slices.DeleteFunc(slices.Clone(some), func(p *photo) bool { return p.result.Err != nil })
		if err := each(ctx, likely, func(ctx context.Context, i int) (err error) {
			likely[i].has, err = r.client.tagsOf(ctx, likely[i].ID)
			return err
		}); err != nil {
			return err
		}
		if err := r.tag(ctx, slices.DeleteFunc(likely, func(p *photo) bool { return p.result.Err != nil })); err != nil {
			return err
		}
		for _, p := range some {
			if p.result.Err != nil {
				r.summary.Failed++
			}
			if r.o.Each != nil {
				r.o.Each(p.result)
			}
		}
		done += len(some)
		r.o.Annotate.Progress.Report("tag photos", done, len(photos))
	}
	return nil
}

func (r *run) tag(ctx context.Context, photos []*photo) error {
	wanted := map[string][]id{}
	finished := record{Kind: "done", Run: r.summary.Run}
	for _, p := range photos {
		p.result.Tags = r.tagger.lacks(p.has, p.result.Keywords)
		for _, v := range p.result.Tags {
			wanted[v] = append(wanted[v], p.ID)
		}
		finished.Photos, finished.Sums = append(finished.Photos, p.ID), append(finished.Sums, p.Checksum)
	}
	r.summary.Done += len(photos)
	if r.o.DryRun || len(photos) == 0 {
		for _, p := range photos {
			r.summary.Tags += len(p.result.Tags)
		}
		return nil
	}
	missed, err := r.tagger.put(ctx, wanted)
	if err != nil {
		return err
	}
	records := missed.records(r.summary.Run)
	for _, p := range photos {
		if missed.foreign(p.ID) {
			r.summary.Foreign++
		}
		p.result.Tags = slices.DeleteFunc(p.result.Tags, func(v string) bool { return missed[v][p.ID] != "" })
		r.summary.Tags += len(p.result.Tags)
	}
	return r.journal.append(append(records, finished)...)
}
