package album

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpar/internal/testing/blobtest"
	"cpar/user"
	"cpar/user/album/blobs"
	"cpar/user/album/query"
	"cpar/user/device"
)

// A world is an owner's key, a server and folders.
type world struct {
	t     *testing.T
	key   *user.Key
	store *blobtest.Memory
	now   time.Time
	root  string
}

func newWorld(t *testing.T) *world {
	return &world{t: t, key: user.NewKey(), store: blobtest.NewMemory(), now: time.Now(), root: t.TempDir()}
}

func (w *world) open(name string) *Album { return w.over(name, w.store) }

func (w *world) over(name string, s blobs.Store) *Album {
	w.t.Helper()
	a, err := Open(w.t.Context(), Options{Store: s, Key: w.key, Now: func() time.Time { return w.now },
		Device: &device.Device{State: filepath.Join(w.root, "device "+name)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// photos writes n JPEG files, each with a sidecar for every second one, and
// returns their folder.
func (w *world) photos(name string, n int, seed uint64) string {
	w.t.Helper()
	dir := filepath.Join(w.root, name)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("%d/IMG_%04d.jpg", 2020+i%3, i))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			w.t.Fatal(err)
		}
		must(w.t, os.WriteFile(file, picture(w.t, r), 0o644))
		if i%2 == 0 {
			must(w.t, os.WriteFile(file+".xmp", sidecar([]string{"dog", "beach", "party"}[i%3], "all"), 0o644))
		}
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// picture returns a JPEG file of noise with a random tail, so that no two are
// equal.
func picture(t *testing.T, r *rand.Rand) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 8, 8))
	for i := range 64 {
		m.Set(i%8, i/8, color.RGBA{uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()), 255})
	}
	var b bytes.Buffer
	must(t, jpeg.Encode(&b, m, nil))
	tail := make([]byte, 2000+r.IntN(20000))
	for i := range tail {
		tail[i] = byte(r.Uint32())
	}
	return append(b.Bytes(), tail...)
}

func sidecar(words ...string) []byte {
	var b strings.Builder
	for _, w := range words {
		fmt.Fprintf(&b, "<rdf:li>%s</rdf:li>", w)
	}
	return []byte(`<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
		`<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>` + b.String() +
		`</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`)
}

// tree returns the files below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var b []byte
			b, err = os.ReadFile(path)
			rel, _ := filepath.Rel(dir, path)
			out[filepath.ToSlash(rel)] = string(b)
		}
		return err
	}))
	return out
}

func (w *world) add(a *Album, dir string) Added {
	w.t.Helper()
	sum, err := a.Add(w.t.Context(), []string{dir}, AddOptions{PlaceDigits: 2})
	must(w.t, err)
	return sum
}

func parse(t *testing.T, text string) query.Query {
	t.Helper()
	q, err := query.Parse(text, nil)
	must(t, err)
	return q
}

func (w *world) find(a *Album, text string) (paths []string) {
	w.t.Helper()
	for _, p := range a.Find(parse(w.t, text), false) {
		paths = append(paths, p.Path())
	}
	return paths
}

// same checks that the album gives back a folder, byte for byte.
func (w *world) same(a *Album, dir string) {
	w.t.Helper()
	to := w.t.TempDir()
	q := "folder:" + filepath.Base(dir)
	if _, err := a.Get(w.t.Context(), a.Find(parse(w.t, q), false), to, nil); err != nil {
		w.t.Fatal(err)
	}
	if want, got := tree(w.t, dir), tree(w.t, filepath.Join(to, filepath.Base(dir))); !maps.Equal(want, got) {
		w.t.Errorf("%d files came back, want %d with equal bytes", len(got), len(want))
	}
}
