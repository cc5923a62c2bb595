package ui

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/internal/leakage"
	"cpar/internal/scene"
	"cpar/model/rank"
	"cpar/user/library"
	"cpar/user/vocabulary"
)

// A fake is a library without an index. It suggests the words that its photos
// were painted with.
type fake struct {
	dir string

	mu    sync.Mutex
	known map[string]*Known
	truth map[string][]string
	runs  []library.Run
	undo  map[string]func()
	asked int
	fail  error // returned when annotating
	// writing, if not nil, is called during a write.
	writing func()
	chosen  []Choice
	limit   float64 // minimum probability of a likely keyword

	rules, formerRules *vocabulary.Vocabulary
	fixed              string
}

const fakeWord = "dusk"

func newFake(t testing.TB, n int) *fake {
	t.Helper()
	f := &fake{limit: 0.5, dir: t.TempDir(), known: map[string]*Known{}, truth: map[string][]string{}, undo: map[string]func(){}}
	for i := range n {
		jpg, words, err := scene.RenderJPEG(11, i)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(f.dir, []string{"harbour", "hills"}[i%2], fmt.Sprintf("%02d.jpg", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, jpg, 0o600); err != nil {
			t.Fatal(err)
		}
		f.truth[path], f.known[path] = words, &Known{}
	}
	return f
}

func (f *fake) Settings() Settings {
	return Settings{Index: "holidays", Records: 1200, Scheme: "sealed", Protects: leakage.Protects(cpar.SchemeSealed, true), Profile: "learned",
		Cloud: "http://127.0.0.1:8080", Threshold: 50, Right: 67, limit: f.limit, Where: "sidecar", Style: "append"}
}

func (f *fake) Photos(context.Context) (paths []string, skipped string, err error) {
	for path := range f.known {
		paths = append(paths, path)
	}
	return paths, "3 files left out: 2 videos, 1 hidden", nil
}

func (f *fake) Look(path string) (*Known, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := *f.known[path]
	k.Keywords = f.rules.Apply(k.Keywords)
	return &k, nil
}

func (f *fake) answer(words []string) Answer {
	a := Answer{CloudView: &CloudView{Scheme: "sealed", Sent: 360_488, Received: 41_216, Visited: 1200, Bytes: 360_448, Learnt: leakage.Learnt(cpar.SchemeSealed, 1200, 10),
		Observations: []leakage.Observation{{What: "the header: 10 neighbours", Bytes: 64, Learns: "the index, and how many neighbours are wanted"},
			{What: "11 ring-LWE ciphertexts of the query", Bytes: 360_384, Learns: "nothing, by the assumption of decision ring-LWE"}}}}
	for i := range 6144 {
		a.CloudView.Start = append(a.CloudView.Start, byte(i*i*7919>>5^i*31))
	}
	for i, w := range append(words, fakeWord, "holiday") {
		p := 0.97 - 0.13*float64(i)
		a.Keywords = append(a.Keywords, rank.Keyword{Word: w, Weight: 9 * p, Probability: max(0.06, p)})
	}
	for i := range 8 {
		a.Near = append(a.Near, rank.Neighbour{Record: uint32(100 + i), Dis: 0.4 + 0.11*float64(i), Keywords: append(slices.Clone(words[:max(1, len(words)-i%3)]), "archive")})
	}
	return a
}

func (f *fake) Annotate(ctx context.Context, paths []string) (out []Answer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	for _, path := range paths {
		f.asked++
		a := f.answer(f.truth[path])
		k := *f.known[path]
		k.Asked, k.Keywords, k.Near = true, a.Keywords, a.Near
		f.known[path] = &k
		out = append(out, a)
	}
	return out, ctx.Err()
}

func (f *fake) AnnotateData(context.Context, []byte) (Answer, error) {
	f.asked++
	return f.answer([]string{"sea", "boat"}), f.fail
}

func (f *fake) LookData(string, []byte) (*Known, error) { return &Known{Yours: []string{"old"}}, nil }

func (f *fake) Sidecar(name string, _ []byte, _ *Known, d Decision) ([]byte, error) {
	return fmt.Appendf(nil, "<sidecar>%s %v</sidecar>", name, d), nil
}

// Write writes the words with a probability of 0.5 as machine keywords, if
// asked.
func (f *fake) Write(_ context.Context, list []Change) (results []library.Result, _ error) {
	if f.writing != nil {
		f.writing()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := maps.Clone(f.known)
	r := library.Run{ID: fmt.Sprintf("run%d", len(f.runs)+1), Began: time.Date(2026, 11, 22, 19, 0, 0, 0, time.UTC), Command: "ui"}
	for _, x := range list {
		k := *f.known[x.Path]
		k.Yours = slices.Concat(k.Yours, x.Accept, x.Add)
		k.Rejected = slices.Concat(k.Rejected, x.Reject)
		for _, w := range k.Keywords {
			if x.Likely && w.Probability >= 0.5 && !has(k.Yours, w.Word) && !has(k.Rejected, w.Word) {
				k.Machine = append(k.Machine, w.Word)
			}
		}
		f.known[x.Path] = &k
		added := slices.Concat(x.Accept, x.Add, k.Machine)
		r.Files, r.Keywords = r.Files+1, r.Keywords+len(added)
		results = append(results, library.Result{Path: x.Path, Run: r.ID, Files: []string{x.Path + ".xmp"}, Added: added})
	}
	f.runs = slices.Insert(f.runs, 0, r)
	f.undo[r.ID] = func() { f.known = before }
	return results, nil
}

func (f *fake) Choose(c Choice) error {
	f.chosen = append(f.chosen, c)
	return nil
}

func (f *fake) Skipped() []leftOut {
	return []leftOut{{"hills/film.mov", "video"}, {"hills/locked.jpg", "file or folder unreadable: permission denied"}}
}

// Locate maps the first photos by name to the records that answers name.
func (f *fake) Locate(context.Context) (func(content [32]byte) []uint32, error) {
	return func(content [32]byte) []uint32 {
		if content[0] == 0 {
			return nil
		}
		return []uint32{99 + uint32(content[0])}
	}, nil
}

func (f *fake) Content(path string) (content [32]byte, _ bool) {
	content[0] = byte(1 + slices.Index(slices.Sorted(maps.Keys(f.truth)), path))
	return content, true
}

func (f *fake) Vocabulary() []string { return []string{"Dune", "duck", "harbour"} }

func (f *fake) Rules() (*vocabulary.Vocabulary, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rules, f.fixed
}

func (f *fake) SetRules(_ context.Context, v *vocabulary.Vocabulary) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.formerRules = v, f.rules
	return f.fail
}

func (f *fake) UndoRules(ctx context.Context) error { return f.SetRules(ctx, f.formerRules) }

func (f *fake) Runs() ([]library.Run, error) { return f.runs, nil }

func (f *fake) Undo(_ context.Context, id string) (*Undone, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, r := range f.runs {
		if r.ID == id && !r.Undone {
			f.runs[i].Undone = true
			f.undo[id]()
			return &Undone{Restored: 1, Paths: slices.Collect(maps.Keys(f.known))}, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no run %s", cpar.ErrInput, id)
}

func (f *fake) Find(_ context.Context, word string) (paths []string, err error) {
	for path, k := range f.known {
		if has(k.Yours, word) || has(k.Machine, word) {
			paths = append(paths, path)
		}
	}
	return append(paths, "/elsewhere/photo.jpg"), nil
}

// start serves a fake and returns the server and its address.
func start(t testing.TB, f *fake) (s *Server, address string) {
	t.Helper()
	return startBackend(t, f, f.dir)
}

func startBackend(t testing.TB, b Backend, dir string) (s *Server, address string) {
	t.Helper()
	photos, err := openShelf([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(photos.close)
	if err := photos.fill(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = newServer(listener.Addr().String(), b, photos)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, "http://" + s.host + "/#token=" + s.token
}
