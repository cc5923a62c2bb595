package library

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"cpar"
	"cpar/internal/parallel"
	"cpar/photo"
	"cpar/user/device"
)

// A Follower annotates photos as they arrive.
//
//	Next ─▶ Pause ─▶ ask, 64 photos at a time ─▶ queue ─▶ write, one run per burst
//
// Requests never wait for writing. The cloud therefore sees when photos arrive,
// but not how long writing takes or whether it fails.
type Follower struct {
	Library *Library
	Options Options // Run sets Lean, Once, Whole, Resume, More and OnErrors
	// Open opens the index. Run repeats the call until the cloud can be reached.
	Open func(context.Context) (*device.Index, error)
	// Next waits for photos. Result `more` reports whether further photos of
	// the same burst will follow.
	Next func(context.Context) (list []photo.Photo, more bool, err error)
	// Retry makes Next return a photo again after some time.
	Retry func(path string, after time.Duration)
	// Pause waits until requests for the given number of photos are allowed.
	Pause func(ctx context.Context, photos int) error
	// Each receives the result of each photo. Run never calls Each, Batch and
	// Problem concurrently.
	Each func(Result)
	// Batch receives the summary of up to 64 photos requested together.
	Batch func(Summary)
	// Problem receives failures that do not end Run.
	Problem func(error)

	reporting sync.Mutex
	index     *device.Index
	failed    bool // a request failed, and Next will return its photos again
}

const (
	askedAtOnce = 64          // photos between two calls of Pause
	cloudPause  = time.Minute // wait after a failure of the cloud
	photoPause  = time.Hour   // wait before retrying an unchanged photo that failed
	writePause  = 10 * time.Minute
)

// A pendingWrite holds requested photos until they are written. In the queue,
// its zero value marks the end of a burst.
type pendingWrite struct {
	w       *annotator
	batches []batch
	err     error
	release func()
}

// Run annotates photos until ctx ends or an error occurs that only the user can
// resolve, such as a rejected key.
func (f *Follower) Run(ctx context.Context) error {
	f.Options.Lean = true
	f.Options.Once, f.Options.Whole, f.Options.Resume, f.Options.More, f.Options.OnErrors = true, true, true, true, -1
	q := &queue{ready: make(chan struct{}, 1)}
	var writer sync.WaitGroup
	writer.Go(func() {
		for a := range q.all() {
			f.write(ctx, a)
		}
	})
	defer writer.Wait()
	defer q.close()
	for {
		list, more, err := f.Next(ctx)
		left := len(list)
		for some := range slices.Chunk(list, askedAtOnce) {
			if err == nil {
				err = f.Pause(ctx, left)
			}
			left -= len(some)
			if err == nil {
				err = f.ask(ctx, some, q)
			}
		}
		if err == nil && !more && !f.failed {
			q.put(pendingWrite{}) // the burst is over
		}
		f.failed = false
		if err != nil {
			return err
		}
	}
}

func (f *Follower) problem(err error) {
	f.reporting.Lock()
	defer f.reporting.Unlock()
	f.Problem(err)
}

// ask requests keywords for photos and queues the answers. It returns only
// errors that end Run.
func (f *Follower) ask(ctx context.Context, list []photo.Photo, q *queue) (err error) {
	for f.index == nil {
		if f.index, err = f.Open(ctx); err == nil {
			break
		}
		if ctx.Err() != nil || !passing(err) {
			return err
		}
		f.problem(err)
		if parallel.Sleep(ctx, cloudPause) != nil {
			return context.Cause(ctx)
		}
	}
	release, err := f.Library.lockShared()
	if err != nil {
		f.problem(err)
		f.retry(list, writePause)
		return nil
	}
	w, err := newAnnotator(f.Library, f.index, list, f.Options)
	if err != nil {
		release()
		return err
	}
	batches, err := w.askAll(ctx)
	f.failed = f.failed || err != nil
	q.put(pendingWrite{w, batches, err, release})
	return nil
}

func (f *Follower) retry(list []photo.Photo, after time.Duration) {
	for _, p := range list {
		f.Retry(p.Path, after)
	}
}

func (f *Follower) write(ctx context.Context, a pendingWrite) {
	if a.w == nil {
		if err := f.Library.endCut(f.Options.same()); err != nil {
			f.problem(err)
		}
		return
	}
	defer a.release()
	unanswered := map[string]bool{}
	for _, p := range a.w.list {
		unanswered[p.Path] = true
	}
	sum, err := a.w.finishAll(ctx, a.batches, a.err, func(r Result) {
		delete(unanswered, r.Path)
		switch {
		case errors.Is(r.Err, fs.ErrNotExist): // the photo was moved away
			return
		case r.Asked.Err != nil: // no retry: another request would tell the cloud that its reply was rejected
		case r.Err != nil && (r.Known || r.Asked.Sent > 0):
			f.Retry(r.Path, writePause) // the answer is stored, so no request is repeated
		case r.Err != nil:
			f.Retry(r.Path, photoPause)
		}
		f.reporting.Lock()
		defer f.reporting.Unlock()
		f.Each(r)
	})
	f.reporting.Lock()
	f.Batch(sum)
	f.reporting.Unlock()
	if err == nil || ctx.Err() != nil {
		return
	}
	f.problem(err)
	if !passing(err) {
		f.retry(a.w.list, writePause)
		return
	}
	for path := range unanswered {
		f.Retry(path, cloudPause)
	}
}

// passing reports whether an error may disappear without action by the user.
func passing(err error) bool { return errors.Is(err, cpar.ErrCloud) }

// endCut ends a run that stopped early, so that the next call begins a new run.
func (l *Library) endCut(same string) error {
	release, err := l.lockShared()
	if err != nil {
		return err
	}
	defer release()
	if id := l.resumable(same); id != "" {
		return l.remember(record{Ended: id})
	}
	return nil
}

// A queue holds answers until they are written. It has no bound, because
// sending requests must not wait for writing.
type queue struct {
	mu     sync.Mutex
	items  []pendingWrite
	closed bool
	ready  chan struct{}
}

func (q *queue) put(a pendingWrite) {
	q.mu.Lock()
	q.items = append(q.items, a)
	q.mu.Unlock()
	q.wake()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// all yields the items until the queue is closed and empty.
func (q *queue) all() func(yield func(pendingWrite) bool) {
	return func(yield func(pendingWrite) bool) {
		for {
			q.mu.Lock()
			items, closed := q.items, q.closed
			q.items = nil
			q.mu.Unlock()
			for _, a := range items {
				if !yield(a) {
					return
				}
			}
			if closed {
				return
			}
			if len(items) == 0 {
				<-q.ready
			}
		}
	}
}
