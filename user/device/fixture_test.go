package device

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/scene"
	"cpar/photo/dataset"
	"cpar/user"
)

// A world is a folder of painted photos, with devices and clouds.
type world struct {
	t      *testing.T
	dir    string
	images []user.Photo
	photos []string // files
}

func newWorld(t *testing.T, photos int) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	var items []dataset.Photo
	for i := range photos {
		jpg, words, err := scene.RenderJPEG(5, i)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(w.dir, string(rune('a'+i))+".jpg")
		if err := os.WriteFile(path, jpg, 0o600); err != nil {
			t.Fatal(err)
		}
		w.photos = append(w.photos, path)
		items = append(items, dataset.Photo{Name: filepath.Base(path), Path: path, Keywords: words})
	}
	var err error
	if w.images, _, err = user.ReadPhotos(t.Context(), items, user.ReadOptions{Strict: true}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) device(name string) *Device {
	return &Device{State: filepath.Join(w.dir, name, "state"), Cache: filepath.Join(w.dir, name, "cache")}
}

func (w *world) build(d *Device, key *user.Key, name string, o user.Options) string {
	w.t.Helper()
	folder := filepath.Join(w.dir, name)
	b, err := user.Setup(w.t.Context(), key, w.images, o)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := b.Encrypt(w.t.Context(), folder); err != nil {
		w.t.Fatal(err)
	}
	if err := d.Made(key, folder, nil); err != nil {
		w.t.Fatal(err)
	}
	return folder
}

// A site is a cloud that records its requests.
type site struct {
	*cparhttp.Client
	w      *world
	data   string
	server *httptest.Server
	// alter, if not nil, modifies the body of a response to /annotate.
	alter func(number int, body []byte)

	mu      sync.Mutex
	asked   []string // method and path of each request, digests shortened
	answers int
}

// cloud starts a cloud on a data folder.
func (w *world) cloud(data string) *site {
	w.t.Helper()
	c, err := cloud.New(data, store.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	h, err := api.New(c.Store, c, api.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	s := &site{w: w, data: data}
	s.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { s.serve(h, rw, r) }))
	w.t.Cleanup(func() { s.server.Close(); c.Close() })
	s.Client = w.client(s.server.URL)
	return s
}

func (w *world) client(url string) *cparhttp.Client {
	w.t.Helper()
	c, err := cparhttp.New(url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (s *site) serve(h http.Handler, rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	asking := strings.Contains(r.URL.Path, "/annotate")
	if asking {
		s.answers++
	}
	number, alter := s.answers, s.alter
	s.mu.Unlock()
	if !asking || alter == nil {
		h.ServeHTTP(rw, r)
		return
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	alter(number, body)
	for k, v := range rec.Header() {
		rw.Header()[k] = v
	}
	rw.WriteHeader(rec.Code)
	rw.Write(body)
}

// sent returns the number of requests that depend on photos.
func (s *site) sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers
}

// before returns a cloud with a copy of the current folder of s.
func (s *site) before() *site {
	s.w.t.Helper()
	to := filepath.Join(s.w.t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(s.data)); err != nil {
		s.w.t.Fatal(err)
	}
	return s.w.cloud(to)
}

func (w *world) push(d *Device, c *site, folder string, o PushOptions) *cpar.Manifest {
	w.t.Helper()
	p, err := d.Push(w.t.Context(), c.Client, folder, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return p.Manifest
}

// update adds a photo to an index, as cpar add does.
func (w *world) update(d *Device, key *user.Key, folder string) {
	w.t.Helper()
	_, before, err := d.ToUpdate(key, folder)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := user.Add(w.t.Context(), key, folder, w.images[:1], nil); err != nil {
		w.t.Fatal(err)
	}
	if err := d.Made(key, folder, before); err != nil {
		w.t.Fatal(err)
	}
}

// annotate annotates the first photo.
func (w *world) annotate(d *Device, cloud Cloud, key *user.Key, id cpar.IndexID) error {
	w.t.Helper()
	x, err := d.Open(w.t.Context(), cloud, key, OpenOptions{Index: id})
	if err != nil {
		return err
	}
	all, err := x.Annotate(w.t.Context(), []Photo{File(w.photos[0])}, AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 3}})
	if err == nil {
		err = all[0].Err
	}
	if err == nil && len(all[0].Keywords) == 0 {
		w.t.Errorf("no keywords: %+v", all[0])
	}
	return err
}
