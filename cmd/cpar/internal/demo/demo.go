// Package demo runs all of cpar once, for a person watching:
//
//	collection ─▶ features ─▶ forest ─▶ encrypted indexes ─▶ push ║ cloud process
//	new photos ─▶ requests ║─▶ replies ║─▶ keywords, beside the truth
//
// It encrypts the collection under the default scheme with every suitable
// profile and continues with the best one: under the other schemes for
// comparison, and once as the paper does, for its costs. The cloud is a
// separate process with a clean environment. It gets only a folder and the
// bytes sent over HTTP.
//
// The Result has the findings of each profile for held-out photos, keywords
// with weights, times and bytes beside the paper's, the agreement of the
// encrypted search with the same search in the clear, and the cloud's view.
// Print writes it for a terminal and WritePage as an HTML page.
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
	// shown is the number of new photos shown with their keywords.
	shown = 8
	// shownNear is the number of neighbours shown.
	shownNear = 10
	// DefaultPhotos is the maximum number of indexed photos. Learning from
	// their keywords dominates the time.
	DefaultPhotos = 1000
	// Likely is the maximum number of keywords per photo, as in cpar annotate.
	Likely = 12
)

// Options configures Run. The zero value paints its own collection and leaves
// nothing behind.
type Options struct {
	// Data is the folder of a collection. "" paints one.
	Data string
	// Photos is the maximum number of indexed photos, 0 for DefaultPhotos.
	Photos int
	// Network adds profile `network`. It may be nil.
	Network *encoder.Encoder
	// Cache keeps the features of Data between runs. It may be nil.
	Cache *feature.Cache
	// Keep is a new or empty folder for the key, the indexes, the cloud's data
	// and its log. "" keeps nothing.
	Keep string
	// Keywords is the maximum number of keywords per photo, 0 for Likely.
	Keywords int
	// Progress reports on a stage, Step its end and duration. Both may be nil.
	Progress progress.Func
	Step     func(what string, took time.Duration)
}

// A Result holds the findings of a run.
type Result struct {
	Collection string `json:"collection"`
	// Records is n, out of Available. Words is the number of different
	// keywords.
	Records   int `json:"records"`
	Available int `json:"available"`
	Words     int `json:"keywords"`
	// MaxKeywords is the maximum number of keywords per photo.
	MaxKeywords int `json:"keywords_each"`
	// Profiles are the compared profiles, HeldOut the photos used to compare
	// them, and LeftOut the profiles that could not learn from the collection.
	Profiles []Profile `json:"profiles"`
	HeldOut  []HeldOut `json:"held_out"`
	LeftOut  []LeftOut `json:"left_out"`
	// Chosen is the profile of all following fields except Costs.
	Chosen string `json:"profile"`
	// Photos are the photos of HeldOut annotated by every search.
	Photos    []Photo     `json:"photos"`
	Costs     []Cost      `json:"costs"`
	Agreement []Agreement `json:"agreement"`
	Schemes   []Scheme    `json:"schemes"`
	Saw       CloudView   `json:"cloud_saw"`
	Page      string      `json:"page,omitempty"`
	Kept      string      `json:"kept,omitempty"`

	painted, network bool               // for Advice
	thumbs           map[uint32]picture // of records, for the page
}

// A session is the state of a run.
type session struct {
	Options
	result Result
	folder string // for all files of the run
	clock  clock

	records []item // the indexed photos
	held    []item // the new photos
	asked   []item // the new photos that are shown
	key     *user.Key
	// profiles are indexes of the default scheme. indexes has the chosen one
	// and the other schemes. paper serves to measure costs.
	profiles []*indexed
	indexes  map[cpar.Scheme]*indexed
	paper    *indexed
	cloud    *cloudProcess
	took     times
	client   *cparhttp.Client
	sent     [][]byte // every request
}

// Run runs the demonstration. When it returns, the cloud process has ended and
// temporary files are gone.
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
	// The log is complete once the process has ended.
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

// workFolder creates the folder of a run. A folder to keep must be new or
// empty, otherwise a key in it could be lost.
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

// step runs one stage and reports its duration.
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

// A clock times stages by their progress reports.
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
