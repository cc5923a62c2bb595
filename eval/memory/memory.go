// Package memory measures the peak memory and the time of commands.
//
//	collection ─▶ cpar build, add and annotate, and cpard, each a process of its own under a limit ─▶ a row each
//
// The limit is a memory control group of Linux, version 1 or 2. The system ends
// a process that exceeds it.
package memory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cpar/encoder/bundled"
	"cpar/eval/load"
	"cpar/eval/measure"
	"cpar/internal/paper"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/photo/decode"
	"cpar/user"
)

// Options configure Measure. A number of photos of 0 leaves out its rows.
type Options struct {
	Data, Cache string // the collection, and a folder for features
	Cpar, Cpard string // programs, built by the go command if ""
	Work        string // folder for made photos and indexes
	// Photos is the size of the builds with profiles learned and network,
	// PaperPhotos with profile paper. LargePhotos is the size of the index that
	// commands build, search and serve. Photos beyond the collection are mixed.
	Photos, PaperPhotos, LargePhotos int
	// LimitMB limits cpar, and ServerLimitMB limits cpard.
	LimitMB, ServerLimitMB int
	Done                   func(Row)
	Progress               user.Progress
}

// A Row is the result of one command. Photos is the size of the index.
type Row struct {
	Name   string  `json:"name"`
	Photos int     `json:"photos"`
	PeakMB float64 `json:"peak_mb"`
	// Seconds is the time of the command, for cpard until the reply to the
	// first photo.
	Seconds float64 `json:"seconds"`
}

type Result struct {
	Rows []Row `json:"rows"`
}

func (r *Result) Tables() []measure.Table {
	t := measure.Table{Name: "memory", Title: "Peak memory of commands", Columns: []string{"command", "photos", "peak MB", "s"}}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []string{row.Name, measure.FormatThousands(row.Photos), paper.Digits(row.PeakMB), paper.Digits(row.Seconds)})
	}
	return []measure.Table{t}
}

// addedPhotos is the number of photos that the measured `cpar add` adds.
const addedPhotos = 1000

type measurement struct {
	Options
	Result
	key    string
	photos []user.Photo // the collection with its features
}

// Measure measures all rows. Features are computed before, so that rows contain
// only the time to read them.
func Measure(ctx context.Context, o Options) (*Result, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	m := &measurement{Options: o, key: filepath.Join(o.Work, "key")}
	for _, p := range []struct {
		name string
		path *string
	}{{"cpar", &m.Cpar}, {"cpard", &m.Cpard}} {
		if *p.path == "" {
			var err error
			if *p.path, err = load.Build(ctx, o.Work, p.name); err != nil {
				return nil, err
			}
		}
	}
	lab := measure.Lab{Data: o.Data, Cache: o.Cache, Model: bundled.Name, Progress: o.Progress}
	corpus, err := lab.ReadCorpus(ctx)
	if err != nil {
		return nil, err
	}
	m.photos = slices.Concat(corpus.Train, corpus.Test)
	if _, err := m.run(ctx, m.Cpar, "init", "--no-passphrase", "--key", m.key); err != nil {
		return nil, err
	}
	err = m.builds(ctx)
	if err == nil && o.LargePhotos > 0 {
		err = m.large(ctx, corpus.TestItems[0].Path)
	}
	return &m.Result, err
}

// builds measures the builds with each profile.
func (m *measurement) builds(ctx context.Context) error {
	if m.Photos > 0 {
		folder, err := m.collection(ctx, "photos", 0, m.Photos)
		if err != nil {
			return err
		}
		for _, kind := range []string{"learned", "network"} {
			if err := m.row(ctx, "build "+kind, m.Photos, "build", folder, "--profile", kind, "--out", filepath.Join(m.Work, kind+".index")); err != nil {
				return err
			}
		}
	}
	if m.PaperPhotos == 0 {
		return nil
	}
	folder, err := m.collection(ctx, "photos", 0, m.PaperPhotos)
	if err != nil {
		return err
	}
	return m.row(ctx, "build paper", m.PaperPhotos, "build", folder, "--profile", "paper", "--out", filepath.Join(m.Work, "paper.index"))
}

// large measures the commands that use a large index of the default profile.
// `photo` is the photo to annotate.
func (m *measurement) large(ctx context.Context, photo string) error {
	index, n := filepath.Join(m.Work, "large.index"), m.LargePhotos
	folder, err := m.collection(ctx, "photos", 0, n)
	if err == nil {
		err = m.row(ctx, "build", n, "build", folder, "--out", index)
	}
	if err == nil {
		folder, err = m.collection(ctx, "added", n, addedPhotos)
	}
	if err == nil {
		err = m.row(ctx, "add", n+addedPhotos, "add", folder, "--index", index)
	}
	if err != nil {
		return err
	}
	served := time.Now()
	s, err := m.serve(ctx)
	if err != nil {
		return err
	}
	defer s.kill()
	if _, err := m.run(ctx, m.Cpar, "push", index, "--cloud", s.url, "--key", m.key); err != nil {
		return err
	}
	for _, name := range []string{"annotate, first", "annotate"} { // the first one also fetches the keywords
		if err := m.row(ctx, name, n+addedPhotos, "annotate", photo, "--index", "large", "--cloud", s.url); err != nil {
			return err
		}
		if name == "annotate, first" {
			m.add(Row{"cpard", n + addedPhotos, 0, time.Since(served).Seconds()})
		}
	}
	peak, err := s.stop()
	at := slices.IndexFunc(m.Rows, func(r Row) bool { return r.Name == "cpard" })
	m.Rows[at].PeakMB = measure.RoundTo(peak, 1)
	return err
}

// row measures one run of cpar.
func (m *measurement) row(ctx context.Context, name string, photos int, args ...string) error {
	began := time.Now()
	peak, err := m.run(ctx, append(append([]string{m.Cpar}, args...), "--key", m.key, "--cache", m.Cache)...)
	if err != nil {
		return fmt.Errorf("measuring %s: %w", name, err)
	}
	m.add(Row{name, photos, measure.RoundTo(peak, 1), measure.RoundTo(time.Since(began).Seconds(), 2)})
	return nil
}

func (m *measurement) add(r Row) {
	m.Rows = append(m.Rows, r)
	if m.Done != nil && r.PeakMB > 0 {
		m.Done(r)
	}
}

// mixedAtOnce is the number of photos whose features are in memory while they
// are mixed.
const mixedAtOnce = 1000

// collection writes a folder of n files that stand for photos, and their
// features into the cache. Each file holds a number, from `first` on, instead
// of an image, which nothing decodes because its features are cached.
func (m *measurement) collection(ctx context.Context, name string, first, n int) (string, error) {
	folder := filepath.Join(m.Work, fmt.Sprint(name, "-", n))
	cache, err := feature.OpenCache(m.Cache)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	var manifest strings.Builder
	manifest.WriteString("path,keywords\n")
	for from := 0; from < n && err == nil; from += mixedAtOnce {
		var some []user.Photo
		if at := first + from; at < len(m.photos) {
			some = m.photos[at:min(at+mixedAtOnce, len(m.photos))]
		}
		if len(some) < mixedAtOnce { // each batch mixes other pairs
			turn := (first + from) / mixedAtOnce % len(m.photos)
			mixed, err := measure.MixFeatures(ctx, slices.Concat(m.photos[turn:], m.photos[:turn]), mixedAtOnce-len(some), m.Progress)
			if err != nil {
				return "", err
			}
			some = slices.Concat(some, mixed)
		}
		for i, p := range some[:min(mixedAtOnce, n-from)] {
			file, data := fmt.Sprintf("%07d.jpg", first+from+i), fmt.Appendf(nil, "photo %d\n", first+from+i)
			fmt.Fprintf(&manifest, "%s,%s\n", file, strings.Join(p.Keywords, ";"))
			if err = os.WriteFile(filepath.Join(folder, file), data, 0o600); err == nil {
				err = cache.Put(decode.ContentDigest(data), p.Vectors)
			}
			if err != nil {
				return "", err
			}
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, dataset.ManifestName), []byte(manifest.String()), 0o600)
	}
	return folder, err
}
