package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"cpar"
	"cpar/internal/hint"
	"cpar/photo"
	"cpar/photo/decode"
	"cpar/user/device"
)

func (w *annotator) look(ctx context.Context) ([]*job, error) {
	var todo []*job
	folders := map[string]error{}
	for i, p := range w.list {
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r := &w.results[i]
		r.Path, r.Also = p.Path, p.Also
		j := &job{at: i, ready: make(chan struct{})}
		var err error
		if j.path, err = absolute(p.Path); err == nil {
			var info fs.FileInfo
			if info, err = os.Stat(j.path); err == nil {
				j.stat = statOf(info)
			} else {
				err = unreadable(err)
			}
		}
		switch {
		case err != nil:
			w.fail(j, err)
		case w.known(j):
			w.report(j)
			r.Finished = true
		default:
			if err := w.protected(folders, filepath.Dir(j.path)); err != nil {
				w.fail(j, err)
				continue
			}
			todo = append(todo, j)
		}
	}
	if w.tooMany() {
		return nil, ErrStopped
	}
	return todo, nil
}

// protected returns an error for a read-only folder, so that no request is sent
// for its photos.
func (w *annotator) protected(known map[string]error, folder string) error {
	if w.o.Where == "" || w.o.DryRun {
		return nil
	}
	err, ok := known[folder]
	if !ok {
		if info, e := os.Stat(folder); e == nil && info.Mode().Perm()&0o222 == 0 {
			err = hint.Add(fmt.Errorf("%w: the folder is read-only", cpar.ErrStorage), "allow writing to it, or take --write csv")
		}
		known[folder] = err
	}
	return err
}

func unreadable(err error) error {
	return fmt.Errorf("reading the photo: %w: %w", cpar.ErrInput, photo.Cause(err))
}

// unnamed removes the path from the start of an error, because the Result
// contains the path.
func unnamed(err error) error {
	if inner := errors.Unwrap(err); inner != nil && hint.Of(inner) == hint.Of(err) {
		return inner
	}
	return err
}

// known reports whether an unchanged photo needs no more work. If so, it loads
// the answer.
func (w *annotator) known(j *job) bool {
	if w.l == nil || w.o.Again {
		return false
	}
	w.l.mu.Lock()
	p := w.l.mem.photos[j.path]
	ok := p != nil && p.stat == j.stat
	if ok {
		j.content, j.seen = p.content, true
		ok = w.want == "" || w.l.mem.annotated(j.path, j.content, w.want, true)
	}
	w.l.mu.Unlock()
	return j.seen && w.once(j) || ok && w.recall(j)
}

func (w *annotator) recall(j *job) bool {
	if w.x == nil { // without an index, the answer is empty
		j.answer = new(answer)
		return true
	}
	if w.l == nil || w.o.Again {
		return false
	}
	a, ok := w.stored(j.content, w.key)
	if ok {
		j.answer, j.key = a, w.key
	}
	return ok
}

// once reports whether Options.Once skips a photo. If so, it sets an empty answer.
func (w *annotator) once(j *job) bool {
	if w.l == nil || !w.o.Once {
		return false
	}
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	if !w.l.mem.annotated(j.path, j.content, "", false) {
		return false
	}
	w.results[j.at].Undone = !w.l.mem.annotated(j.path, j.content, "", true)
	j.answer = new(answer)
	return true
}

func (w *annotator) stored(content digest, key string) (*answer, bool) {
	w.l.mu.Lock()
	raw, ok := w.l.mem.answers[answerKey{content, key}]
	for _, earlier := range w.o.Earlier {
		if !ok {
			raw, ok = w.l.mem.answers[answerKey{content, earlier}]
		}
	}
	if !ok && w.o.Once && key != "" { // accept an answer of another generation, but none if once has skipped the photo
		raw, ok = w.l.mem.answers[answerKey{content, w.l.mem.latest[content]}]
	}
	w.l.mu.Unlock()
	a := &answer{}
	return a, ok && json.Unmarshal(raw, a) == nil
}

func (w *annotator) report(j *job) {
	r := &w.results[j.at]
	w.final[j.at] = true
	r.Known = !j.fresh && w.x != nil
	r.copied = r.Known && w.fresh[j.content]
	r.CutShort = r.CutShort || j.answer.CutShort
	all := j.answer.keywords()
	for _, k := range all {
		if len(r.Keywords) < w.o.MaxKeywords && (k.Probability == 0 || k.Probability >= w.o.MinProbability) {
			r.Keywords = append(r.Keywords, k)
		} else {
			r.Maybe = append(r.Maybe, k)
		}
	}
	if !w.o.Lean {
		r.Near = j.answer.near()
	}
}

// prepared yields photos in order, with features if no answer is stored.
// Workers prepare up to `ahead` photos in advance and stop when ctx ends.
func (w *annotator) prepared(ctx context.Context, todo []*job, ahead int, workers *sync.WaitGroup) iter.Seq[*job] {
	queue, work := make(chan *job, ahead), make(chan *job)
	workers.Go(func() {
		defer close(queue)
		defer close(work)
		for _, j := range todo {
			select {
			case queue <- j:
			case <-ctx.Done():
				return
			}
			select {
			case work <- j:
			case <-ctx.Done():
				return
			}
		}
	})
	for range min(w.o.Jobs, len(todo)) {
		workers.Go(func() {
			for j := range work {
				if ctx.Err() == nil {
					j.err = w.prepare(ctx, j)
				}
				close(j.ready)
			}
		})
	}
	return func(yield func(*job) bool) {
		for j := range queue {
			select {
			case <-j.ready:
			case <-ctx.Done():
			}
			if ctx.Err() != nil || !yield(j) {
				return
			}
		}
	}
}

var errNotStored = fmt.Errorf("%w: no answer about the photo is stored", cpar.ErrInput)

func (w *annotator) prepare(ctx context.Context, j *job) error {
	j.frames = []device.Photo{{}} // the index skips a photo without features
	if j.seen && w.recall(j) {
		return nil
	}
	if photo.IsVideo(j.path) {
		return w.prepareVideo(ctx, j)
	}
	data, err := decode.ReadFile(j.path)
	if err != nil {
		return err
	}
	if w.o.Whole && decode.Truncated(data) {
		return ErrIncomplete
	}
	j.content = decode.ContentDigest(data)
	w.results[j.at].CutShort = decode.Truncated(data)
	if w.once(j) || w.recall(j) {
		return nil
	}
	if w.o.Stored {
		return errNotStored
	}
	features, err := w.owner.Features(data)
	if err != nil {
		return err
	}
	j.frames[0] = device.Extracted(w.list[j.at].Path, features)
	return nil
}

// Recall returns the stored results of photos, in order. Result.Known is false
// if no answer is stored or the picture has changed since the answer.
func (l *Library) Recall(ctx context.Context, x *device.Index, list []photo.Photo, o Options) ([]Result, error) {
	release, err := l.lockShared()
	if err != nil {
		return nil, err
	}
	defer release()
	key, err := Key(x, o)
	if err != nil {
		return nil, err
	}
	o.OnErrors = -1
	w := &annotator{l: l, x: x, owner: x.Owner, o: o, list: list, key: key, final: make([]bool, len(list)), results: make([]Result, len(list))}
	todo, err := w.look(ctx)
	for _, j := range todo {
		if ctx.Err() != nil {
			break
		}
		w.recallChanged(j)
	}
	return w.results, err
}

// recallChanged finds the answer about an annotated photo by the digest of its
// picture, because undoing embedded keywords changes only the rest of the file.
func (w *annotator) recallChanged(j *job) {
	w.l.mu.Lock()
	annotated := w.l.mem.photos[j.path] != nil
	w.l.mu.Unlock()
	if j.seen || !annotated || photo.IsVideo(j.path) {
		return
	}
	data, err := decode.ReadFile(j.path)
	if err != nil {
		return // the caller reports unreadable files
	}
	j.content = decode.ContentDigest(data)
	if w.recall(j) {
		w.report(j)
	}
}
