package library

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user/device"
)

// A feed is a fake watcher of folders: it passes lists of photos, and waits for
// the test between them.
type feed struct {
	lists   chan []photo.Photo
	mu      sync.Mutex
	retried map[string]time.Duration
}

func (f *feed) next(ctx context.Context) ([]photo.Photo, bool, error) {
	select {
	case l, ok := <-f.lists:
		if !ok {
			return nil, false, errors.New("the feed has ended")
		}
		return l, len(f.lists) > 0, nil
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

func (f *feed) retry(path string, after time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retried[filepath.Base(path)] = after
}

// follow passes lists of photos to a follower and returns when all is written.
func (w *world) follow(o Options, lists ...[]photo.Photo) (results []Result, problems []error, f *feed) {
	w.t.Helper()
	f = &feed{lists: make(chan []photo.Photo, len(lists)), retried: map[string]time.Duration{}}
	for _, l := range lists {
		f.lists <- l
	}
	close(f.lists)
	o.Command = "watch"
	follower := &Follower{Library: w.open(), Options: o, Next: f.next, Retry: f.retry,
		Open:    func(context.Context) (*device.Index, error) { return w.index(), nil },
		Pause:   func(context.Context, int) error { return nil },
		Each:    func(r Result) { results = append(results, r) },
		Batch:   func(Summary) {},
		Problem: func(err error) { problems = append(problems, err) },
	}
	if err := follower.Run(w.t.Context()); err == nil || err.Error() != "the feed has ended" {
		w.t.Fatal(err)
	}
	return results, problems, f
}

// TestFollowerAsksBesideWriting compares what the server sees while writing
// succeeds, fails, and does not begin before the last request. In the last case
// a follower that waited for writing would never end.
func TestFollowerAsksBesideWriting(t *testing.T) {
	none, wordless, blocked := sidecars(), sidecars(), sidecars()
	none.MinProbability = 1
	wordless.Suggest = func(string, []rank.Keyword) ([]string, error) { return nil, errors.New("no words") }
	all := make(chan struct{})
	blocked.Suggest = func(string, []rank.Keyword) ([]string, error) { <-all; return nil, nil }
	var first []string
	for _, c := range []struct {
		name    string
		o       Options
		written int
	}{{"many keywords", sidecars(), 40}, {"no keyword", none, 0}, {"failing writers", wordless, 0}, {"writing waits", blocked, 40}} {
		w := newWorld(t, 40)
		var saw []string
		asked := 0
		w.seen = func(r *http.Request) {
			if strings.Contains(r.URL.Path, "/segments/") {
				return // the first case fills the cache for all
			}
			saw = append(saw, fmt.Sprintf("%s %s, %d bytes", r.Method, r.URL.Path, r.ContentLength))
			if strings.Contains(r.URL.Path, "/annotate") {
				if asked++; asked == 4 && c.name == "writing waits" {
					close(all)
				}
			}
		}
		results, problems, f := w.follow(c.o, w.list[:16], w.list[16:20], w.list[20:])
		if len(results) != 40 || len(problems) > 0 || (len(f.retried) > 0) != (c.name == "failing writers") {
			t.Errorf("%s: %d results, %v, %v", c.name, len(results), problems, f.retried)
		}
		written := 0
		for _, r := range w.runs() {
			written += r.Files
		}
		if written != c.written {
			t.Errorf("%s: %d files", c.name, written)
		}
		if first == nil {
			first = saw
		}
		if !slices.Equal(saw, first) || asked != 4 {
			t.Errorf("%s: the server sees\n\t%s\nand not\n\t%s", c.name, strings.Join(saw, "\n\t"), strings.Join(first, "\n\t"))
		}
	}
}

func TestFollowerWritesOneRunPerBurst(t *testing.T) {
	w := newWorld(t, 6)
	before := w.tree()
	w.follow(sidecars(), w.list[:2], w.list[2:4])
	w.follow(sidecars(), w.list[4:])
	if runs := w.runs(); len(runs) != 2 || runs[0].Files != 4 || runs[1].Files != 2 {
		t.Errorf("%+v", runs)
	}
	asked := w.questions()
	w.undo("")
	w.undo("")
	results, _, _ := w.follow(sidecars(), w.list)
	if len(w.tree()) != len(before) || w.questions() != asked || len(results) != 6 {
		t.Errorf("annotated again after an undo: %d questions after %d", w.questions(), asked)
	}
}

// TestFollowerLeavesUndonePhotosToAnnotate checks that a follower reports the
// photos that it skips because their run was undone, even if an undo has touched
// their files, and that Annotate still writes them.
func TestFollowerLeavesUndonePhotosToAnnotate(t *testing.T) {
	for _, where := range []metadata.Where{metadata.Sidecar, metadata.Embedded} {
		w, o := newWorld(t, 2), sidecars()
		o.Where = where
		w.follow(o, w.list)
		for range 2 {
			if results, _, _ := w.follow(o, w.list); results[0].Undone || results[1].Undone {
				t.Errorf("%s: undone before the undo: %+v", where, results)
			}
		}
		w.undo("")
		for range 2 {
			if results, _, _ := w.follow(o, w.list); !results[0].Undone || !results[1].Undone || len(results[0].Files) > 0 {
				t.Errorf("%s: after the undo: %+v", where, results)
			}
		}
		if _, sum := w.annotate(o); sum.Written != 2 {
			t.Errorf("%s: annotate writes %+v", where, sum)
		}
		if results, _, _ := w.follow(o, w.list); results[0].Undone {
			t.Errorf("%s: undone although annotated again", where)
		}
	}
}

func TestFollowerRetriesWhatFailed(t *testing.T) {
	w := newWorld(t, 2)
	cut := w.paint("cut.jpg", 50)
	b, err := os.ReadFile(cut)
	if err != nil {
		t.Fatal(err)
	}
	w.write(cut, b[:len(b)/2])
	w.paint(unwritable(), 51)
	w.list = append(w.list, photo.Photo{Path: filepath.Join(w.dir, "gone.jpg")})
	results, problems, f := w.follow(sidecars(), w.list)
	if len(results) != 4 || len(problems) > 0 || !errors.Is(results[2].Err, ErrIncomplete) || len(f.retried) != 2 ||
		f.retried["cut.jpg"] != photoPause || f.retried[unwritable()] != writePause {
		t.Errorf("%+v, %v, %v", results, problems, f.retried)
	}
	// The answer is stored, so that a retry asks nothing.
	asked := w.questions()
	if results, _, _ := w.follow(sidecars(), w.list[3:4]); len(results) != 1 || results[0].Err == nil || w.questions() != asked {
		t.Errorf("%+v, %d questions after %d", results, w.questions(), asked)
	}
	w.write(cut, b)
	if results, _, _ := w.follow(sidecars(), w.list[2:3]); len(results) != 1 || results[0].Err != nil || len(results[0].Files) != 1 {
		t.Errorf("%+v", results)
	}
}

func TestFollowerOutlivesCloudFailure(t *testing.T) {
	w := newWorld(t, 20)
	failing := true
	w.before = func(question int) {
		if failing && question > 1 {
			panic(http.ErrAbortHandler)
		}
	}
	results, problems, f := w.follow(sidecars(), w.list)
	if len(results) != 16 || len(problems) != 1 || !errors.Is(problems[0], cpar.ErrCloud) || len(f.retried) != 4 || f.retried["p19.jpg"] != cloudPause {
		t.Errorf("%d results, %v, %v", len(results), problems, f.retried)
	}
	failing = false
	if results, problems, _ := w.follow(sidecars(), w.list[16:]); len(results) != 4 || len(problems) > 0 {
		t.Errorf("%d results, %v", len(results), problems)
	}
	if runs := w.runs(); len(runs) != 1 || runs[0].Files != 20 {
		t.Errorf("%+v", runs)
	}
}
