package immich

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/testing/immichtest"
)

func TestUndoRemovesTagsOfRun(t *testing.T) {
	w := newWorld(t, "dog beach", "dog", "sea")
	first := w.annotate(Options{})
	dry, err := w.library().Undo(t.Context(), first.Run, true, nil)
	if err != nil || dry != (Undone{Run: first.Run, Removed: 4}) {
		t.Errorf("%+v, %v", dry, err)
	}
	w.want("auto/beach auto/dog; auto/dog; auto/sea", "auto auto/beach auto/dog auto/sea")
	// A second run uses a tag of the first. A user uses another tag and removes
	// one.
	w.Photos = append(w.Photos, &immichtest.Photo{ID: immichtest.ID(1, 9), Preview: []byte("jpeg")})
	keywords[immichtest.ID(1, 9)] = "dog"
	second := w.annotate(Options{})
	w.Make("auto/sea/deep")
	w.Photos[0].Tags = []string{"auto/dog"}
	u, err := w.library().Undo(t.Context(), first.Run, false, nil)
	if err != nil || u != (Undone{Run: first.Run, Removed: 3, Gone: 1, Tags: 1}) {
		t.Errorf("%+v, %v", u, err)
	}
	w.want("; ; ; auto/dog", "auto auto/dog auto/sea auto/sea/deep")
	if _, err := w.library().Undo(t.Context(), first.Run, false, nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("twice: %v", err)
	}
	// The second run is the last. The first run created its tag.
	u, err = w.library().Undo(t.Context(), "", false, nil)
	if err != nil || u != (Undone{Run: second.Run, Removed: 1, Tags: 1}) {
		t.Errorf("%+v, %v", u, err)
	}
	w.want("; ; ; ", "auto auto/sea auto/sea/deep")
	for _, run := range []string{"", "nonsense"} {
		if _, err := w.library().Undo(t.Context(), run, false, nil); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v", run, err)
		}
	}
	// Undone photos are annotated again.
	if s := w.annotate(Options{}); s.Known != 0 || s.Done != 4 {
		t.Errorf("%+v", s)
	}
}

// Tags of photos in the trash are in use, and a key without tag.delete keeps
// all tags.
func TestUndoKeepsTagsInUse(t *testing.T) {
	w := newWorld(t, "dog", "sea")
	w.annotate(Options{})
	w.Photos = append(w.Photos, &immichtest.Photo{ID: immichtest.ID(1, 9), Trashed: true, Tags: []string{"auto/sea"}})
	w.May = slices.DeleteFunc(w.May, func(p string) bool { return p == "tag.delete" })
	u, err := w.library().Undo(t.Context(), "", false, nil)
	if err != nil || u.Removed != 2 || u.Tags != 0 || u.Kept != 1 {
		t.Errorf("%+v, %v", u, err)
	}
	w.want("; ; auto/sea", "auto auto/dog auto/sea")
}

// Immich drops all tags of a photo when it rereads the file. A user drops some.
func TestCheckRestoresDroppedTags(t *testing.T) {
	w := newWorld(t, "dog beach", "dog beach", "dog beach", "dog", "sea")
	w.annotate(Options{})
	w.Photos[0].Tags = []string{"from the file"}
	w.Photos[1].Tags = []string{"auto/dog"}
	w.Photos = slices.Delete(w.Photos, 3, 4)
	w.Photos[3].Tags = nil
	want := Checked{Photos: 5, Whole: 1, PutBack: 2, Taken: 1, Gone: 1}
	for _, dry := range []bool{true, false} {
		got, err := w.library().Check(t.Context(), "", dry, nil)
		want.Run = got.Run
		if err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		if dry {
			w.want("from the file; auto/dog; auto/beach auto/dog; ", "auto auto/beach auto/dog auto/sea from the file")
		}
	}
	w.want("auto/beach auto/dog from the file; auto/dog; auto/beach auto/dog; auto/sea", "auto auto/beach auto/dog auto/sea from the file")
	// Restored tags belong to the run and are undone with it.
	if _, err := w.library().Undo(t.Context(), "", false, nil); err != nil {
		t.Error(err)
	}
	w.want("from the file; ; ; ", "from the file")
}

// A change whose response was lost belongs to the run. A user's change does
// not.
func TestLostResponsesBelongToRun(t *testing.T) {
	w := newWorld(t, "dog beach", "dog")
	lose := http.StatusGatewayTimeout
	n := 0
	w.Before = func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/assets") {
			return false
		}
		if n++; n%2 == 0 {
			return false
		}
		w.Lock()
		before := w.Before
		w.Before = nil
		w.Unlock()
		w.ServeHTTP(httptest.NewRecorder(), r)
		w.Lock()
		w.Before = before
		w.Unlock()
		rw.WriteHeader(lose)
		return true
	}
	s := w.annotate(Options{})
	if s.Tags != 3 {
		t.Errorf("%+v", s)
	}
	w.want("auto/beach auto/dog; auto/dog", "auto auto/beach auto/dog")
	if runs, _, err := w.journal.Runs(""); err != nil || len(runs) != 1 || runs[0].Tags != 3 {
		t.Errorf("%+v, %v", runs, err)
	}
	u, err := w.library().Undo(t.Context(), "", false, nil)
	if err != nil || u != (Undone{Run: s.Run, Removed: 3, Tags: 3}) {
		t.Errorf("%+v, %v", u, err)
	}
	w.want("; ", "")
	// A call refused with "too many requests" has no effect, so a user's change
	// came first.
	lose = http.StatusTooManyRequests
	if s := w.annotate(Options{}); s.Tags != 0 {
		t.Errorf("a person's tags count as the run's: %+v", s)
	}
}
