package library

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar/photo"
	"cpar/photo/decode"
	"cpar/photo/metadata"
)

// Decide writes a user's decision on the keywords of a photo, as a run of its
// own.
func (l *Library) Decide(ctx context.Context, path string, where metadata.Where, style metadata.Style, keepMtime bool, accept, reject, add []string) (Result, error) {
	r := Result{Path: path}
	release, err := l.lockShared()
	if err != nil {
		return r, err
	}
	defer release()
	j := &job{}
	if j.path, err = absolute(path); err != nil {
		return r, err
	}
	data, err := decode.ReadFile(j.path)
	if err != nil {
		return r, err
	}
	j.content = decode.ContentDigest(data)
	l.mu.Lock()
	r.Also = l.also(j.path)
	l.mu.Unlock()
	id := l.newRun()
	r.Run = id
	w := &annotator{l: l, o: Options{Where: where, Style: style, KeepMtime: keepMtime, Jobs: 1}, run: id, list: []photo.Photo{{Path: path, Also: r.Also}}, results: []Result{r}, told: make([]bool, 1)}
	change := metadata.Change{Accept: accept, Reject: reject, Add: add, Run: id}
	records := []record{{Began: beginning(id, "decide "+filepath.Base(path), keepMtime)},
		{Decided: &decided{id, j.path, accept, reject, add}}}
	for _, p := range append([]string{j.path}, r.Also...) {
		if p, err = absolute(p); err != nil {
			return r, err
		}
		t := &target{j: j, path: p}
		if records, err = w.decide(t, change, records); err != nil {
			return w.results[0], err
		}
	}
	// Record the decision even if no file changed.
	if err := l.remember(append(records, record{Ended: id})...); err != nil {
		return w.results[0], err
	}
	return w.results[0], ctx.Err()
}

func (w *annotator) decide(t *target, c metadata.Change, records []record) ([]record, error) {
	for {
		w.plan(t, c)
		if t.err != nil || t.edit == nil {
			return records, t.err
		}
		i := newIntent(w.run, t.edit)
		i.Photo, i.Content, i.Person, i.Before = t.j.path, t.j.content, true, t.edit.Before
		if err := w.l.remember(append(records, record{Intent: i})...); err != nil {
			return nil, err
		}
		records = nil
		err := t.edit.Apply(w.o.KeepMtime)
		if err == nil {
			w.wrote(t)
			d := &done{Photo: t.j.path, Also: w.list[0].Also, Content: t.j.content, Run: w.run}
			if info, err := os.Stat(t.j.path); err == nil {
				d.Stat = statOf(info)
			}
			return []record{{Done: d}}, nil
		}
		if t.tries++; t.tries > 2 {
			return records, err
		}
	}
}

// Machine returns the words that runs wrote for a photo and no user accepted,
// even if the photo has moved.
func (l *Library) Machine(path string) []string {
	path, err := absolute(path)
	if err != nil || l.refresh() != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	words := l.mem.machine(path)
	if l.mem.photos[path] != nil || len(l.mem.names[filepath.Base(path)]) == 0 {
		return words
	}
	data, err := decode.ReadFile(path)
	if err != nil {
		return nil
	}
	content := digest(decode.ContentDigest(data))
	for _, other := range l.mem.names[filepath.Base(path)] {
		if l.mem.photos[other].content == content {
			words = append(words, l.mem.machine(other)...)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// Find returns the existing photos with a written keyword that starts with word
// or is one of the others, such as its synonyms.
func (l *Library) Find(word string, others ...string) []Result {
	if l.refresh() != nil {
		return nil // an unreadable journal matches nothing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	want, also := metadata.Fold(strings.TrimSpace(word)), map[string]bool{}
	for _, w := range others {
		also[metadata.Fold(w)] = true
	}
	out := []Result{}
	for path, p := range l.mem.photos {
		words := l.mem.given(path)
		if want == "" || !slices.ContainsFunc(words, func(s string) bool { return strings.HasPrefix(metadata.Fold(s), want) || also[metadata.Fold(s)] }) {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			continue
		}
		out = append(out, Result{Path: path, Also: p.also, Added: words, Known: true})
	}
	slices.SortFunc(out, func(a, b Result) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func (m *memory) given(path string) []string {
	words := m.wroteTo(path, false)
	for _, d := range m.decisions(path) {
		for _, s := range slices.Concat(d.Accept, d.Add) {
			words[metadata.Fold(s)] = s
		}
		for _, s := range d.Reject {
			delete(words, metadata.Fold(s))
		}
	}
	return slices.Sorted(maps.Values(words))
}
