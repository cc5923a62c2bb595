package ui

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/scene"
	"cpar/model/rank"
	"cpar/photo/dataset"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/library"
	"cpar/user/vocabulary"
)

// A house is an owner with an index of 32 painted photos at a cloud and a
// folder of three new ones.
type house struct {
	*LibraryBackend
	dir   string
	cache string             // the device's
	alter func(reply []byte) // nil for an honest cloud
	asked int
}

func newHouse(t *testing.T, ranker rank.Kind) *house {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	paint := func(path string, i int) []string {
		jpg, words, err := scene.RenderJPEG(5, i)
		check(err)
		check(os.WriteFile(path, jpg, 0o600))
		return words
	}
	tagged := t.TempDir()
	var items []dataset.Photo
	for i := range 32 {
		path := filepath.Join(tagged, fmt.Sprintf("%02d.jpg", i))
		items = append(items, dataset.Photo{Name: filepath.Base(path), Path: path, Keywords: paint(path, i)})
	}
	images, _, err := user.ReadPhotos(t.Context(), items, user.ReadOptions{})
	check(err)
	key := user.NewKey()
	b, err := user.Setup(t.Context(), key, images, user.Options{Ranker: ranker, Name: "holidays"})
	check(err)
	index := filepath.Join(t.TempDir(), "index")
	_, err = b.Encrypt(t.Context(), index)
	check(err)

	h := &house{dir: t.TempDir()}
	c, err := cloud.New(t.TempDir(), store.Options{})
	check(err)
	handler, err := api.New(c.Store, c, api.Options{})
	check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/annotate") {
			handler.ServeHTTP(w, r)
			return
		}
		h.asked++
		kept := httptest.NewRecorder()
		handler.ServeHTTP(kept, r)
		body := kept.Body.Bytes()
		if h.alter != nil {
			h.alter(body)
		}
		w.Header().Set("Content-Type", kept.Header().Get("Content-Type"))
		w.WriteHeader(kept.Code)
		w.Write(body)
	}))
	t.Cleanup(func() { server.Close(); c.Close() })
	client, err := cparhttp.New(server.URL, nil)
	check(err)
	dev := &device.Device{State: t.TempDir(), Cache: t.TempDir()}
	h.cache = dev.Cache
	check(dev.Made(key, index, nil))
	_, err = dev.Push(t.Context(), client, index, device.PushOptions{})
	check(err)
	x, err := dev.Open(t.Context(), client, key, device.OpenOptions{})
	check(err)
	l, err := library.Open(key, dev)
	check(err)
	for i := range 3 {
		paint(filepath.Join(h.dir, fmt.Sprintf("new%d.jpg", i)), 40+i)
	}
	h.LibraryBackend = NewLibraryBackend(l, x, LibraryOptions{Folders: []string{h.dir}, Where: metadata.Sidecar, Style: metadata.Append, Threshold: 0.5, Cloud: server.URL, Key: key, Device: dev, Client: client})
	return h
}

func (h *house) look(t *testing.T, path string) *Known {
	t.Helper()
	k, err := h.Look(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// cached returns the number of files in the cache.
func (h *house) cached(t *testing.T) (n int) {
	t.Helper()
	err := filepath.WalkDir(h.cache, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func writeOne(t *testing.T, b Backend, path string, d Decision) (library.Result, error) {
	t.Helper()
	results, err := b.Write(t.Context(), []Change{{path, d, true}})
	if err != nil {
		return library.Result{}, err
	}
	return results[0], results[0].Err
}

// file returns the name of the first changed file.
func file(r library.Result) string {
	if len(r.Files) == 0 {
		return ""
	}
	return filepath.Base(r.Files[0])
}

// likely returns the words written without confirmation.
func likely(k *Known) (words []string) {
	for _, w := range k.Keywords {
		if w.Probability >= 0.5 {
			words = append(words, w.Word)
		}
	}
	slices.Sort(words)
	return words
}

// Machine keywords and the user's keywords are written in one run.
func TestAnnotateWriteFindAndUndo(t *testing.T) {
	h := newHouse(t, rank.KindCalibrated)
	paths, _, err := h.Photos(t.Context())
	if err != nil || len(paths) != 3 {
		t.Fatalf("%+v, %v", paths, err)
	}
	path := paths[1]
	if k := h.look(t, path); k.Asked || h.asked != 0 {
		t.Errorf("before: %+v after %d questions", k, h.asked)
	}
	answers, err := h.Annotate(t.Context(), paths)
	if err != nil || len(answers) != 3 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for i, a := range answers {
		k := h.look(t, paths[i])
		if a.Err != nil || !k.Asked || len(a.Keywords) == 0 || fmt.Sprint(k.Keywords) != fmt.Sprint(a.Keywords) || len(k.Near) != len(a.Near) || len(a.Near) == 0 {
			t.Errorf("photo %d: %+v, known as %+v", i, a, k)
		}
		if s := a.CloudView; s == nil || s.Bytes < 10_000 || len(s.Start) != startBytes || s.Sent < s.Bytes || s.Visited != 32 || len(s.Observations) == 0 || s.Learnt == "" || !bytes.HasPrefix(s.Start, []byte("CPAR")) {
			t.Errorf("photo %d: the cloud saw %+v", i, a.CloudView)
		}
	}
	if bytes.Equal(answers[0].CloudView.Start, answers[1].CloudView.Start) {
		t.Error("one request is shown for two photos")
	}
	asked := h.asked
	if again, err := h.Annotate(t.Context(), []string{path}); err != nil || again[0].CloudView != nil || h.asked != asked {
		t.Errorf("asked again: %+v, %v", again, err)
	}

	words := likely(h.look(t, path))
	if len(words) < 2 {
		t.Fatalf("only %q is likely", words)
	}
	w, err := writeOne(t, h, path, Decision{Accept: words[:1], Reject: words[1:2], Add: []string{"holiday"}})
	if err != nil || file(w) != filepath.Base(path)+".xmp" || w.Run == "" {
		t.Fatalf("%+v, %v", w, err)
	}
	k := h.look(t, path)
	slices.Sort(k.Machine)
	if !has(k.Yours, words[0]) || !has(k.Yours, "holiday") || len(k.Yours) != 2 || !slices.Equal(k.Rejected, words[1:2]) || !slices.Equal(k.Machine, words[2:]) {
		t.Errorf("written: %+v of %q", k, words)
	}
	if w, err := writeOne(t, h, path, Decision{}); err != nil || file(w) != "" {
		t.Errorf("written again: %+v, %v", w, err)
	}
	if paths, _ := h.Find(t.Context(), "Holiday"); !slices.Equal(paths, []string{path}) {
		t.Errorf("found %q", paths)
	}
	runs, err := h.Runs()
	if err != nil || len(runs) != 1 || runs[0].ID != w.Run {
		t.Fatalf("runs %+v, %v", runs, err)
	}
	for _, r := range runs {
		if u, err := h.Undo(t.Context(), r.ID); err != nil || u.Restored != 1 {
			t.Errorf("undone: %+v, %v", u, err)
		}
	}
	if _, err := os.Stat(path + ".xmp"); err == nil {
		t.Error("the sidecar is still there")
	}
	if s := h.Settings(); s.Index != "holidays" || s.Records != 32 || s.Scheme != "sealed" || s.Threshold != 50 || strings.HasPrefix(s.Protects, "note") {
		t.Errorf("%+v", s)
	}
}

func TestPhotoOutsideFoldersIsNotWritten(t *testing.T) {
	h := newHouse(t, rank.KindCalibrated)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	data, err := os.ReadFile(filepath.Join(h.dir, "new1.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	known, err := h.LookData("a.jpg", data)
	if err != nil || len(known.Yours) > 0 {
		t.Fatalf("%+v, %v", known, err)
	}
	before := h.cached(t)
	a, err := h.AnnotateData(t.Context(), data)
	if err != nil || a.Err != nil || len(a.Keywords) == 0 || a.CloudView == nil {
		t.Fatalf("%+v, %v", a, err)
	}
	if after := h.cached(t); after != before {
		t.Errorf("the cache had %d files and has %d: some of the photo's data is kept", before, after)
	}
	known.Keywords = a.Keywords
	words := likely(known)
	b, err := h.Sidecar("a.jpg", data, known, Decision{Reject: words[:1], Add: []string{"holiday"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string][]byte{"a.jpg": data, "a.jpg.xmp": b} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := lookAt(filepath.Join(dir, "a.jpg"), nil)
	if err == nil {
		slices.Sort(got.Machine)
	}
	if err != nil || !slices.Equal(got.Yours, []string{"holiday"}) || !slices.Equal(got.Machine, words[1:]) || !slices.Equal(got.Rejected, words[:1]) {
		t.Errorf("%+v, %v; likely %q", got, err, words)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if runs, _ := h.Runs(); len(runs) > 0 {
		t.Errorf("runs %+v", runs)
	}
}

func TestWithoutProbabilitiesNothingIsSure(t *testing.T) {
	h := newHouse(t, rank.KindPaper)
	path := filepath.Join(h.dir, "new0.jpg")
	a, err := h.Annotate(t.Context(), []string{path})
	if err != nil || len(a[0].Keywords) == 0 || h.Settings().Threshold != 0 {
		t.Fatalf("%+v, %v, %+v", a, err, h.Settings())
	}
	if w, err := writeOne(t, h, path, Decision{}); err != nil || file(w) != "" {
		t.Errorf("%+v, %v", w, err)
	}
	word := a[0].Keywords[0].Word
	if _, err := writeOne(t, h, path, Decision{Accept: []string{word}}); err != nil {
		t.Fatal(err)
	}
	if k := h.look(t, path); !slices.Equal(k.Yours, []string{word}) || len(k.Machine) > 0 {
		t.Errorf("%+v", k)
	}
}

func TestAlteredReplyFailsItsPhoto(t *testing.T) {
	h := newHouse(t, rank.KindCalibrated)
	h.alter = func(b []byte) { b[len(b)-9] ^= 0x10 }
	path := filepath.Join(h.dir, "new0.jpg")
	for n := range 2 {
		a, err := h.Annotate(t.Context(), []string{path})
		if err != nil || !errors.Is(a[0].Err, cpar.ErrCloud) || len(a[0].Keywords) > 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		if k := h.look(t, path); k.Asked || h.asked != n+1 {
			t.Errorf("%+v, asked %d times", k, h.asked)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := h.AnnotateData(t.Context(), data); err != nil || !errors.Is(a.Err, cpar.ErrCloud) || len(a.Keywords) > 0 {
		t.Errorf("a stranger: %+v, %v", a, err)
	}
}

// A write waits for no request and sends none, so the cloud does not see when
// the user writes.
func TestWriteSendsNothing(t *testing.T) {
	h := newHouse(t, rank.KindCalibrated)
	paths, _, err := h.Photos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Annotate(t.Context(), paths[:1]); err != nil {
		t.Fatal(err)
	}
	asked := h.asked
	h.asking.Lock() // a request is under way
	defer h.asking.Unlock()
	w, err := writeOne(t, h, paths[0], Decision{})
	if err != nil || file(w) == "" || h.asked != asked {
		t.Errorf("%+v, %v, %d requests", w, err, h.asked-asked)
	}
	o := h.options()
	o.Stored = true
	sum, err := h.library.Annotate(t.Context(), h.state.Load(), h.shots(paths[1]), o, func(library.Result) {})
	if err != nil || sum.Failed != 1 || h.asked != asked {
		t.Errorf("without an answer: %+v, %v, %d requests", sum, err, h.asked-asked)
	}
}

// A neighbour below the opened folders is found by its content, even renamed.
func TestNeighboursBelowTheFoldersAreFound(t *testing.T) {
	h := newHouse(t, rank.KindCalibrated)
	jpg, words, err := scene.RenderJPEG(5, 7)
	path := filepath.Join(h.dir, "renamed.jpg")
	if err == nil {
		err = os.WriteFile(path, jpg, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, _ := startBackend(t, h, h.dir)
	c := caller{t: t, s: s}
	p, _ := s.photos.at(path)
	ask[view](c, "POST", "/api/decide", oneMark{p.id, words[0], "add"})
	ask[Written](c, "POST", "/api/write", map[string]string{"id": p.id})
	ask[[]outcome](c, "POST", "/api/annotate", ids{[]string{p.id}})
	s.surveyAll(t.Context())
	v := ask[[]view](c, "POST", "/api/look", ids{[]string{p.id}})[0]
	if len(v.Near) == 0 || v.Near[0].Photo != p.id || v.Near[0].Name != "renamed.jpg" || v.Near[1].Photo != "" {
		t.Errorf("near: %+v", v.Near)
	}
}

// A change of the vocabulary also pushes photos that wait in the folder of the
// index. The page shows the earlier answers until the user asks again.
func TestVocabularyChangeKeepsSuggestions(t *testing.T) {
	h := newHouse(t, rank.KindCalibrated)
	paths, _, err := h.Photos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Annotate(t.Context(), paths[:1]); err != nil {
		t.Fatal(err)
	}
	folder, err := h.indexFolder(h.index)
	if err != nil {
		t.Fatal(err)
	}
	_, before, err := h.o.Device.ToUpdate(h.o.Key, folder)
	if err != nil {
		t.Fatal(err)
	}
	images, _, err := user.ReadPhotos(t.Context(), []dataset.Photo{{Name: "new2.jpg", Path: paths[2], Keywords: []string{"sky"}}}, user.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Add(t.Context(), h.o.Key, folder, images, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.o.Device.Made(h.o.Key, folder, before); err != nil {
		t.Fatal(err)
	}
	v, err := vocabulary.Parse([]byte("never = ['todo']"))
	if err == nil {
		err = h.SetRules(t.Context(), v)
	}
	if err != nil {
		t.Fatal(err)
	}
	if k := h.look(t, paths[0]); !k.Asked || len(k.Keywords) == 0 {
		t.Errorf("the suggestions are gone: %+v", k)
	}
}
