package arrival

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cpar/photo"
)

type folder struct {
	t   *testing.T
	dir string
}

func (f folder) write(name, content string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// next returns the names of the next photos, and nil if none comes within a
// time.
func (f folder) next(w *Watcher, within time.Duration) (names []string, more bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), within)
	defer cancel()
	list, more, err := w.Next(ctx)
	if err != nil && ctx.Err() == nil {
		f.t.Fatal(err)
	}
	for _, p := range list {
		name, _ := filepath.Rel(f.dir, p.Path)
		names = append(names, filepath.ToSlash(name))
	}
	return names, more
}

func (f folder) watch(poll bool) *Watcher {
	w := New([]string{f.dir}, Options{Settle: 4 * time.Second, Every: time.Minute, Poll: poll, Note: func(err error) { f.t.Log(err) }})
	f.t.Cleanup(w.Close)
	return w
}

func TestNextWaitsUntilPhotosHaveSettled(t *testing.T) {
	f := folder{t, t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		f.t = t
		w := f.watch(true)
		f.write("a.jpg", "whole")
		start := time.Now()
		if got, more := f.next(w, time.Hour); !slices.Equal(got, []string{"a.jpg"}) || more || time.Since(start) < 4*time.Second {
			t.Errorf("%q, %v after %v", got, more, time.Since(start))
		}
		// b.jpg grows every three seconds, c.jpg is empty, d.jpg has settled.
		f.write("b.jpg", "1")
		f.write("c.jpg", "")
		f.write("d.jpg", "whole")
		go func() {
			for i := range 40 {
				time.Sleep(3 * time.Second)
				f.write("b.jpg", string(make([]byte, 2+i)))
			}
		}()
		if got, more := f.next(w, time.Hour); !slices.Equal(got, []string{"d.jpg"}) || !more {
			t.Errorf("%q, %v", got, more)
		}
		start = time.Now()
		if got, _ := f.next(w, time.Hour); !slices.Equal(got, []string{"b.jpg"}) || time.Since(start) < 50*time.Second {
			t.Errorf("%q after %v", got, time.Since(start))
		}
		if got, _ := f.next(w, time.Hour); got != nil || w.Waiting() != 1 {
			t.Errorf("%q, %d waiting", got, w.Waiting())
		}
		if got := w.Empty(time.Now().Add(-time.Minute)); len(got) != 1 || filepath.Base(got[0]) != "c.jpg" {
			t.Errorf("empty: %q", got)
		}
		f.write("c.jpg", "whole")
		if got, _ := f.next(w, time.Hour); !slices.Equal(got, []string{"c.jpg"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestNextReturnsChangedAndRetriedPhotosAgain(t *testing.T) {
	f := folder{t, t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		f.t = t
		w := f.watch(true)
		f.write("a.cr2", "raw")
		f.write("a.jpg", "jpeg")
		f.write("b.jpg", "jpeg")
		if got, _ := f.next(w, time.Hour); !slices.Equal(got, []string{"a.jpg", "b.jpg"}) {
			t.Errorf("%q", got)
		}
		f.write("a.cr2", "raw, longer")
		if got, _ := f.next(w, time.Hour); !slices.Equal(got, []string{"a.jpg"}) {
			t.Errorf("changed: %q", got)
		}
		w.Retry(filepath.Join(f.dir, "b.jpg"), 10*time.Minute)
		start := time.Now()
		if got, _ := f.next(w, time.Hour); !slices.Equal(got, []string{"b.jpg"}) || time.Since(start) < 10*time.Minute {
			t.Errorf("retried: %q after %v", got, time.Since(start))
		}
		if got, _ := f.next(w, time.Hour); got != nil {
			t.Errorf("again: %q", got)
		}
	})
}

func TestNextOutlivesAbsentDrive(t *testing.T) {
	f := folder{t, filepath.Join(t.TempDir(), "drive")}
	synctest.Test(t, func(t *testing.T) {
		f.t = t
		w := f.watch(true)
		go func() {
			time.Sleep(time.Hour)
			f.write("deep/a.jpg", "whole")
		}()
		if got, _ := f.next(w, 2*time.Hour); !slices.Equal(got, []string{"deep/a.jpg"}) {
			t.Errorf("%q", got)
		}
	})
}

// The timer is longer than the test, so that only events can end the wait.
func TestEventsOfNewFoldersAreSeen(t *testing.T) {
	f := folder{t, t.TempDir()}
	w := New([]string{f.dir}, Options{Settle: 40 * time.Millisecond, Every: time.Hour, List: photo.Options{Exclude: []string{"out"}}, Note: func(err error) { t.Log(err) }})
	t.Cleanup(w.Close)
	if w.Polls() {
		t.Skip("this system has no events for folders")
	}
	f.write("first.jpg", "whole")
	for _, name := range []string{"first.jpg", "new/deep/second.jpg", "new/third.jpg"} {
		if name != "first.jpg" {
			go func() {
				time.Sleep(100 * time.Millisecond)
				f.write("out/private.jpg", "excluded")
				f.write(name, "whole")
			}()
		}
		if got, _ := f.next(w, time.Minute); !slices.Equal(got, []string{name}) {
			t.Fatalf("%q, want %s", got, name)
		}
	}
}
