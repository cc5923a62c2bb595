// Package arrival waits for new photos in folders and reports those whose files
// no longer change (have settled).
//
//	events of the system, or a timer ─▶ photo.List, stat ─▶ unchanged for a while ─▶ photos
//
// An event only triggers a scan of the folders, so a lost event delays a photo
// but never loses it. Network drives send no events about changes by other
// machines, so a timer triggers scans of them.
package arrival

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"cpar/photo"
)

type Options struct {
	// Settle is the time for which the files of a photo must keep their sizes
	// and times.
	Settle time.Duration
	// Every is the time between two scans while polling.
	Every time.Duration
	// Poll disables events and leaves only the timer.
	Poll bool
	List photo.Options
	// Note receives the error that makes the watcher poll, and errors of
	// unreadable folders.
	Note func(error)
}

// eventsEvery is the time between two scans of folders that send events. The
// scans find photos of lost events.
const eventsEvery = 10 * time.Minute

// A Watcher reports photos in folders. Its methods may be called concurrently,
// except for Next.
type Watcher struct {
	roots  []string
	o      Options
	events *fsnotify.Watcher // nil while polling

	mu     sync.Mutex
	photos map[string]*state
}

// state is the last known state of a photo's files.
type state struct {
	files
	since   time.Time // time since which the files are unchanged
	told    bool      // Next has returned the photo in this state
	retryAt time.Time // time of a retry, zero for none
	seen    bool      // found by the current scan
}

type files struct {
	count int
	size  int64
	time  time.Time // modification time of the newest file
}

// New returns a watcher of folders. The first call of Next returns the photos
// that already exist.
func New(roots []string, o Options) *Watcher {
	w := &Watcher{roots: roots, o: o, photos: map[string]*state{}}
	if o.Poll {
		return w
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		o.Note(err)
		return w
	}
	w.events = events
	return w
}

// Polls reports whether w uses only the timer.
func (w *Watcher) Polls() bool { return w.events == nil }

func (w *Watcher) Close() {
	if w.events != nil {
		w.events.Close()
	}
}

// Next waits until photos have settled and returns them. It returns a photo
// again only after its files have changed. Result `more` reports that other
// photos have not settled yet.
func (w *Watcher) Next(ctx context.Context) (settled []photo.Photo, more bool, err error) {
	for {
		wait := w.o.Every
		if w.events != nil {
			wait = max(wait, eventsEvery)
		}
		l, err := w.list(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, false, context.Cause(ctx)
		case err != nil: // for example, a drive is disconnected
			w.o.Note(err)
		default:
			settled, next := w.look(l.Photos, time.Now())
			if len(settled) > 0 {
				return settled, next > 0, nil
			}
			if next > 0 {
				wait = min(wait, next)
			}
		}
		if err := w.wait(ctx, wait); err != nil {
			return nil, false, err
		}
	}
}

// list lists the photos and requests events about every folder.
func (w *Watcher) list(ctx context.Context) (*photo.Listing, error) {
	o := w.o.List
	var failed error
	if w.events != nil {
		o.Folder = func(path string) {
			if err := w.events.Add(path); err != nil && failed == nil && !errors.Is(err, fs.ErrNotExist) {
				failed = err
			}
		}
	}
	l, err := photo.List(ctx, w.roots, o)
	if failed != nil { // for example, the system limits the number of watched folders
		w.events.Close()
		w.events = nil
		w.o.Note(failed)
	}
	if l != nil {
		err = nil // a folder without photos is no error
	}
	return l, err
}

// look returns the photos that have settled, compared with their last known
// states. Result `next` is the time until another photo may settle, or 0.
func (w *Watcher) look(list []photo.Photo, now time.Time) (settled []photo.Photo, next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range list {
		f, ok := filesOf(p)
		s := w.photos[p.Path]
		switch {
		case !ok: // removed after the listing
			continue
		case s == nil || s.files != f:
			s = &state{files: f, since: now}
			w.photos[p.Path] = s
		case s.told && !s.retryAt.IsZero() && !now.Before(s.retryAt):
			s.told = false
		}
		s.seen = true
		if s.told || f.size == 0 { // an empty file is still being written
			continue
		}
		if left := w.o.Settle - now.Sub(s.since); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		s.told, s.retryAt = true, time.Time{}
		settled = append(settled, p)
	}
	for path, s := range w.photos {
		if !s.seen {
			delete(w.photos, path)
		}
		s.seen = false
	}
	return settled, next
}

func filesOf(p photo.Photo) (f files, ok bool) {
	for _, path := range append([]string{p.Path}, p.Also...) {
		info, err := os.Stat(path)
		if err != nil {
			return f, false
		}
		f.count++
		f.size += info.Size()
		if info.ModTime().After(f.time) {
			f.time = info.ModTime()
		}
	}
	return f, true
}

// Retry makes Next return a photo again after a time, even if it is unchanged.
func (w *Watcher) Retry(path string, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.photos[path]; s != nil {
		s.retryAt = time.Now().Add(after)
	}
}

// Waiting returns the number of photos that Next has yet to return.
func (w *Watcher) Waiting() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.photos {
		if !s.told || !s.retryAt.IsZero() {
			n++
		}
	}
	return n
}

// Empty returns the photos whose files have been empty since before a time.
// Next does not return them until they have content.
func (w *Watcher) Empty(before time.Time) (paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, s := range w.photos {
		if s.size == 0 && s.since.Before(before) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// wait returns after duration d, or sooner after an event, with a delay so that
// a burst of events causes few scans.
func (w *Watcher) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	var events chan fsnotify.Event
	var lost chan error
	if w.events != nil {
		events, lost = w.events.Events, w.events.Errors
	}
	sooner := false
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		case <-lost: // the scan after the wait finds the photos of lost events
		case <-events:
		}
		if soon := w.o.Settle / 4; !sooner && soon < d {
			timer.Reset(soon)
		}
		sooner = true
	}
}
