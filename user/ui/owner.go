package ui

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/leakage"
	"cpar/internal/sanitize"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/library"
)

const (
	// minShown is the minimum probability of a keyword on the page. At this
	// probability, one keyword in ten is right.
	minShown      = 0.1
	maxShownWords = 12
	startBytes    = 6144
)

type LibraryOptions struct {
	Folders []string
	List    photo.Options
	// Where and Style select where and how keywords are written.
	Where     metadata.Where
	Style     metadata.Style
	KeepMtime bool
	// Threshold is the minimum probability of keywords written without confirmation.
	Threshold float64
	// Right is the share of correct keywords from which Threshold was computed,
	// or 0 if the user gave the threshold.
	Right float64
	// ThresholdOf returns the threshold for a share of correct keywords.
	ThresholdOf func(right float64) float64
	Params      func(*device.Index) (cpar.Params, error)
	Cloud       string
	// Key, Device and Client let the page change the vocabulary of the index.
	Key    *user.Key
	Device *device.Device
	Client *cparhttp.Client
}

// A LibraryBackend is the Backend of a library and an index at a cloud.
type LibraryBackend struct {
	library *library.Library
	o       LibraryOptions

	asking sync.Mutex // held while index is used, because an index does not allow concurrent use
	index  *device.Index
	// state is a copy of the index after the last request, for methods that
	// only read.
	state atomic.Pointer[device.Index]
	// earlier holds the keys of answers from earlier vocabularies.
	earlier atomic.Pointer[[]string]

	mu      sync.Mutex
	also    map[string][]string // a photo's other files, such as raw files, by path
	skipped []leftOut
	chosen  choices
}

// choices are the settings that the page can change.
type choices struct {
	where            metadata.Where
	style            metadata.Style
	keepMtime        bool
	threshold, right float64
}

func NewLibraryBackend(l *library.Library, x *device.Index, o LibraryOptions) *LibraryBackend {
	w := &LibraryBackend{library: l, o: o, index: x, also: map[string][]string{}}
	w.chosen = o.choices()
	if x.Ranker().Kind() != rank.KindCalibrated {
		w.chosen.threshold, w.chosen.right = 0, 0
	}
	w.keepState()
	w.earlier.Store(&[]string{})
	return w
}

func (o LibraryOptions) choices() choices {
	return choices{o.Where, o.Style, o.KeepMtime, o.Threshold, o.Right}
}

func (w *LibraryBackend) choices() choices {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chosen
}

func (w *LibraryBackend) Choose(c Choice) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.chosen
	if c.Where != nil {
		next.where = metadata.Where(*c.Where)
	}
	if c.Style != nil {
		next.style = metadata.Style(*c.Style)
	}
	if c.KeepMtime != nil {
		next.keepMtime = *c.KeepMtime
	}
	if c.Right != nil {
		if *c.Right < 1 || *c.Right > 99 || next.threshold == 0 || w.o.ThresholdOf == nil {
			return fmt.Errorf("changing a setting: %w: the share of right keywords must be 1 to 99 %%, and the index must have probabilities", cpar.ErrInput)
		}
		next.right = float64(*c.Right) / 100
		next.threshold = w.o.ThresholdOf(next.right)
	}
	if !slices.Contains([]metadata.Where{metadata.Sidecar, metadata.Embedded}, next.where) || !slices.Contains([]metadata.Style{metadata.Append, metadata.Adobe, metadata.Follow}, next.style) {
		return fmt.Errorf("changing a setting: %w: unknown place %q or style %q for keywords", cpar.ErrInput, next.where, next.style)
	}
	w.chosen = next
	return nil
}

func (w *LibraryBackend) Skipped() []leftOut {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.skipped)
}

// Locate fetches all photo identities of the index, so that the cloud does not
// learn which photos the user looks at.
func (w *LibraryBackend) Locate(ctx context.Context) (func(content [32]byte) []uint32, error) {
	return w.state.Load().Locate(ctx)
}

// Content returns the content digest of a photo that has not changed since it
// was annotated.
func (w *LibraryBackend) Content(path string) ([32]byte, bool) { return w.library.Content(path) }

func (w *LibraryBackend) Vocabulary() []string { return w.state.Load().Keywords() }

// keepState copies the index to state. The caller holds the mutex `asking`.
func (w *LibraryBackend) keepState() {
	x := *w.index
	w.state.Store(&x)
}

func (w *LibraryBackend) Settings() Settings {
	x, c := w.state.Load(), w.choices()
	short := x.Profile().Kind() != profile.Paper
	return Settings{Index: cmp.Or(x.Name(), x.ID().String()), Records: x.Tagged(), Scheme: x.Scheme().String(),
		Protects: strings.TrimPrefix(leakage.Protects(x.Scheme(), short), "note: "), Profile: x.Profile().Kind().String(), Cloud: w.o.Cloud,
		Threshold: int(math.Round(100 * c.threshold)), Right: int(math.Round(100 * c.right)), Where: string(c.where), Style: string(c.style), KeepMtime: c.keepMtime, limit: c.threshold}
}

// Photos lists the photos below the folders. An empty listing is not an error.
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
	w.also, w.skipped = also, nil
	for _, x := range found.Skipped {
		if x.Reason != photo.Sidecar && x.Reason != photo.System && x.Reason != photo.Hidden {
			why := strings.TrimPrefix(x.String(), sanitize.Text(x.Path)+": ")
			if x.Reason == photo.Video && photo.IsVideo(x.Path) {
				why = "videos are not shown here; cpar annotate handles them"
			}
			w.skipped = append(w.skipped, leftOut{w.below(x.Path), why})
		}
	}
	return paths, found.Summary(), nil
}

// below returns a path relative to the opened folder that contains the file.
func (w *LibraryBackend) below(path string) string {
	for _, folder := range w.o.Folders {
		if abs, err := filepath.Abs(folder); err == nil {
			if name, err := filepath.Rel(abs, path); err == nil && filepath.IsLocal(name) {
				return filepath.ToSlash(name)
			}
		}
	}
	return filepath.Base(path)
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
	o := library.Options{Params: w.o.Params, OnErrors: -1, MaxKeywords: maxShownWords, MinProbability: minShown, Command: "ui"}
	if w.choices().threshold == 0 {
		o.MinProbability = 0
	}
	return o
}

// Look reads a photo's stored answer and the keywords of the photo and its sidecars.
func (w *LibraryBackend) Look(path string) (*Known, error) {
	if err := w.inside(path); err != nil {
		return nil, err
	}
	known, err := lookAt(path, w.library.Machine(path))
	if err != nil {
		return nil, err
	}
	x, o := w.state.Load(), w.options()
	o.Earlier = *w.earlier.Load()
	results, err := w.library.Recall(context.Background(), x, w.shots(path), o)
	if err != nil {
		return nil, err
	}
	r := &results[0]
	switch {
	case r.Err != nil:
		return nil, r.Err
	case r.Known: // the answer may have words of an earlier vocabulary
		known.Asked, known.Keywords, known.Near = true, x.Vocabulary().Apply(r.Keywords), r.Near
		for i := range known.Near {
			known.Near[i].Keywords = x.Vocabulary().Words(known.Near[i].Keywords)
		}
	}
	return known, nil
}

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

// Write writes changes as one run. It sends nothing, so the cloud does not
// learn when the user writes.
func (w *LibraryBackend) Write(ctx context.Context, list []Change) ([]library.Result, error) {
	return w.write(ctx, list, w.Look)
}

func (w *LibraryBackend) write(ctx context.Context, list []Change, look func(path string) (*Known, error)) ([]library.Result, error) {
	c := w.choices()
	results := make([]library.Result, len(list))
	var todo []library.Decision
	var at []int
	for i, x := range list {
		d := library.Decision{Path: x.Path, Accept: x.Accept, Reject: x.Reject, Add: x.Add}
		err := w.inside(x.Path)
		if err == nil && x.Likely && c.threshold > 0 {
			d.Suggest, err = likelyWords(x, look, c.threshold)
		}
		if results[i] = (library.Result{Path: x.Path, Err: err}); err == nil && (len(d.Suggest) > 0 || !x.empty()) {
			todo, at = append(todo, d), append(at, i)
		}
	}
	if len(todo) == 0 {
		return results, nil
	}
	n := 0
	err := w.library.Decide(ctx, todo, library.Options{Where: c.where, Style: c.style, KeepMtime: c.keepMtime}, func(r library.Result) {
		results[at[n]] = r
		n++
	})
	for _, i := range at[n:] { // an interrupt prevented the remaining changes
		results[i].Err = cmp.Or(err, context.Canceled)
	}
	return results, err
}

// likelyWords returns the photo's likely suggestions that x neither accepts nor
// rejects.
func likelyWords(x Change, look func(path string) (*Known, error), threshold float64) (words []string, err error) {
	known, err := look(x.Path)
	if err != nil {
		return nil, err
	}
	for _, k := range candidates(known) {
		if !k.old && k.sure(threshold) && x.mark(k.word) == "" {
			words = append(words, k.word)
		}
	}
	return words, nil
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
	return &Undone{len(u.Restored), len(u.Retracted), len(u.Left) + len(u.Gone), u.Photos}, nil
}

func (w *LibraryBackend) Find(_ context.Context, word string) (paths []string, err error) {
	var related []string
	if x := w.state.Load(); x != nil {
		related = x.Vocabulary().Related(word)
	}
	for _, r := range w.library.Find(word, related...) {
		paths = append(paths, r.Path)
	}
	return paths, nil
}
