package library

import (
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"cpar/photo/metadata"
)

type memory struct {
	runs    map[string]*run
	order   []string // run ids, oldest first
	idle    *began   // the last command, if it wrote nothing
	answers map[answerKey]json.RawMessage
	latest  map[digest]string // key of the last answer for a photo's content
	photos  map[string]*knownPhoto
	names   map[string][]string  // paths by file name
	pending map[string][]*intent // intents with unknown outcome, by run
	bound   int64                // see record.Bound
}

type answerKey struct {
	content digest
	key     string
}

type run struct {
	began
	files, words int
	decisions    int
	ended        bool // the run has stopped writing
	undoing      bool // an undo has begun, and its process may have been killed
	cut          bool // the run stopped early and can be resumed
	undone       bool
	left         []string // photos with files that an undo could not revert
}

// empty reports whether a run has changed nothing, so that it need not be
// listed or undone.
func (r *run) empty() bool { return r.files == 0 && r.decisions == 0 }

type knownPhoto struct {
	also    []string
	stat    stat
	content digest
	done    []finished
	wrote   []wrote
	decided []*decided
}

// A finished value states that a photo needs no more work for the options with
// digest `want` while `runs` are in effect.
type finished struct {
	content digest
	want    string
	runs    []string
}

type wrote struct {
	run   string
	words []string
}

type stat struct {
	Size  int64  `json:"size"`
	Time  int64  `json:"time"` // nanoseconds
	Inode uint64 `json:"inode,omitempty"`
}

func statOf(info fs.FileInfo) stat {
	return stat{info.Size(), info.ModTime().UnixNano(), inode(info)}
}

func newMemory() *memory {
	return &memory{runs: map[string]*run{}, answers: map[answerKey]json.RawMessage{}, latest: map[digest]string{}, photos: map[string]*knownPhoto{},
		names: map[string][]string{}, pending: map[string][]*intent{}}
}

func (m *memory) photo(path string) *knownPhoto {
	p := m.photos[path]
	if p == nil {
		p = &knownPhoto{}
		m.photos[path] = p
		base := filepath.Base(path)
		m.names[base] = append(m.names[base], path)
	}
	return p
}

func (m *memory) take(r *record) {
	switch {
	case r.Began != nil:
		if m.runs[r.Began.Run] == nil {
			m.order = append(m.order, r.Began.Run)
		}
		m.runs[r.Began.Run], m.idle = &run{began: *r.Began}, nil
	case r.Asked != nil:
		m.answers[answerKey{r.Asked.Content, r.Asked.Key}] = r.Asked.Answer
		m.latest[r.Asked.Content] = r.Asked.Key
	case r.Intent != nil:
		m.takeIntent(r.Intent)
	case r.Done != nil:
		m.takeDone(r.Done)
	case r.Decided != nil:
		p := m.photo(r.Decided.Photo)
		p.decided = append(p.decided, r.Decided)
		if run := m.runs[r.Decided.Run]; run != nil {
			run.decisions++
		}
	case r.Failed != nil:
		m.takeFailed(r.Failed)
	case r.Undone != nil:
		if run := m.runs[r.Undone.Run]; run != nil {
			run.undoing, run.undone, run.left = false, len(r.Undone.Left) == 0, r.Undone.Left
		}
		delete(m.pending, r.Undone.Run)
	case r.Undoing != "":
		if run := m.runs[r.Undoing]; run != nil {
			run.undoing = true
		}
	case r.Ended != "":
		if run := m.runs[r.Ended]; run != nil {
			run.ended, run.cut, run.undoing = true, r.Cut, false
		}
	case r.Resumed != "":
		if run := m.runs[r.Resumed]; run != nil {
			run.ended, run.cut, m.idle = false, false, nil
		}
	case r.Idle != nil:
		m.idle = r.Idle
	case r.Bound > 0:
		m.bound = r.Bound
	}
}

func (m *memory) takeIntent(i *intent) {
	if m.runs[i.Run] == nil { // the record of the run's beginning was damaged
		m.take(&record{Began: &began{Run: i.Run}})
	}
	r := m.runs[i.Run]
	r.files++
	r.words += len(i.Words)
	r.undone, r.left = false, nil // the run has written again after its undo
	p := m.photo(i.Photo)
	machine := i.Words
	if i.Person {
		machine = i.Machine
	}
	if len(machine) > 0 {
		at := slices.IndexFunc(p.wrote, func(w wrote) bool { return w.run == i.Run })
		if at < 0 {
			p.wrote = append(p.wrote, wrote{run: i.Run})
			at = len(p.wrote) - 1
		}
		for _, w := range machine {
			if !slices.Contains(p.wrote[at].words, w) {
				p.wrote[at].words = append(p.wrote[at].words, w)
			}
		}
	}
	m.pending[i.Run] = append(m.pending[i.Run], i)
}

// takeFailed withdraws the last intent (planned change) of a run for a file.
func (m *memory) takeFailed(f *failed) {
	at := -1
	for n, i := range m.pending[f.Run] {
		if i.Path == f.Path {
			at = n
		}
	}
	if at < 0 {
		return
	}
	i := m.pending[f.Run][at]
	r, p := m.runs[f.Run], m.photo(i.Photo)
	r.files--
	r.words -= len(i.Words)
	m.settled(f.Run, func(other *intent) bool { return other == i })
	// Other files of the photo, such as a raw file, may hold the same words.
	if !slices.ContainsFunc(m.pending[f.Run], func(other *intent) bool { return other.Photo == i.Photo }) &&
		!slices.ContainsFunc(p.done, func(d finished) bool { return slices.Contains(d.runs, f.Run) }) {
		p.wrote = slices.DeleteFunc(p.wrote, func(w wrote) bool { return w.run == f.Run })
	}
}

// settled removes intents whose outcome is known.
func (m *memory) settled(run string, known func(*intent) bool) {
	m.pending[run] = slices.DeleteFunc(m.pending[run], known)
	if len(m.pending[run]) == 0 {
		delete(m.pending, run)
	}
}

func (m *memory) takeDone(d *done) {
	p := m.photo(d.Photo)
	p.also, p.stat, p.content = d.Also, d.Stat, d.Content
	p.done = slices.DeleteFunc(p.done, func(f finished) bool { return f.content == d.Content && f.want == d.Want })
	if d.Want != "" {
		// Earlier runs wrote the words that this run left out.
		runs := []string{d.Run}
		for _, w := range p.wrote {
			runs = append(runs, w.run)
		}
		for _, x := range p.decided {
			runs = append(runs, x.Run)
		}
		runs = slices.DeleteFunc(runs, func(run string) bool { return run == "" || run != d.Run && !m.alive(run, d.Photo) })
		p.done = append(p.done, finished{d.Content, d.Want, runs})
	}
	m.settled(d.Run, func(i *intent) bool { return i.Photo == d.Photo })
}

// alive reports whether the changes of a run to a photo are still in effect.
func (m *memory) alive(run, photo string) bool {
	r := m.runs[run]
	return r != nil && !r.undone && (r.left == nil || slices.Contains(r.left, photo))
}

// annotated reports whether a run has annotated a photo, with the options of
// digest `want` unless that is "". If `alive` is set, undone runs do not count.
func (m *memory) annotated(path string, content digest, want string, alive bool) bool {
	p := m.photos[path]
	return p != nil && slices.ContainsFunc(p.done, func(f finished) bool {
		undone := func(run string) bool { return !m.alive(run, path) }
		return f.content == content && (want == "" || f.want == want) && !(alive && slices.ContainsFunc(f.runs, undone))
	})
}

// wroteTo returns the words that runs wrote for a photo. If `sure` is set, it
// leaves out changes that may be incomplete.
func (m *memory) wroteTo(path string, sure bool) map[string]string {
	words := map[string]string{}
	p := m.photos[path]
	if p == nil {
		return words
	}
	for _, w := range p.wrote {
		if !m.alive(w.run, path) || sure && slices.ContainsFunc(m.pending[w.run], func(i *intent) bool { return i.Photo == path }) {
			continue
		}
		for _, s := range w.words {
			words[metadata.Fold(s)] = s
		}
	}
	return words
}

func (m *memory) machine(path string) []string {
	words := m.wroteTo(path, false)
	for _, d := range m.decisions(path) {
		for _, w := range slices.Concat(d.Accept, d.Add) {
			delete(words, metadata.Fold(w))
		}
	}
	return slices.Sorted(maps.Values(words))
}

// decisions returns the decisions on a photo that are still in effect.
func (m *memory) decisions(path string) (alive []*decided) {
	if p := m.photos[path]; p != nil {
		for _, d := range p.decided {
			if m.alive(d.Run, path) {
				alive = append(alive, d)
			}
		}
	}
	return alive
}
