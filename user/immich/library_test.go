package immich

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/internal/testing/immichtest"
	"cpar/model/rank"
)

func TestAnnotateTagsNewPhotosOnly(t *testing.T) {
	w := newWorld(t, "dog beach", "", "dog black/white", "refused", "?")
	var results []Result
	got := w.annotate(Options{Each: func(r Result) { results = append(results, r) }})
	want := Summary{Run: got.Run, Photos: 5, Done: 3, Tags: 4, Failed: 2}
	if got != want || !strings.HasPrefix(got.Run, "immich-20") {
		t.Errorf("%+v", got)
	}
	w.want("auto/beach auto/dog; ; auto/black-white auto/dog; ; ", "auto auto/beach auto/black-white auto/dog")
	if len(results) != 5 || !slices.Equal(results[0].Tags, []string{"auto/dog", "auto/beach"}) || !errors.Is(results[4].Err, errPicture) || !errors.Is(results[3].Err, cpar.ErrCloud) {
		t.Errorf("%+v", results)
	}
	// A repeated run requests only failed photos.
	if got := w.annotate(Options{}); got.Known != 3 || got.Done != 0 || got.Failed != 2 || len(w.index.asked) != 5 {
		t.Errorf("%+v, asked %v", got, w.index.asked)
	}
	// A replaced file, another generation, and Again.
	w.Photos[0].Checksum = "other"
	if got := w.annotate(Options{}); got.Known != 2 || got.Done != 1 || got.Tags != 0 {
		t.Errorf("%+v", got)
	}
	w.index.state = [32]byte{2}
	if got := w.annotate(Options{}); got.Known != 0 || got.Done != 3 || got.Tags != 0 {
		t.Errorf("%+v", got)
	}
	if got := w.annotate(Options{Again: true}); got.Known != 0 || got.Done != 3 {
		t.Errorf("%+v", got)
	}
}

// The comparison ignores spelling, and existing tags keep theirs.
func TestAnnotateSkipsTagsOfUsers(t *testing.T) {
	w := newWorld(t, "dog Cat sea beach sun")
	for _, v := range []string{"Animals/DOG", "cat", "auto/Beach"} {
		w.Make(v)
		w.Photos[0].Tags = append(w.Photos[0].Tags, v)
	}
	w.Make("auto/Sea")
	if got := w.annotate(Options{}); got.Tags != 2 {
		t.Errorf("%+v", got)
	}
	w.want("Animals/DOG auto/Beach auto/Sea auto/sun cat", "Animals Animals/DOG auto auto/Beach auto/Sea auto/sun cat")
	// Undo deletes the tag that the run created and keeps the others.
	if u, err := w.library().Undo(t.Context(), "", false, nil); err != nil || u.Removed != 2 || u.Tags != 1 {
		t.Errorf("%+v, %v", u, err)
	}
	w.want("Animals/DOG auto/Beach cat", "Animals Animals/DOG auto auto/Beach auto/Sea cat")
}

func TestDryRunSetsNoTags(t *testing.T) {
	w := newWorld(t, "dog", "beach")
	var tags []string
	s := w.annotate(Options{DryRun: true, Each: func(r Result) { tags = append(tags, r.Tags...) }})
	if s.Run != "" || s.Done != 2 || s.Tags != 2 || !slices.Equal(tags, []string{"auto/dog", "auto/beach"}) {
		t.Errorf("%+v, %v", s, tags)
	}
	w.want("; ", "")
	if runs, _, err := w.journal.Runs(""); err != nil || len(runs) != 0 {
		t.Errorf("%v, %v", runs, err)
	}
	for _, c := range w.Calls {
		if strings.HasPrefix(c, "PUT") || strings.HasPrefix(c, "DELETE") {
			t.Errorf("called %s", c)
		}
	}
}

func TestFilterSelectsPhotos(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d", "e")
	w.Page = 2
	w.Photos[1].Album, w.Photos[2].Type, w.Photos[3].Trashed = immichtest.ID(5, 5), "VIDEO", true
	if got := w.annotate(Options{DryRun: true}); got.Photos != 3 {
		t.Errorf("%+v", got)
	}
	if got := w.annotate(Options{DryRun: true, Filter: Filter{Albums: []string{immichtest.ID(5, 5)}}}); got.Photos != 1 {
		t.Errorf("%+v", got)
	}
	if got := w.annotate(Options{DryRun: true, Filter: Filter{Taken: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)}}); got.Photos != 1 {
		t.Errorf("%+v", got)
	}
}

// A partner's photo cannot be tagged, and a tag that another client sets in the
// meantime is not undone.
func TestAnnotateSkipsForeignPhotos(t *testing.T) {
	w := newWorld(t, "dog", "dog", "dog")
	w.Photos[0].Foreign = true
	first := true
	w.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == "PUT" && strings.HasSuffix(r.URL.Path, "/assets") && first {
			first = false
			w.Lock()
			w.Photos[1].Tags = []string{"auto/dog"}
			w.Unlock()
		}
		return false
	}
	if got := w.annotate(Options{}); got.Foreign != 1 || got.Tags != 1 || got.Done != 3 {
		t.Errorf("%+v", got)
	}
	w.want("; auto/dog; auto/dog", "auto auto/dog")
	if u, err := w.library().Undo(t.Context(), "", false, nil); err != nil || u != (Undone{Run: u.Run, Removed: 1}) {
		t.Errorf("%+v, %v", u, err)
	}
	w.want("; auto/dog; ", "auto auto/dog")
}

// A run is interrupted at every call, continued by the next, and both are
// undone.
func TestInterruptedRunContinuesAndUndoes(t *testing.T) {
	lines := []string{"dog beach", "dog", "sea", "beach sea"}
	whole := newWorld(t, lines...)
	whole.annotate(Options{})
	calls, done := len(whole.Calls), whole.tagged()
	for at := range calls {
		w := newWorld(t, lines...)
		var n atomic.Int32
		w.Before = func(rw http.ResponseWriter, _ *http.Request) bool {
			if int(n.Add(1)) > at {
				rw.WriteHeader(http.StatusBadGateway)
				return true
			}
			return false
		}
		if _, err := w.library().Annotate(t.Context(), w.index, Options{}); err == nil {
			t.Fatalf("call %d of %d failed without an error", at, calls)
		}
		w.Lock() // an abandoned call may still arrive
		w.Before = nil
		w.Unlock()
		w.annotate(Options{})
		if got := w.tagged(); got != done {
			t.Errorf("broken off at call %d of %d: %q, want %q", at, calls, got, done)
		}
		for {
			if _, err := w.library().Undo(t.Context(), "", false, nil); err != nil {
				break
			}
		}
		w.want("; ; ; ", "")
	}
}

func TestCloudFailureKeepsFinishedPhotos(t *testing.T) {
	w := newWorld(t, "dog", "beach", "sea")
	w.index.broken = 2
	told := 0
	s, err := w.library().Annotate(t.Context(), w.index, Options{Each: func(Result) { told++ }})
	if !errors.Is(err, errBroken) || s.Done != 2 || told != 2 {
		t.Errorf("%+v, %v, progress %d", s, err, told)
	}
	w.want("auto/dog; auto/beach; ", "auto auto/beach auto/dog")
	w.index.broken = 0
	if s := w.annotate(Options{}); s.Known != 2 || s.Done != 1 {
		t.Errorf("%+v", s)
	}
}

func TestLacksIgnoresPresentTags(t *testing.T) {
	tagger := &tagger{spelt: map[string]string{}}
	got := tagger.lacks(nil, []rank.Keyword{{Word: "Dog"}, {Word: "dog"}, {Word: " "}, {Word: "a/b"}})
	if !slices.Equal(got, []string{"auto/Dog", "auto/a-b"}) {
		t.Errorf("%q", got)
	}
}
