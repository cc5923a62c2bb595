package library

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/scene"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/photo/dataset"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
)

// A world is an index of painted photos at a cloud, a device, and a folder of
// photos to annotate.
type world struct {
	t    *testing.T
	key  *user.Key
	dev  *device.Device
	dir  string // with the photos
	list []photo.Photo
	lib  *Library
	*site
}

// built is shared by all tests.
var built = sync.OnceValues(func() (*world, error) {
	dir, err := os.MkdirTemp("", "library")
	if err != nil {
		return nil, err
	}
	w := &world{key: user.NewKey(), dev: &device.Device{State: filepath.Join(dir, "state"), Cache: filepath.Join(dir, "cache")}, dir: dir}
	var items []dataset.Photo
	for i := range 40 {
		jpg, words, err := scene.RenderJPEG(5, i)
		path := filepath.Join(dir, fmt.Sprintf("%02d.jpg", i))
		if err == nil {
			err = os.WriteFile(path, jpg, 0o600)
		}
		if err != nil {
			return nil, err
		}
		items = append(items, dataset.Photo{Name: filepath.Base(path), Path: path, Keywords: words})
	}
	ctx := context.Background()
	images, _, err := user.ReadPhotos(ctx, items, user.ReadOptions{Strict: true})
	if err != nil {
		return nil, err
	}
	b, err := user.Setup(ctx, w.key, images, user.Options{Ranker: rank.KindCalibrated})
	if err != nil {
		return nil, err
	}
	if _, err = b.Encrypt(ctx, filepath.Join(dir, "index")); err != nil {
		return nil, err
	}
	return w, w.dev.Made(w.key, filepath.Join(dir, "index"), nil)
})

// A site is a cloud that counts requests and may lie.
type site struct {
	*cparhttp.Client
	mu      sync.Mutex
	batches int
	alter   func(body []byte)
	before  func(question int)
	seen    func(*http.Request) // every request
}

func (s *site) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches
}

func newWorld(t *testing.T, n int) *world {
	t.Helper()
	base, err := built()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, key: base.key, dir: t.TempDir(), dev: &device.Device{State: filepath.Join(t.TempDir(), "state"), Cache: base.dev.Cache}, site: &site{}}
	c, err := cloud.New(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := api.New(c.Store, c, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serve(h, rw, r) }))
	t.Cleanup(func() { server.Close(); c.Close() })
	if w.Client, err = cparhttp.New(server.URL, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := base.dev.Push(t.Context(), w.Client, filepath.Join(base.dir, "index"), device.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		w.paint(fmt.Sprintf("p%02d.jpg", i), 40+i)
	}
	w.lib = w.open()
	return w
}

func (s *site) serve(h http.Handler, rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	seen := s.seen
	s.mu.Unlock()
	if seen != nil {
		seen(r)
	}
	if !strings.Contains(r.URL.Path, "/annotate") {
		h.ServeHTTP(rw, r)
		return
	}
	s.mu.Lock()
	s.batches++
	n, alter, before := s.batches, s.alter, s.before
	s.mu.Unlock()
	if before != nil {
		before(n)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	if alter != nil {
		alter(body)
	}
	for k, v := range rec.Header() {
		rw.Header()[k] = v
	}
	rw.WriteHeader(rec.Code)
	rw.Write(body)
}

// paint adds a photo to annotate.
func (w *world) paint(name string, scenery int) string {
	w.t.Helper()
	jpg, err := painted(scenery)
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.dir, name)
	w.write(path, jpg)
	w.list = append(w.list, photo.Photo{Path: path})
	return path
}

// painted caches scenes, because painting is slow.
func painted(scenery int) ([]byte, error) {
	if b, ok := scenes.Load(scenery); ok {
		return b.([]byte), nil
	}
	b, _, err := scene.RenderJPEG(5, scenery)
	scenes.Store(scenery, b)
	return b, err
}

var scenes sync.Map

func (w *world) write(path string, b []byte) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// open opens the library again, as another process would.
func (w *world) open() *Library {
	w.t.Helper()
	l, err := Open(w.key, w.dev)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) index() *device.Index {
	w.t.Helper()
	x, err := w.dev.Open(w.t.Context(), w.Client, w.key, device.OpenOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// sidecars returns options under which every photo gets words.
func sidecars() Options {
	return Options{Where: metadata.Sidecar, Style: metadata.Follow, OnErrors: -1, MinProbability: 0.02, MaxKeywords: 4}
}

// annotate performs one run in a new process.
func (w *world) annotate(o Options) ([]Result, Summary) {
	w.t.Helper()
	all, sum, err := w.try(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return all, sum
}

func (w *world) try(o Options) (all []Result, sum Summary, err error) {
	w.t.Helper()
	w.lib = w.open()
	sum, err = w.lib.Annotate(w.t.Context(), w.index(), w.list, o, func(r Result) { all = append(all, r) })
	return all, sum, err
}

func (w *world) undo(id string) Undone {
	w.t.Helper()
	u, err := w.open().Undo(w.t.Context(), id, false, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

// tree returns the names and digests of the files in the photo folder.
func (w *world) tree() map[string][32]byte {
	w.t.Helper()
	out := map[string][32]byte{}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// words returns the machine keywords of a photo.
func (w *world) words(path string) []string {
	w.t.Helper()
	words, problems, err := metadata.ReadFile(path)
	if err != nil || len(problems) > 0 {
		w.t.Fatal(err, problems)
	}
	return slices.Sorted(slices.Values(words.Machine))
}

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }
