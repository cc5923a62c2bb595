// Package demo runs the whole of cpar once, in front of a person:
//
//	collection ─▶ features ─▶ forest ─▶ encrypted indexes ─▶ push ║ cloud process
//	new pictures ─▶ requests ║─▶ replies ║─▶ keywords, beside the truth
//
// It encrypts the collection under the default scheme, sealed, with every profile that
// the collection can be looked at by. With the one that finds most it goes on: under
// the other schemes, which are measured beside it, and once as the paper does,
// for the paper's costs.
// The cloud is a process of its own with a clean environment, which gets
// nothing but a folder and what is sent over HTTP. What comes out is a Result:
// what each profile finds for photos that were held out, keywords with weights,
// times and bytes beside the paper's, how often the
// encrypted search and its twin in the clear agree, and what the cloud saw. It
// is printed (Print) and written as one HTML page (WritePage).
package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/encoder"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/model/feature"
	"cpar/user"
)

const (
	// shown is how many new pictures are shown with their keywords.
	shown = 8
	// shownNear is how many of the nearest photos are shown.
	shownNear = 10
	// DefaultPhotos is how many photos of a collection are indexed, at most:
	// learning from their keywords is what takes time.
	DefaultPhotos = 1000
	// Likely is how many keywords a picture gets at most, as in cpar annotate.
	Likely = 12
)

// Options say what Run does. The zero value paints its own collection and
// leaves nothing behind.
type Options struct {
	// Data is the folder of a collection; "" paints one.
	Data string
	// Photos is how many photos of Data are indexed, at most; DefaultPhotos
	// where 0.
	Photos int
	// Network adds profile `network`; nil for none.
	Network *encoder.Encoder
	// Cache keeps the features of Data between runs; nil for none.
	Cache *feature.Cache
	// Keep is a folder, new or empty, that keeps key, index, the cloud's data
	// and its log; "" keeps nothing.
	Keep string
	// Keywords is how many keywords a picture gets at most; Likely where 0.
	Keywords int
	// Progress is told how far a stage has come, Step what was done and how
	// long it took. Both may be nil.
	Progress progress.Func
	Step     func(what string, took time.Duration)
}

// A Result is all that a run has found out.
type Result struct {
	Collection string `json:"collection"`
	// Records is n, of Available that could have been indexed; Words is the size
	// of the keyword dictionary.
	Records   int `json:"records"`
	Available int `json:"available"`
	Words     int `json:"keywords"`
	// Most is how many keywords a photo gets, at most.
	MaxKeywords int `json:"keywords_each"`
	// Profiles are the profiles side by side, HeldOut the photos they rest on,
	// LeftOut the profiles that could not learn from so little.
	Profiles []Profile `json:"profiles"`
	HeldOut  []HeldOut `json:"held_out"`
	LeftOut  []LeftOut `json:"left_out"`
	// Chosen is the profile that all that follows is of, but the costs.
	Chosen string `json:"profile"`
	// Photos are those of HeldOut that the cloud was asked about in every way.
	Photos []Photo `json:"photos"`
	Costs  []Cost  `json:"costs"`
	// Agreement is the share of places that hold the same record encrypted
	// and in the clear, by search.
	Agreement []Agreement `json:"agreement"`
	// Schemes are the schemes side by side.
	Schemes []Scheme  `json:"schemes"`
	Saw     CloudView `json:"cloud_saw"`
	Page    string    `json:"page,omitempty"`
	Kept    string    `json:"kept,omitempty"`

	painted, network bool               // for Advice
	thumbs           map[uint32]picture // of records, for the page
}

// A session is a run under way.
type session struct {
	Options
	result Result
	folder string // of everything that is written
	clock  clock

	records []item // what is indexed
	held    []item // the new pictures
	asked   []item // the ones among them that are shown
	key     *user.Key
	// profiles are indexes of the default scheme; the chosen one stands in indexes,
	// too, with those of the other schemes. paper is the one that costs are measured of.
	profiles []*indexed
	indexes  map[cpar.Scheme]*indexed
	paper    *indexed
	cloud    *cloudProcess
	took     times
	client   *cparhttp.Client
	sent     [][]byte // every request
}

// Run runs the demonstration. Whatever happens, the cloud process has ended
// and temporary files are gone when it returns.
func Run(ctx context.Context, o Options) (r *Result, err error) {
	if o.Keywords == 0 {
		o.Keywords = Likely
	}
	if o.Photos == 0 {
		o.Photos = DefaultPhotos
	}
	s := &session{Options: o, indexes: map[cpar.Scheme]*indexed{}}
	s.result.painted, s.result.network = o.Data == "", o.Network != nil
	s.result.MaxKeywords = o.Keywords
	s.result.LeftOut = []LeftOut{}
	if s.folder, err = workFolder(o.Keep); err != nil {
		return nil, err
	}
	if o.Keep == "" {
		defer os.RemoveAll(s.folder)
	}
	defer func() {
		if e := s.cloud.stop(); e != nil && err == nil {
			r, err = nil, e
		}
	}()
	for _, step := range []func(context.Context) error{
		s.readCollection, s.makeKey, s.buildProfiles, s.startCloud, s.pushProfiles, s.compareProfiles, s.choose,
		s.buildSchemes, s.pushSchemes, s.annotate,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	// The log is whole when the process has ended.
	if err := s.cloud.stop(); err != nil {
		return nil, err
	}
	if err := s.lookAtCloud(); err != nil {
		return nil, err
	}
	s.compareSchemes()
	s.compareCosts()
	s.result.Kept = o.Keep
	return &s.result, s.loadPictures()
}

// workFolder makes the folder of a run. A folder to keep must be new or
// empty, since a key in it would be lost.
func workFolder(keep string) (string, error) {
	if keep == "" {
		dir, err := os.MkdirTemp("", "cpar-demo-")
		if err != nil {
			return "", hint.Add(fmt.Errorf("making a temporary folder: %w: %w", cpar.ErrStorage, err), "pass --keep FOLDER to work in a folder of your choice")
		}
		return dir, nil
	}
	if entries, err := os.ReadDir(keep); err == nil && len(entries) > 0 {
		return "", hint.Add(fmt.Errorf("keeping the demo: %w: folder %s is not empty", cpar.ErrInput, keep), "name a folder that is empty or does not exist yet")
	}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return "", fmt.Errorf("keeping the demo: %w: %w", cpar.ErrStorage, err)
	}
	return keep, nil
}

func (s *session) path(name string) string { return filepath.Join(s.folder, name) }

// step runs one stage, tells of it and returns how long it took.
func (s *session) step(what func() string, do func() error) (time.Duration, error) {
	start := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if s.Step != nil {
		s.Step(what(), took)
	}
	return took, nil
}

// A clock takes the time of stages from the progress that they report.
type clock map[string]*stopwatch

type stopwatch struct{ start, end time.Time }

func (c clock) report(stage string, done, total int) {
	w := c[stage]
	if w == nil {
		w = &stopwatch{start: time.Now()}
		c[stage] = w
	}
	if done == total {
		w.end = time.Now()
	}
}

func (c clock) took(stage string) time.Duration {
	if w := c[stage]; w != nil && !w.end.IsZero() {
		return w.end.Sub(w.start)
	}
	return 0
}
