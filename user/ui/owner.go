package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/internal/leakage"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user/device"
	"cpar/user/library"
)

const (
	// guess is the minimum probability of a keyword shown: one in ten is right.
	guess = 0.1
	// maxShownWords bounds the keywords shown and written per photo.
	maxShownWords = 12
	startBytes    = 6144
)

// LibraryOptions configure the page of a library.
type LibraryOptions struct {
	Folders []string
	List    photo.Options
	// Where and Style select where and how keywords are written.
	Where     metadata.Where
	Style     metadata.Style
	KeepMtime bool
	// Threshold is the minimum probability of keywords written without
	// confirmation.
	Threshold float64
	// Params selects the search parameters of an index.
	Params func(*device.Index) (cpar.Params, error)
	// Cloud is the cloud's address for display.
	Cloud string
}

// A LibraryBackend is the Backend of a library and an index at a cloud.
type LibraryBackend struct {
	library *library.Library
	o       LibraryOptions

	asking sync.Mutex // an index does not allow concurrent use
	index  *device.Index
	// state is a copy of the index after the last request, for readers.
	state atomic.Pointer[device.Index]

	mu   sync.Mutex
	also map[string][]string // further files of a photo's shot
}

// NewLibraryBackend returns the backend of a library.
func NewLibraryBackend(l *library.Library, x *device.Index, o LibraryOptions) *LibraryBackend {
	w := &LibraryBackend{library: l, o: o, index: x, also: map[string][]string{}}
	if x.Ranker().Kind() != rank.KindCalibrated {
		w.o.Threshold = 0
	}
	w.keepState()
	return w
}

// keepState copies the index for readers. The caller holds asking.
func (w *LibraryBackend) keepState() {
	x := *w.index
	w.state.Store(&x)
}

func (w *LibraryBackend) Settings() Settings {
	x := w.state.Load()
	short := x.Profile().Kind() != profile.Paper
	return Settings{Index: cmp.Or(x.Name(), x.ID().String()), Records: int(x.Manifest.Records), Scheme: x.Scheme().String(),
		Protects: strings.TrimPrefix(leakage.Protects(x.Scheme(), short), "note: "), Profile: x.Profile().Kind().String(), Cloud: w.o.Cloud,
		Threshold: int(math.Round(100 * w.o.Threshold)), Where: string(w.o.Where), Style: string(w.o.Style)}
}

// Photos lists the photos below the folders. An empty listing is no error.
func (w *LibraryBackend) Photos(ctx context.Context) (paths []string, skipped string, err error) {
	roots := make([]string, len(w.o.Folders))
	for i, folder := range w.o.Folders {
		if roots[i], err = filepath.Abs(folder); err != nil {
			return nil, "", fmt.Errorf("looking for photos: %w: %w", cpar.ErrInput, err)
		}
	}
	found, err := photo.List(ctx, roots, w.o.List)
	if err != nil && (found == nil || ctx.Err() != nil) {
		return nil, "", err
	}
	also := map[string][]string{}
	for _, p := range found.Photos {
		paths = append(paths, p.Path)
		also[p.Path] = p.Also
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.also = also
	return paths, found.Summary(), nil
}

func (w *LibraryBackend) shots(paths ...string) []photo.Photo {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]photo.Photo, len(paths))
	for i, path := range paths {
		list[i] = photo.Photo{Path: path, Also: w.also[path]}
	}
	return list
}

func (w *LibraryBackend) options() library.Options {
	o := library.Options{Params: w.o.Params, OnErrors: -1, MaxKeywords: maxShownWords, MinProbability: guess, Command: "ui"}
	if w.o.Threshold == 0 {
		o.MinProbability = 0
	}
	return o
}

// Look reads the keywords in and beside a photo and its stored answer.
func (w *LibraryBackend) Look(path string) (*Known, error) {
	if err := w.inside(path); err != nil {
		return nil, err
	}
	known, err := lookAt(path, w.library.Machine(path))
	if err != nil {
		return nil, err
	}
	results, err := w.library.Recall(context.Background(), w.state.Load(), w.shots(path), w.options())
	if err != nil {
		return nil, err
	}
	r := &results[0]
	switch {
	case r.Err != nil:
		return nil, r.Err
	case r.Known:
		known.Asked, known.Keywords, known.Near = true, r.Keywords, r.Near
	}
	return known, nil
}

// lookAt reads the keywords in and beside a photo.
func lookAt(path string, machine []string) (*Known, error) {
	words, problems, err := metadata.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return knownOf(words, problems, machine), nil
}

func knownOf(words metadata.Keywords, problems []metadata.Problem, machine []string) *Known {
	k := &Known{Machine: words.Machine, Rejected: words.Rejected}
	for _, s := range words.Human {
		if has(machine, s) {
			k.Machine = append(k.Machine, s)
		} else {
			k.Yours = append(k.Yours, s)
		}
	}
	k.Yours = append(k.Yours, words.People...)
	for _, p := range problems {
		k.Problems = append(k.Problems, filepath.Base(p.Path)+": "+p.Detail)
	}
	return k
}

// Annotate annotates photos.
func (w *LibraryBackend) Annotate(ctx context.Context, paths []string) ([]Answer, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	defer w.keepState()
	o := w.options()
	saw := map[int]*CloudView{}
	o.Sending = func(i int, q *cpar.Request) (err error) {
		saw[i], err = newCloudView(q)
		return err
	}
	at := map[string]int{}
	for i, path := range paths {
		at[path] = i
	}
	answers := make([]Answer, len(paths))
	told := 0
	_, err := w.library.Annotate(ctx, w.index, w.shots(paths...), o, func(r library.Result) {
		i := at[r.Path]
		told = max(told, i+1)
		answers[i] = Answer{r.Keywords, r.Near, saw[i].answered(&r.Asked, len(r.Near)), r.Err}
	})
	return answers[:told], err
}

// Write writes the decision and then the likely suggestions in two runs, so
// that each can be undone separately.
func (w *LibraryBackend) Write(ctx context.Context, path string, d Decision) (*Written, error) {
	if err := w.inside(path); err != nil {
		return nil, err
	}
	out := &Written{Added: []string{}}
	if err := w.decide(ctx, path, d, out); err != nil {
		return nil, err
	}
	known, err := w.Look(path)
	if err != nil || !known.Asked || w.o.Threshold == 0 {
		return out, err
	}
	o := w.options()
	o.Stored = true // the cloud must not see when the user writes
	o.Where, o.Style, o.KeepMtime, o.MinProbability = w.o.Where, w.o.Style, w.o.KeepMtime, w.o.Threshold
	var wrong error
	_, err = w.library.Annotate(ctx, w.state.Load(), w.shots(path), o, func(r library.Result) { wrong = out.take(r) })
	return out, errors.Join(err, wrong)
}

// decide writes a decision.
func (w *LibraryBackend) decide(ctx context.Context, path string, d Decision, out *Written) error {
	if d.empty() {
		return nil
	}
	r, err := w.library.Decide(ctx, path, w.o.Where, w.o.Style, w.o.KeepMtime, d.Accept, d.Reject, d.Add)
	if err != nil {
		return err
	}
	return out.take(r)
}

func (out *Written) take(r library.Result) error {
	if r.Err != nil {
		return r.Err
	}
	if len(r.Files) > 0 {
		out.Run, out.File = r.Run, filepath.Base(r.Files[0])
	}
	out.Added = append(out.Added, r.Added...)
	return nil
}

// Runs lists the runs that wrote files, newest first.
func (w *LibraryBackend) Runs() ([]library.Run, error) {
	all, err := w.library.Runs()
	all = slices.DeleteFunc(all, func(r library.Run) bool { return r.Files == 0 })
	slices.Reverse(all)
	return all, err
}

func (w *LibraryBackend) Undo(ctx context.Context, id string) (*Undone, error) {
	u, err := w.library.Undo(ctx, id, false, nil)
	if err != nil {
		return nil, err
	}
	return &Undone{len(u.Restored), len(u.Retracted), len(u.Left) + len(u.Gone)}, nil
}

func (w *LibraryBackend) Find(_ context.Context, word string) (paths []string, err error) {
	var related []string
	if w.index != nil {
		related = w.index.Vocabulary().Related(word)
	}
	for _, r := range w.library.Find(word, related...) {
		paths = append(paths, r.Path)
	}
	return paths, nil
}
