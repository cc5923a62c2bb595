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

// A Library is the photos of an Immich server, with the journal of what was done there.
type Library struct {
	client  *Client
	journal *Journal
}

// Of is a server's library.
func NewLibrary(c *Client, j *Journal) *Library { return &Library{c, j} }

// An Index answers what photos show; *device.Index is one.
type Index interface {
	UncachedFeatures(photo []byte) (*feature.Vectors, error)
	Annotate(ctx context.Context, photos []device.Photo, w device.AnnotateOptions) ([]device.Annotated, error)
	Digest() [32]byte
}

// Options say which photos are tagged, and how.
type Options struct {
	Filter
	Annotate device.AnnotateOptions
	DryRun   bool // ask, and tag nothing
	Again    bool // also what was finished before
	// Each is told of every photo, group by group.
	Each func(Result)
}

// Result is one photo's.
type Result struct {
	Photo    string         `json:"photo"` // its id
	Name     string         `json:"name"`
	Keywords []rank.Keyword `json:"keywords,omitempty"`
	Tags     []string       `json:"tags,omitempty"` // that it got, or would get
	Err      error          `json:"-"`
}

// Summary is a run's.
type Summary struct {
	Run     string `json:"run,omitempty"` // "" where nothing was to be done
	Photos  int    `json:"photos"`        // in the library, or that the filter left
	Known   int    `json:"known"`         // finished before
	Done    int    `json:"done"`
	Tags    int    `json:"tags"`    // put on photos
	Failed  int    `json:"failed"`  // photos
	Foreign int    `json:"foreign"` // photos of others, which cannot be tagged
}

// group is how many photos are fetched, asked about and tagged together.
const group = 32

// fetching is how many photos are fetched at once.
const fetching = 4

// run is a run under way.
type run struct {
	*Library
	o       Options
	x       Index
	tagger  *tagger
	summary Summary
}

// Annotate tags the photos that this state of the index has not been asked about. What
// is done when an error ends it stays done, and the next run goes on from there.
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

// begin finds out what is to be done, and names the run if that is anything.
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

// photo is a photo of a group on its way.
type photo struct {
	asset
	has      []string // values of its tags
	features *feature.Vectors
	result   Result
}

// group takes some photos the whole way.
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

// fetch gets the tags and the previews of photos, and what there is to know of those. A
// fault of the server's ends it, a photo that cannot be had or read is one that failed.
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

// ask asks the cloud about photos, and returns those whose answers came.
func (r *run) ask(ctx context.Context, photos []*photo) (asked []*photo, broken error) {
	var questions []device.Photo
	for _, p := range photos {
		if p.result.Err == nil {
			questions = append(questions, device.Extracted(string(p.ID), p.features))
			asked = append(asked, p)
		}
	}
	walk := r.o.Annotate
	walk.Progress = nil // that of the group
	answers, broken := r.x.Annotate(ctx, questions, walk)
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

// tag puts tags on photos, and notes that they are finished.
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
