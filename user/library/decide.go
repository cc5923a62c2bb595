package library

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"cpar/photo"
	"cpar/photo/decode"
	"cpar/photo/metadata"
)

// A Decision is a user's decision on the keywords of a photo. Field Suggest
// holds further machine keywords, which are written as unconfirmed.
type Decision struct {
	Path                         string
	Accept, Reject, Add, Suggest []string
}

// Decide writes decisions on several photos as one run and passes each photo's
// result to `each`. An interrupt ends Decide between two groups of 64 photos.
// Decide uses the fields of Options that concern writing.
func (l *Library) Decide(ctx context.Context, list []Decision, o Options, each func(Result)) error {
	release, err := l.lockShared()
	if err != nil {
		return err
	}
	defer release()
	o.Jobs, o.Command = runtime.GOMAXPROCS(0), fmt.Sprintf("decide %d photos", len(list))
	if len(list) == 1 {
		o.Command = "decide " + filepath.Base(list[0].Path)
	}
	w := &annotator{l: l, o: o, run: l.newRun(), list: make([]photo.Photo, len(list)), results: make([]Result, len(list)), final: make([]bool, len(list))}
	for first := 0; first < len(list) && err == nil; first += decidedAtOnce {
		if err = ctx.Err(); err != nil {
			break
		}
		some := list[first:min(len(list), first+decidedAtOnce)]
		err = w.decide(first, some)
		for i := range some {
			each(w.results[first+i])
		}
		o.Progress.Report("write", first+len(some), len(list))
	}
	return cmp.Or(w.flush(err != nil), err)
}

// decidedAtOnce is the number of photos whose decisions are appended to the
// journal together.
const decidedAtOnce = 64

// decide writes some of Decide's decisions. The first has position `first` in
// Decide's list.
func (w *annotator) decide(first int, some []Decision) error {
	jobs := make([]*job, len(some))
	var wait errgroup.Group
	wait.SetLimit(w.o.Jobs)
	for i, d := range some {
		j := &job{at: first + i}
		jobs[i], w.list[j.at].Path, w.results[j.at].Path = j, d.Path, d.Path
		wait.Go(func() error {
			var data []byte
			if j.path, j.err = absolute(d.Path); j.err == nil {
				data, j.err = decode.ReadFile(j.path)
			}
			if info, err := os.Stat(j.path); err == nil {
				j.stat = statOf(info)
			}
			j.content = decode.ContentDigest(data)
			return nil
		})
	}
	_ = wait.Wait()
	var todo []*target
	records := w.confirm
	w.confirm = nil
	for i, j := range jobs {
		var suggest []string
		if j.err == nil {
			suggest, j.err = w.unremoved(j.path, some[i].Suggest)
		}
		if j.err != nil {
			w.failLate(j, j.err)
			continue
		}
		d := some[i]
		w.l.mu.Lock()
		w.list[j.at].Also = w.l.also(j.path)
		w.l.mu.Unlock()
		w.results[j.at].Also = w.list[j.at].Also
		if len(d.Accept)+len(d.Reject)+len(d.Add) > 0 {
			// Record the decision even if no file changes.
			w.begin(&records)
			records = append(records, record{Decided: &decided{w.run, j.path, d.Accept, d.Reject, d.Add}})
			w.results[j.at].Run = w.run
		}
		targets, err := w.targets(j, metadata.Change{Accept: d.Accept, Reject: d.Reject, Add: d.Add, Suggest: suggest, Run: w.run})
		if err != nil {
			return err
		}
		todo = append(todo, targets...)
	}
	return w.write(batch{jobs: jobs}, todo, records)
}

// Machine returns the words that runs wrote for a photo and that no user has
// accepted. It also finds the words if the photo has moved.
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

// Content returns the content digest of a photo that has not changed since it
// was annotated.
func (l *Library) Content(path string) ([32]byte, bool) {
	path, err := absolute(path)
	if err != nil || l.refresh() != nil {
		return [32]byte{}, false
	}
	info, err := os.Stat(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.mem.photos[path]; err == nil && p != nil && p.stat == statOf(info) {
		return p.content, true
	}
	return [32]byte{}, false
}

// Find returns existing photos with a written keyword that starts with `word`
// or equals an element of `others`, such as a synonym.
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
