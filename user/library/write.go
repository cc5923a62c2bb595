package library

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"cpar/photo/metadata"
)

// finish reports the photos of an answered batch and writes their words.
func (w *annotator) finish(b batch) error {
	for _, j := range b.jobs {
		if j.answer == nil {
			j.answer, _ = w.stored(j.content, j.key)
		}
		w.report(j)
		j.answer = nil // frees memory
	}
	if w.l == nil || w.wrong != nil {
		return nil
	}
	records := w.confirm
	w.confirm = nil
	if w.o.Where == "" {
		for _, j := range b.jobs {
			records = append(records, record{Done: &done{Photo: j.path, Also: w.list[j.at].Also, Stat: j.stat, Content: j.content}})
		}
		return w.l.remember(records...)
	}
	todo, err := w.suggested(b)
	if err != nil {
		return err
	}
	return w.write(b, todo, records)
}

// flush completes the journal. Parameter `cut` states that the run stopped early.
func (w *annotator) flush(cut bool) error {
	if w.l == nil || w.wrong != nil {
		return nil
	}
	records := w.confirm
	w.confirm = nil
	if w.began {
		records = append(records, record{Ended: w.run, Cut: cut})
	}
	return w.l.remember(records...)
}

type target struct {
	j      *job
	path   string
	change metadata.Change
	tries  int

	edit *metadata.Edit
	err  error
}

// suggested returns the files of a batch with the words to write into them.
func (w *annotator) suggested(b batch) (todo []*target, err error) {
	for _, j := range b.jobs {
		words, err := w.words(j)
		if err != nil {
			w.failLate(j, err)
		}
		if len(words) == 0 || err != nil {
			continue
		}
		w.choose()
		targets, err := w.targets(j, metadata.Change{Suggest: words, Run: w.run})
		if err != nil {
			return nil, err
		}
		todo = append(todo, targets...)
	}
	return todo, nil
}

// targets returns the files that receive a photo's keywords, including its raw files.
func (w *annotator) targets(j *job, c metadata.Change) ([]*target, error) {
	todo := []*target{{j: j, path: j.path, change: c}}
	for _, also := range w.list[j.at].Also {
		path, err := absolute(also)
		if err != nil {
			return nil, err
		}
		todo = append(todo, &target{j: j, path: path, change: c})
	}
	return todo, nil
}

// choose selects the run that receives the changes: a resumed or a new run.
func (w *annotator) choose() {
	if w.run != "" {
		return
	}
	if w.o.Resume {
		w.same = w.o.same()
		w.run = w.l.resumable(w.same)
		w.resumed = w.run != ""
	}
	if w.run == "" {
		w.run = w.l.newRun()
	}
}

// same returns a digest by which runs of the same command are recognised.
func (o Options) same() string {
	folder, _ := os.Getwd() // relative paths in the command depend on the folder
	return shortDigest(folder, o.Command, o.Where, o.Style, o.KeepMtime)
}

// begin records the beginning of the run before the run's first record.
func (w *annotator) begin(records *[]record) {
	switch {
	case w.began:
		return
	case w.resumed:
		*records = append(*records, record{Resumed: w.run})
	default:
		b := beginning(w.run, w.o.Command, w.o.KeepMtime)
		b.Same = w.same
		*records = append(*records, record{Began: b})
	}
	w.began = true
}

// write changes the files of a batch. The journal receives every change before
// it is made. Photos that share a file, such as a sidecar, are written one
// after the other.
func (w *annotator) write(b batch, todo []*target, records []record) error {
	for len(todo) > 0 {
		w.each(todo, w.plan)
		now, later := w.sort(todo)
		if w.o.DryRun {
			for _, t := range append(now, later...) {
				if t.err = t.edit.Writable(); t.err != nil {
					w.failTarget(t)
				} else {
					w.wrote(t)
				}
			}
			break
		}
		for _, t := range now {
			w.begin(&records)
			records = append(records, record{Intent: w.intent(t, b.want)})
		}
		if err := w.l.remember(records...); err != nil {
			return err
		}
		records = nil
		w.each(now, func(t *target) { t.err = t.edit.Apply(w.o.KeepMtime) })
		for _, t := range now {
			if t.err == nil {
				w.wrote(t)
				continue
			}
			records = append(records, record{Failed: &failed{Run: w.run, Path: t.edit.Path}})
			tries := 1 // retry once, because another program may have locked the file
			if errors.Is(t.err, metadata.ErrChanged) {
				tries = 2
			}
			if t.tries++; t.tries <= tries {
				later = append(later, t)
			} else {
				w.failTarget(t)
			}
		}
		todo = later
	}
	w.finished(b)
	return w.l.remember(records...)
}

func (w *annotator) intent(t *target, want string) *intent {
	i := newIntent(w.run, t.edit)
	i.Photo, i.Content, i.Before = t.j.path, t.j.content, t.edit.Before
	if c := t.change; len(c.Accept)+len(c.Reject)+len(c.Add) > 0 {
		i.Person = true
		for _, word := range i.Words {
			if folded := metadata.Fold(word); slices.ContainsFunc(c.Suggest, func(s string) bool { return metadata.Fold(s) == folded }) {
				i.Machine = append(i.Machine, word)
			}
		}
	} else {
		i.Want = want
	}
	return i
}

func (w *annotator) words(j *job) ([]string, error) {
	var words []string
	for _, k := range w.results[j.at].Keywords {
		words = append(words, k.Word)
	}
	if w.o.Suggest != nil {
		more, err := w.o.Suggest(j.path, w.results[j.at].Keywords)
		if err != nil {
			return nil, unnamed(err)
		}
		words = append(words, more...)
	}
	return w.unremoved(j.path, words)
}

// unremoved leaves out words that an earlier run wrote and that a user later
// removed from the photo.
func (w *annotator) unremoved(path string, words []string) ([]string, error) {
	w.l.mu.Lock()
	before := w.l.mem.wroteTo(path, true)
	w.l.mu.Unlock()
	if len(before) == 0 || len(words) == 0 {
		return words, nil
	}
	there, _, err := metadata.ReadFile(path)
	if err != nil {
		return nil, unnamed(err)
	}
	for _, s := range slices.Concat(there.Human, there.Machine) {
		delete(before, metadata.Fold(s))
	}
	return slices.DeleteFunc(words, func(s string) bool { return before[metadata.Fold(s)] != "" }), nil
}

func (w *annotator) each(targets []*target, work func(*target)) {
	var all errgroup.Group
	all.SetLimit(w.o.Jobs)
	for _, t := range targets {
		all.Go(func() error { work(t); return nil })
	}
	_ = all.Wait()
}

func (w *annotator) plan(t *target) {
	t.edit, t.err = metadata.Plan(t.path, w.o.Where, w.o.Style, t.change)
	if w.o.Where == metadata.Embedded && errors.Is(t.err, metadata.ErrNotEmbeddable) {
		t.edit, t.err = metadata.Plan(t.path, metadata.Sidecar, w.o.Style, t.change)
	}
}

// sort selects the targets to write now. Targets that share a file with a
// selected target come later.
func (w *annotator) sort(todo []*target) (now, later []*target) {
	taken := map[string]bool{}
	for _, t := range todo {
		switch {
		case t.err != nil:
			w.failTarget(t)
		case t.edit == nil: // no change
		case taken[t.edit.Path]:
			later = append(later, t)
		default:
			taken[t.edit.Path] = true
			now = append(now, t)
		}
	}
	return now, later
}

func (w *annotator) failTarget(t *target) {
	if t.j.err == nil {
		w.failLate(t.j, unnamed(t.err))
	}
}

func (w *annotator) wrote(t *target) {
	r := &w.results[t.j.at]
	r.Run = w.run
	r.Files = append(r.Files, t.edit.Path)
	r.Beside = r.Beside || w.o.Where == metadata.Embedded && t.edit.Path != t.path
	for _, s := range t.edit.Added {
		if !slices.Contains(r.Added, s) {
			r.Added = append(r.Added, s)
		}
	}
}

// finished marks the photos of a batch as done. The journal receives these
// records with the next batch. If the process is killed before that write,
// settle (undo.go) inspects the files instead.
func (w *annotator) finished(b batch) {
	if w.o.DryRun {
		return
	}
	for _, j := range b.jobs {
		r := &w.results[j.at]
		if j.err != nil || r.Undone { // a photo whose run was undone stays open to another run
			continue
		}
		if info, err := os.Stat(j.path); len(r.Files) > 0 && err == nil {
			j.stat = statOf(info)
		}
		w.confirm = append(w.confirm, record{Done: &done{Photo: j.path, Also: w.list[j.at].Also, Stat: j.stat,
			Content: j.content, Want: b.want, Run: r.Run}})
	}
}
