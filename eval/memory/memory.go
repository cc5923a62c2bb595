// Package memory measures the peak memory and the time of commands.
//
//	collection ─▶ cpar build, add and annotate, and cpard, each a process of its own under a limit ─▶ a row each
//
// The limit is a memory control group of Linux, version 1 or 2. The system ends
// a process that exceeds it.
//
// All processes, indexes, requests and replies are real. Photos beyond the
// collection are derived: their features mix the features of two photos of the
// collection, with noise, and are read from a cache instead of computed. Two
// rows build one index of real photos, first by decoding them and then from the
// cache, which shows what decoding adds. The largest index holds copies of the
// collection.
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
	"cpar/internal/indexdir"
	"cpar/internal/paper"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/photo/decode"
	"cpar/user"
)

// Options configure Measure. A size of 0 leaves out its rows.
type Options struct {
	Data, Cache string // the collection, and a folder for its features
	Cpar, Cpard string // programs, built by the go command if ""
	Work        string // folder for derived photos and indexes
	Sizes
	// LimitMB limits cpar, and ServerLimitMB limits cpard.
	LimitMB, ServerLimitMB int
	Done                   func(Row)
	Progress               user.Progress
}

// Sizes holds numbers of photos.
type Sizes struct {
	Decoded int // of the two builds that show what decoding adds
	Photos  int // of the builds with profiles learned and network
	Paper   int // of the build with profile paper
	Large   int // of the index that is built, updated, searched and served
	Grown   int // of the largest index that is updated, searched and served
}

// DefaultSizes are the sizes of docs/results.md. DefaultLimitMB and
// DefaultServerLimitMB are the limits.
var DefaultSizes = Sizes{Decoded: 1000, Photos: 5000, Paper: 20_000, Large: 100_000, Grown: 1_000_000}

const DefaultLimitMB, DefaultServerLimitMB = 8192, 512

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
	key, features string       // the key file, and the folder with the features of derived photos
	photos        []user.Photo // the collection with its features
	items         []dataset.Photo
}

// Measure measures all rows. Features are computed before, so that rows contain
// only the time to read them, except where photos are decoded or annotated.
func Measure(ctx context.Context, o Options) (*Result, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	m := &measurement{Options: o, key: filepath.Join(o.Work, "key"), features: filepath.Join(o.Work, "features")}
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
	m.photos, m.items = slices.Concat(corpus.Train, corpus.Test), slices.Concat(corpus.TrainItems, corpus.TestItems)
	if _, err := m.run(ctx, m.Cpar, "init", "--no-passphrase", "--key", m.key); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		n       int
		measure func(context.Context) error
	}{{o.Decoded, m.decoded}, {max(o.Photos, o.Paper), m.builds}, {o.Large, m.large}, {o.Grown, m.grown}} {
		if part.n > 0 {
			if err := part.measure(ctx); err != nil {
				return &m.Result, err
			}
		}
	}
	return &m.Result, nil
}

// decoded measures builds of real photos with an empty cache, and with the cache
// that the first build has filled.
func (m *measurement) decoded(ctx context.Context) error {
	folder := filepath.Join(m.Work, "real")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	items := m.items[:min(m.Decoded, len(m.items))]
	if err := writeManifest(folder, len(items), func(i int) (string, []string, error) {
		b, err := os.ReadFile(items[i].Path)
		name := fmt.Sprintf("%07d%s", i, filepath.Ext(items[i].Path))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), b, 0o600)
		}
		return name, items[i].Keywords, err
	}); err != nil {
		return err
	}
	for _, name := range []string{"build, photos decoded", "build, features cached"} {
		if err := m.row(ctx, name, len(items), "build", folder, "--out", filepath.Join(m.Work, "real.index"), "--replace", "--cache", filepath.Join(m.Work, "decoded")); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) builds(ctx context.Context) error {
	for _, b := range []struct {
		profile string
		n       int
	}{{"learned", m.Photos}, {"network", m.Photos}, {"paper", m.Paper}} {
		if b.n == 0 {
			continue
		}
		folder, err := m.collection(ctx, "photos", 0, b.n)
		if err != nil {
			return err
		}
		if err := m.row(ctx, "build "+b.profile, b.n, "build", folder, "--profile", b.profile, "--out", filepath.Join(m.Work, b.profile+".index"), "--cache", m.features); err != nil {
			return err
		}
	}
	return nil
}

// large measures the commands that use a large index of the default profile.
func (m *measurement) large(ctx context.Context) error {
	folder, err := m.collection(ctx, "photos", 0, m.Large)
	index := filepath.Join(m.Work, "large.index")
	if err == nil {
		err = m.row(ctx, "build", m.Large, "build", folder, "--out", index, "--cache", m.features)
	}
	if err == nil {
		err = m.update(ctx, index, m.Large)
	}
	return err
}

// grownFrom is the number of photos from which the largest index is grown. Its
// profile has few landmarks, so the vectors of a million photos are computed
// quickly.
const grownFrom = 300

// grown grows an index without measuring, by adding copies of the collection, and
// then measures an addition.
func (m *measurement) grown(ctx context.Context) error {
	n, index := min(grownFrom, m.Grown/10), filepath.Join(m.Work, "grown.index")
	folder, err := m.collection(ctx, "photos", 0, n)
	if err == nil {
		_, err = m.run(ctx, m.Cpar, "build", folder, "--out", index, "--key", m.key, "--cache", m.features)
	}
	if err != nil {
		return err
	}
	key, err := user.ReadKeyFile(m.key, user.Unlock{})
	if err != nil {
		return err
	}
	const step = 50_000 // bounds memory
	for n < m.Grown-addedPhotos {
		some := make([]user.Photo, min(step, m.Grown-addedPhotos-n))
		for i := range some {
			some[i] = m.photos[i%len(m.photos)]
			some[i].Content = decode.ContentDigest(fmt.Appendf(nil, "copy %d", n+i))
		}
		if _, err := user.Add(ctx, key, index, some, m.Progress); err != nil {
			return err
		}
		n += len(some)
	}
	return m.update(ctx, index, n)
}

// update adds derived photos to an index of n photos, and measures the addition
// and the use of the index.
func (m *measurement) update(ctx context.Context, index string, n int) error {
	folder, err := m.collection(ctx, "added", n, addedPhotos)
	if err == nil {
		err = m.row(ctx, "add", n+addedPhotos, "add", folder, "--index", index, "--cache", m.features)
	}
	if err != nil {
		return err
	}
	return m.served(ctx, index, n+addedPhotos)
}

// served measures cpard with an index of n photos, and annotations of photos
// whose features are not cached. The first annotation also fetches the
// keywords.
func (m *measurement) served(ctx context.Context, index string, n int) error {
	manifest, err := indexdir.ReadManifest(index)
	if err != nil {
		return err
	}
	began, name := time.Now(), strings.TrimSuffix(filepath.Base(index), ".index")
	s, err := m.serve(ctx, filepath.Join(m.Work, name+".cloud"))
	if err != nil {
		return err
	}
	defer s.kill()
	if _, err := m.run(ctx, m.Cpar, "push", index, "--cloud", s.url, "--key", m.key); err != nil {
		return err
	}
	cpard := Row{Name: fmt.Sprintf("cpard, an index of %d MB", manifest.Bytes()/1e6), Photos: n}
	for i, row := range []string{"annotate, first", "annotate"} {
		if err := m.row(ctx, row, n, "annotate", m.items[len(m.items)-1-i].Path, "--index", name, "--cloud", s.url); err != nil {
			return err
		}
		if i == 0 {
			cpard.Seconds = measure.RoundTo(time.Since(began).Seconds(), 2)
		}
	}
	if cpard.PeakMB, err = s.stop(); err == nil {
		m.add(cpard)
	}
	return err
}

// row measures one run of cpar.
func (m *measurement) row(ctx context.Context, name string, photos int, args ...string) error {
	began := time.Now()
	peak, err := m.run(ctx, append(append([]string{m.Cpar}, args...), "--key", m.key)...)
	if err != nil {
		return fmt.Errorf("measuring %s: %w", name, err)
	}
	m.add(Row{name, photos, peak, measure.RoundTo(time.Since(began).Seconds(), 2)})
	return nil
}

func (m *measurement) add(r Row) {
	r.PeakMB = measure.RoundTo(r.PeakMB, 0)
	m.Rows = append(m.Rows, r)
	if m.Done != nil {
		m.Done(r)
	}
}

// mixedAtOnce is the number of photos whose features are in memory while they
// are mixed.
const mixedAtOnce = 1000

// collection writes a folder of n files that stand for photos, and their
// features into a cache. Each file holds a number, from `first` on, instead of
// an image. Nothing decodes it, because its features are cached.
func (m *measurement) collection(ctx context.Context, name string, first, n int) (string, error) {
	folder := filepath.Join(m.Work, fmt.Sprint(name, "-", first, "-", n))
	cache, err := feature.OpenCache(m.features)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return "", err
	}
	var some []user.Photo
	return folder, writeManifest(folder, n, func(i int) (string, []string, error) {
		number := first + i
		if i%mixedAtOnce == 0 {
			if some, err = m.mixed(ctx, number); err != nil {
				return "", nil, err
			}
		}
		file, data, p := fmt.Sprintf("%07d.jpg", number), fmt.Appendf(nil, "photo %d\n", number), some[i%mixedAtOnce]
		err := os.WriteFile(filepath.Join(folder, file), data, 0o600)
		if err == nil {
			err = cache.Put(decode.ContentDigest(data), p.Vectors)
		}
		return file, p.Keywords, err
	})
}

// mixed returns mixedAtOnce photos from number `first` on: first the collection,
// then derived photos.
func (m *measurement) mixed(ctx context.Context, first int) ([]user.Photo, error) {
	some := m.photos[min(first, len(m.photos)):min(first+mixedAtOnce, len(m.photos))]
	turn := first / mixedAtOnce % len(m.photos) // each batch mixes other pairs
	mixed, err := measure.MixFeatures(ctx, slices.Concat(m.photos[turn:], m.photos[:turn]), mixedAtOnce-len(some), m.Progress)
	return slices.Concat(some, mixed), err
}

// writeManifest calls `write` for each photo of a collection, and then writes
// the manifest.
func writeManifest(folder string, n int, write func(i int) (file string, keywords []string, err error)) error {
	var b strings.Builder
	b.WriteString("path,keywords\n")
	for i := range n {
		file, keywords, err := write(i)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s,%s\n", file, strings.Join(keywords, ";"))
	}
	return os.WriteFile(filepath.Join(folder, dataset.ManifestName), []byte(b.String()), 0o600)
}
