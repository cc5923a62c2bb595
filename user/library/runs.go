package library

import (
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// A Run is a set of changes and decisions that can be undone together. A call
// that resumes a run (Options.Resume) adds to the same Run.
type Run struct {
	ID        string    `json:"run"`
	Began     time.Time `json:"began"`
	Command   string    `json:"command"`
	Files     int       `json:"files"`
	Keywords  int       `json:"words"`
	Undone    bool      `json:"undone"`
	Left      int       `json:"left,omitempty"`
	Forgotten bool      `json:"forgotten,omitempty"`
}

// Runs lists the runs, oldest first.
func (l *Library) Runs() ([]Run, error) {
	if err := l.refresh(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []Run{}
	for _, id := range l.mem.order {
		r := l.mem.runs[id]
		if r.empty() {
			continue
		}
		out = append(out, r.listed())
	}
	return out, nil
}

func (r *run) listed() Run {
	return Run{ID: r.Run, Began: r.At, Command: r.Command, Files: r.files, Keywords: r.words,
		Undone: r.undone, Left: len(r.left), Forgotten: r.began.Words}
}

// ToUndo returns the run with the given id or, if id is "", the last run. It
// returns an error if the last run wrote nothing or is undone, so that no undo
// reaches past it to a run that the user may have forgotten.
func (l *Library) ToUndo(id string) (Run, error) {
	release, err := l.lockShared() // ends the runs of killed processes
	if err != nil {
		return Run{}, err
	}
	defer release()
	r, err := l.find(id)
	if err != nil {
		return Run{}, fmt.Errorf("undoing: %w", err)
	}
	if id != "" {
		return r.listed(), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last, why := l.mem.runs[l.mem.order[len(l.mem.order)-1]], ""
	now := last.began
	switch {
	case l.mem.idle != nil:
		now, why = *l.mem.idle, "it wrote nothing"
	case last.empty():
		why = "it wrote nothing"
	case last.undone:
		why = "it is undone"
	default:
		return last.listed(), nil
	}
	return Run{}, hint.Add(fmt.Errorf("undoing the last run (%s, %s): %w: %s", sanitize.Text(now.Command), now.At.Local().Format("2006-01-02 15:04"), cpar.ErrInput, why),
		"cpar runs lists the earlier runs; name one to undo it")
}

// letters are the characters of run ids, without lookalikes such as l and 1.
const letters = "abcdefghjkmnpqrstuvwxyz23456789"

// newRun returns a random unused id that is short enough to type.
func (l *Library) newRun() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		var b [4]byte
		rand.Read(b[:]) // never fails
		for i := range b {
			b[i] = letters[int(b[i])%len(letters)]
		}
		id := time.Now().Format("20060102") + "-" + string(b[:])
		if l.mem.runs[id] == nil {
			return id
		}
	}
}

func beginning(id, command string, keep bool) *began {
	return &began{Run: id, At: time.Now().Truncate(time.Second), Command: command, Keep: keep}
}

// resumable returns the id of the last run if it was cut and began with the
// same command, otherwise "".
func (l *Library) resumable(same string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Backward(l.mem.order) {
		r := l.mem.runs[id]
		if r.empty() {
			continue
		}
		if r.cut && r.Same == same && !r.undone && r.left == nil && !r.began.Words {
			return id
		}
		break
	}
	return ""
}

// find returns the run with the given id, or the last run that can be undone if
// id is "".
func (l *Library) find(id string) (*run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != "" {
		if r := l.mem.runs[id]; r != nil && !r.empty() {
			return r, nil
		}
		return nil, hint.Add(fmt.Errorf("%w: there is no run %s", cpar.ErrInput, sanitize.Text(id)), "cpar runs lists them")
	}
	for _, id := range slices.Backward(l.mem.order) {
		if r := l.mem.runs[id]; !r.undone && !r.began.Words && !r.empty() {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no run to undo", cpar.ErrInput)
}
