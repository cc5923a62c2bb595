package immich

import (
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

// NewLibrary returns the library of a server.
func NewLibrary(c *Client, j *Journal) *Library { return &Library{c, j} }

// An Index finds keywords of photos. *device.Index implements it.
type Index interface {
	UncachedFeatures(photo []byte) (*feature.Vectors, error)
	Annotate(ctx context.Context, photos []device.Photo, w device.AnnotateOptions) ([]device.Annotated, error)
	Digest() [32]byte
}

// Options select photos and configure tagging.
type Options struct {
	Filter
	Annotate device.AnnotateOptions
	DryRun   bool // request keywords, but set no tags
	Again    bool // include finished photos
	// Each receives the result of every photo, group by group.
	Each func(Result)
}

// Result is the outcome for one photo.
type Result struct {
	Photo    string         `json:"photo"` // id
	Name     string         `json:"name"`
	Keywords []rank.Keyword `json:"keywords,omitempty"`
	Tags     []string       `json:"tags,omitempty"` // set, or planned
	Err      error          `json:"-"`
}

// Summary counts the photos and tags of a run.
type Summary struct {
	Run     string `json:"run,omitempty"` // "" if there was nothing to do
	Photos  int    `json:"photos"`        // matching the filter
	Known   int    `json:"known"`         // finished before
	Done    int    `json:"done"`
	Tags    int    `json:"tags"`    // set on photos
	Failed  int    `json:"failed"`  // photos
	Foreign int    `json:"foreign"` // photos of other users, which cannot be tagged
}

// group is the number of photos fetched, annotated and tagged together.
const group = 32

const fetching = 4

type run struct {
	*Library
	o       Options
	x       Index
	tagger  *tagger
	summary Summary
}

// Annotate tags the photos not yet finished in this generation of the index.
// After an error, finished work remains, and the next run continues from there.
func (l *Library) Annotate(ctx context.Context, x Index, o Options) (Summary, error) {
	r := &run{Library: l, o: o, x: x}
	todo, err := r.begin(ctx)
	for done := 0; done < len(todo) && err == nil; {
		some := todo[done:min(done+group, len(todo))]
		err = r.group(ctx, some)
		done += len(some)
		o.Annotate.Progress.Report("tag photos", done, len(todo))
	}
	return r.summary, err
}

// begin returns the photos to annotate and records the start of the run unless
// there are none.
func (r *run) begin(ctx context.Context) ([]asset, error) {
	all, _, err := r.journal.Runs("")
	if err != nil {
		return nil, err
	}
	photos, err := r.client.photos(ctx, r.o.Filter, r.o.Annotate.Progress)
	if err != nil {
		return nil, err
	}
	r.summary.Photos = len(photos)
	state := r.x.Digest()
	digest := hex.EncodeToString(state[:])
	if !r.o.Again {
		here := slices.DeleteFunc(slices.Clone(all), func(run *Run) bool { return run.Server != r.client.Address() })
		before := known(here, digest)
		photos = slices.DeleteFunc(photos, func(a asset) bool { sum, ok := before[a.ID]; return ok && sum == a.Checksum })
		r.summary.Known = r.summary.Photos - len(photos)
	}
	if len(photos) == 0 {
		return nil, nil
	}
	now := time.Now()
	run := nameRun(all, now)
	if r.tagger, err = r.taggerOf(ctx, run); err != nil || r.o.DryRun {
		return photos, err
	}
	r.summary.Run = run
	return photos, r.journal.append(record{Kind: "begin", Run: run, At: now, Server: r.client.Address(), State: digest})
}

type photo struct {
	asset
	has      []string // values of its tags
	features *feature.Vectors
	result   Result
}

func (r *run) group(ctx context.Context, assets []asset) error {
	photos, err := r.fetch(ctx, assets)
	if err != nil {
		return err
	}
	asked, broken := r.ask(ctx, photos)
	if err := r.tag(ctx, asked); err != nil {
		return err
	}
	for _, p := range photos {
		if p.result.Err != nil {
			r.summary.Failed++
		}
		if r.o.Each != nil && (p.result.Err != nil || slices.Contains(asked, p)) {
			r.o.Each(p.result)
		}
	}
	return broken
}

// fetch gets the tags, previews and features of photos. A server error ends the
// run. An unavailable or unreadable photo is recorded as failed.
func (r *run) fetch(ctx context.Context, assets []asset) ([]*photo, error) {
	photos := make([]*photo, len(assets))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fetching)
	for i, a := range assets {
		photos[i] = &photo{asset: a, result: Result{Photo: string(a.ID), Name: a.Name}}
		g.Go(func() error {
			err := photos[i].fetch(ctx, r.client, r.x)
			if errors.Is(err, errGone) || errors.Is(err, errPicture) {
				photos[i].result.Err = err
				return nil
			}
			return err
		})
	}
	return photos, g.Wait()
}

var errPicture = errors.New("its preview cannot be read")

func (p *photo) fetch(ctx context.Context, c *Client, x Index) (err error) {
	if p.has, err = c.tagsOf(ctx, p.ID); err != nil {
		return err
	}
	b, err := c.preview(ctx, p.ID)
	if err != nil {
		return err
	}
	if p.features, err = x.UncachedFeatures(b); err != nil {
		return fmt.Errorf("%w: %w: %w", cpar.ErrInput, errPicture, err)
	}
	return ctx.Err()
}

func (r *run) ask(ctx context.Context, photos []*photo) (asked []*photo, broken error) {
	var questions []device.Photo
	for _, p := range photos {
		if p.result.Err == nil {
			questions = append(questions, device.Extracted(string(p.ID), p.features))
			asked = append(asked, p)
		}
	}
	ask := r.o.Annotate
	ask.Progress = nil // reported per group
	answers, broken := r.x.Annotate(ctx, questions, ask)
	asked = asked[:len(answers)]
	for i, a := range answers {
		switch p := asked[i]; {
		case a.Err != nil:
			p.result.Err = a.Err
		default:
			p.result.Keywords = a.Keywords
		}
	}
	return slices.DeleteFunc(asked, func(p *photo) bool { return p.result.Err != nil }), broken
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
