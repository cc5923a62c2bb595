// Package demo shows cpar to a newcomer:
//
//	photos ─▶ features ─▶ encrypted index ─▶ push ║ server, a separate process
//	new photos ─▶ requests ║─▶ replies ║─▶ keywords with probabilities
//
// The server has a clean environment, no key, and only a folder and the bytes
// sent over HTTP. The Result holds the keywords found, the keywords that people
// gave, and the data that the server saw. Method Print writes the Result for a
// terminal, and WritePage writes it as an HTML page.
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
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/device"
)

const (
	shown = 12 // new photos
	// shownNear is the number of neighbours shown for a new photo.
	shownNear  = 5
	shownAlbum = 20 // indexed photos
	// DefaultPhotos is the maximum number of indexed photos. The number is
	// limited because learning from their keywords takes most of the time.
	DefaultPhotos = 1000
	// Likely is the maximum number of keywords per photo, as in cpar annotate.
	Likely = 12
)

type Options struct {
	// Data is the folder of a collection. If it is empty, Run paints a
	// collection.
	Data string
	// Photos is the maximum number of indexed photos.
	Photos int
	// Network is the image network by which photos are compared. If it is nil,
	// colours and textures are compared.
	Network *encoder.Encoder
	// Cache keeps features between runs. It may be nil.
	Cache *feature.Cache
	// Keep is a new or empty folder for the key, the index, the server's data
	// and its log. If Keep is "", nothing is kept.
	Keep string
	// Keywords is the maximum number of keywords per photo.
	Keywords int
	// Progress is called during a stage. Step is called at the end of a stage
	// with its duration. Both may be nil.
	Progress progress.Func
	Step     func(what string, took time.Duration)
}

type Result struct {
	Collection string `json:"collection"`
	// Records is the number of indexed photos, out of Available photos. Words
	// is the number of different keywords that they have. The new photos come
	// from HeldOut others. LeftOut counts duplicates and unusable photos.
	Records   int `json:"records"`
	Available int `json:"available"`
	HeldOut   int `json:"held_out"`
	LeftOut   int `json:"left_out"`
	Words     int `json:"keywords"`
	// MaxKeywords is the maximum number of keywords per photo.
	MaxKeywords int    `json:"keywords_each"`
	Profile     string `json:"profile"`
	// Probable reports whether keywords have probabilities.
	Probable bool    `json:"probabilities"`
	Photos   []Photo `json:"photos"`
	// Stored is the size of the encrypted index. Fetched is the part that the
	// device downloads once.
	Stored  uint64 `json:"bytes_stored"`
	Fetched uint64 `json:"bytes_fetched_once"`
	// DeviceMS is the time in milliseconds that this device takes to make the
	// request and read the reply. CloudMS is the time of the HTTP round trip.
	// Both are medians over photos.
	DeviceMS float64   `json:"home_ms"`
	CloudMS  float64   `json:"cloud_ms"`
	Saw      CloudView `json:"cloud_saw"`
	Page     string    `json:"page,omitempty"`
	// People lists names of people that were left out of the keywords.
	People   []dataset.Frequency `json:"people_left_out,omitempty"`
	Warnings []dataset.Warning   `json:"warnings,omitempty"`
	Kept     string              `json:"kept,omitempty"`

	Painted bool   `json:"-"`
	Album   []item `json:"-"` // some of the indexed photos
}

type session struct {
	Options
	result Result
	folder string // holds all files of the run

	train   []item // the photos to index
	fresh   []item // the new photos
	key     *user.Key
	builder *user.Builder
	index   *cpar.Manifest
	opened  *device.Index // the index, opened by a device that has only the key
	cloud   *cloudProcess
	client  *cparhttp.Client
}

// Run runs the demonstration. Before it returns, it ends the server's process
// and removes temporary files.
func Run(ctx context.Context, o Options) (r *Result, err error) {
	s := &session{Options: o, key: user.NewKey()}
	s.result = Result{Painted: o.Data == "", MaxKeywords: o.Keywords, Kept: o.Keep}
	if s.folder, err = workFolder(o.Keep); err != nil {
		return nil, err
	}
	if o.Keep == "" {
		defer os.RemoveAll(s.folder)
	} else if err := s.key.WriteFile(s.path("key"), ""); err != nil {
		return nil, err
	}
	defer func() {
		if e := s.cloud.stop(); e != nil && err == nil {
			r, err = nil, e
		}
	}()
	for _, step := range []func(context.Context) error{
		s.openCollection, s.startCloud, s.readPhotos, s.buildIndex, s.pushIndex, s.openIndex, s.annotate,
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
	s.loadPictures()
	return &s.result, nil
}

// workFolder creates the folder of a run. It refuses a folder to keep that is
// not empty, because a key in it could be overwritten.
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

func (s *session) step(what func() string, do func() error) error {
	start := time.Now()
	if err := do(); err != nil {
		return err
	}
	if s.Step != nil {
		s.Step(what(), time.Since(start))
	}
	return nil
}
