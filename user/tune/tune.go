// Package tune selects settings for a collection: a profile and ranker (Tune),
// and a scheme and search (Choose). It works without a cloud.
//
//	Tune    collection ─▶ a row per profile and ranker, one recommended
//	Choose  key + collection ─▶ an index of the scheme that measures best
//	Build   key + collection + Plan ─▶ an index, after the trials in the plan
package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cpar"
	"cpar/encoder"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/internal/aspe"
	"cpar/user/internal/index"
)

// Options configure Tune. The zero value is valid.
type Options struct {
	// PCA is X in the paper's PCA-X for profile "paper", which keeps 4096/X
	// components of a wavelet feature. 0 means 32.
	PCA int
	// Photos are the collection's files. Tune reads a few to measure the
	// owner's time. Without Photos, the time is not measured.
	Photos []dataset.Photo
	// Network computes embeddings. Tune also measures its time.
	Network *encoder.Encoder
	// Text is the text half of the network, or nil. With it, profile "clip" is
	// tried, and nothing is cached.
	Text profile.TextVectors
	// Keep, if not nil, caches the Tuning for the same collection and options.
	// It must store values encrypted, because a Tuning derives from private
	// photos and keywords.
	Keep     user.Memo
	Progress user.Progress
}

// A Tuning holds the quality and cost of each profile and ranker on a collection.
type Tuning struct {
	Photos int `json:"photos"` // number of photos in the collection
	// Rows are in the order of the constants for profiles, then rankers.
	Rows []Row `json:"rows"`
	// LeftOut lists profiles unsuitable for the collection.
	LeftOut     []LeftOut `json:"left_out"`
	Recommended struct {
		Profile profile.Kind `json:"profile"`
		Ranker  rank.Kind    `json:"ranker"`
	} `json:"recommended"`
	Reason string `json:"reason"`

	// fits holds the fitted profiles with calibrated rankers.
	fits map[profile.Kind]*profile.Fitted
}

// A Row is the result of one profile with one ranker.
type Row struct {
	Profile    profile.Kind `json:"profile"`
	Ranker     rank.Kind    `json:"ranker"`
	Neighbours int          `json:"neighbours"`
	Dim        int          `json:"dim"` // profile.Profile.Dimensions
	rank.Validation
	// OwnerMS is the owner's time per photo before encryption, on one core:
	// decoding, features, embedding and projection. It is 0 if not measured.
	OwnerMS    float64    `json:"owner_ms,omitempty"`
	IndexBytes IndexBytes `json:"index_bytes"`
	// CloudMS is the time of scheme capia to scan the collection for one photo,
	// on one core of this machine. Scheme cpar takes less time, and scheme
	// sealed more.
	CloudMS float64 `json:"cloud_ms"`
}

type IndexBytes struct {
	CAPIA  uint64 `json:"capia"`
	Sealed uint64 `json:"sealed"`
}

type LeftOut struct {
	Profile profile.Kind `json:"profile"`
	Reason  string       `json:"reason"`
}

// Tune evaluates at most maxTunePhotos photos. If the scans would read more
// than tuneReads records, it evaluates fewer, but at least minTunePhotos.
const maxTunePhotos, minTunePhotos, tuneReads = 4000, 500, 100_000_000

// Tune cross-validates each profile and ranker on a collection, measures their
// cost, and recommends a pair. It returns ErrInput for a collection with fewer
// than two photos or without keywords.
func Tune(ctx context.Context, images []user.Photo, opt Options) (*Tuning, error) {
	const how = "profiles are compared by how well photos find each other's keywords"
	switch {
	case len(images) < 2:
		return nil, hint.Add(fmt.Errorf("tuning: %w: the collection has fewer than two photos", cpar.ErrInput), how)
	case !slices.ContainsFunc(images, func(p user.Photo) bool { return len(p.Keywords) > 0 }):
		return nil, hint.Add(fmt.Errorf("tuning: %w: none of the photos has a keyword", cpar.ErrInput), how)
	}
	name, nameable := nameOf(images, opt)
	nameable = nameable && opt.Text == nil // nothing identifies a text half here
	if kept := read(opt.Keep, name); nameable && kept != nil {
		return kept, nil
	}
	t := &Tuning{Photos: len(images), LeftOut: []LeftOut{}, fits: map[profile.Kind]*profile.Fitted{}}
	photos := readSome(opt.Photos)
	extract, err := timePhotos(ctx, photos, feature.Options{})
	if err != nil {
		return nil, fmt.Errorf("tuning: %w", err)
	}
	for _, kind := range profile.Kinds() {
		if needs := kind == profile.Network || kind == profile.Clip; needs && images[0].Vectors.Embedding == nil || kind == profile.Clip && opt.Text == nil {
			continue
		}
		r := &trial{kind: kind, images: images, photos: photos, extract: extract, opt: opt}
		rows, err := r.run(ctx)
		switch {
		case err == nil:
			t.Rows, t.fits[kind] = append(t.Rows, rows...), r.fit
		case ctx.Err() != nil || kind == profile.Paper || !errors.Is(err, cpar.ErrInput):
			return nil, fmt.Errorf("tuning: profile %v: %w", kind, err)
		default:
			t.LeftOut = append(t.LeftOut, LeftOut{kind, err.Error()})
		}
	}
	t.decide()
	if nameable {
		t.write(opt.Keep, name)
	}
	return t, nil
}

// Apply sets the recommended profile and ranker in opt, fitted to the images
// given to Tune.
func (t *Tuning) Apply(opt user.Options) user.Options {
	fit := *t.fits[t.Recommended.Profile]
	fit.Validation, fit.Samples = &t.row(t.Recommended.Profile, t.Recommended.Ranker).Validation, nil
	opt.Profile, opt.Ranker, opt.Fitted = t.Recommended.Profile, t.Recommended.Ranker, &fit
	return opt
}

func (t *Tuning) row(p profile.Kind, r rank.Kind) *Row {
	for i := range t.Rows {
		if t.Rows[i].Profile == p && t.Rows[i].Ranker == r {
			return &t.Rows[i]
		}
	}
	return nil
}

type trial struct {
	kind      profile.Kind
	images    []user.Photo
	photos    [][]byte
	extract   float64 // milliseconds to extract features without a network
	opt       Options
	fit       *profile.Fitted
	projector profile.Projector
}

func (r *trial) progress(stage string, done, total int) {
	r.opt.Progress.Report(r.kind.String()+": "+stage, done, total)
}

func (r *trial) run(ctx context.Context) ([]Row, error) {
	if err := r.fitAndSample(ctx); err != nil {
		return nil, err
	}
	row := Row{Profile: r.kind, Dim: r.fit.Profile.Dimensions()}
	var err error
	if row.OwnerMS, err = r.timeOwner(ctx); err != nil {
		return nil, err
	}
	if row.CloudMS, err = timeScan(ctx, len(r.images), r.fit.Profile.Layout()); err != nil {
		return nil, err
	}
	var rows []Row
	for i, kind := range []rank.Kind{rank.KindPaper, rank.KindCalibrated} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.progress("rankers", i, 2)
		v, err := rank.CrossValidate(ctx, r.fit.Samples, user.Keywords(r.images), kind, user.CalibrateKeep)
		if err != nil {
			return nil, err
		}
		var ranker rank.Ranker = rank.PaperRanker{}
		if kind == rank.KindCalibrated {
			ranker = r.fit.Ranker
		}
		row.Ranker, row.Validation, row.Neighbours = kind, *v, ranker.Neighbours()
		if row.IndexBytes, err = r.indexBytes(ranker); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	r.progress("rankers", 2, 2)
	return rows, nil
}

func (r *trial) indexBytes(ranker rank.Ranker) (size IndexBytes, err error) {
	keywords := user.Keywords(r.images)
	if size.CAPIA, err = user.IndexBytes(cpar.SchemeCAPIA, r.fit.Profile, ranker, keywords); err == nil {
		size.Sealed, err = user.IndexBytes(cpar.SchemeSealed, r.fit.Profile, ranker, keywords)
	}
	return size, err
}

func (r *trial) fitAndSample(ctx context.Context) (err error) {
	features := user.Features(r.images)
	asked := min(maxTunePhotos, max(minTunePhotos, tuneReads/len(r.images)))
	keywords := user.Keywords(r.images)
	text := r.opt.Text
	if r.kind != profile.Clip { // profile "network" is tried without text, as before it had any
		text = nil
	}
	r.fit, err = profile.Fit(ctx, r.kind, features, keywords, profile.Options{PCA: r.opt.PCA, Text: text, MaxValidationPhotos: asked, Progress: r.progress})
	if err != nil {
		return err
	}
	vectors, err := r.fit.Profile.Vectors(features)
	if err != nil {
		return err
	}
	if r.fit.Profile, err = r.fit.Profile.ForCollection(vectors); err != nil {
		return err
	}
	// Profile "paper" needs a secret projection. This secret is never reused.
	if r.projector, err = r.fit.Profile.Projector(seed.Forgotten()); err != nil {
		return err
	}
	if r.fit.Samples != nil {
		return nil
	}
	c := index.NewCollection(vectors, keywords)
	if err := c.Project(r.projector); err != nil {
		return err
	}
	if r.fit.Samples, err = aspe.Samples(ctx, r.fit.Profile.Layout(), c, asked, r.progress); err != nil {
		return err
	}
	r.fit.Ranker, _, err = rank.Calibrate(ctx, r.fit.Samples, keywords, user.CalibrateKeep, 0)
	return err
}

// A Plan lists the decisions that Build makes.
type Plan struct {
	user.Options
	// Suited selects the profile by a rule (user.SuitedProfile).
	Suited      bool
	TryProfiles bool
	TryScheme   bool
	Tune        Options
}

// Check rejects plans that Build rejects for every collection. It assumes that
// a profile not yet selected suits any block width.
func (o Plan) Check() error {
	if o.Suited || o.TryProfiles {
		o.Profile = profile.Learned
	}
	return o.Options.Check()
}

// Decided holds the decisions of Build. A field is nil if Build did not make
// the decision.
type Decided struct {
	Tuning *Tuning
	Choice *Choice
}

// Build makes the decisions of a plan and prepares an index.
func Build(ctx context.Context, key *user.Key, images []user.Photo, o Plan) (*user.Builder, Decided, error) {
	var d Decided
	var err error
	if o.Suited {
		o.Profile = user.SuitedProfile(images)
	}
	if o.TryProfiles {
		if d.Tuning, err = Tune(ctx, images, o.Tune); err != nil {
			return nil, d, err
		}
		o.Options = d.Tuning.Apply(o.Options)
	}
	if o.TryScheme {
		b, choice, err := Choose(ctx, key, images, o.Options)
		d.Choice = choice
		return b, d, err
	}
	b, err := user.Setup(ctx, key, images, o.Options)
	return b, d, err
}
