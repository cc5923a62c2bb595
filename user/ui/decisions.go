package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"cpar"
	"cpar/photo/metadata"
)

const (
	maxWordBytes = 200
	maxWords     = 200
)

type decisions struct {
	mu   sync.Mutex
	by   map[string]Decision // by photo id
	past []action            // actions that can be undone, oldest first
	last int                 // number of the latest action
}

func (d *decisions) each(f func(id string, x Decision)) {
	d.mu.Lock()
	all := maps.Clone(d.by)
	d.mu.Unlock()
	for id, x := range all { // slices of decisions are never modified
		f(id, x)
	}
}

func (d *decisions) of(id string) Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.by[id]
	return Decision{slices.Clone(x.Accept), slices.Clone(x.Reject), slices.Clone(x.Add)}
}

// forget drops decisions that were written. It keeps decisions made after the
// write began.
func (d *decisions) forget(id string, written Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.by[id]
	x.Accept, x.Reject, x.Add = without(x.Accept, written.Accept...), without(x.Reject, written.Reject...), without(x.Add, written.Add...)
	d.keep(id, x)
}

// keep stores a decision. The caller holds the mutex.
func (d *decisions) keep(id string, x Decision) {
	if x.empty() {
		delete(d.by, id)
	} else {
		d.by[id] = x
	}
}

// mark sets the decision on a word to accept, reject, add, or "" (undecided).
func (d *decisions) mark(id, word, mark string) error {
	word, err := checkWord(word)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set(id, word, mark)
}

// markAll records changes of marks as one action. It leaves out invalid
// changes, and returns an error if all are invalid.
func (d *decisions) markAll(all []change) (action, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	done := action{number: d.last}
	var wrong error
	for _, c := range all {
		word, err := checkWord(c.word)
		if err == nil {
			err = d.set(c.id, word, c.after)
		}
		if err == nil {
			done.changes = append(done.changes, c)
		} else {
			wrong = err
		}
	}
	if len(done.changes) == 0 && wrong != nil {
		return done, wrong
	}
	d.past = append(d.past, done)
	d.past = d.past[max(0, len(d.past)-maxActions):]
	return done, nil
}

// unmark reverts an action, except marks that were later changed or written.
// It returns the number of marks reverted.
func (d *decisions) unmark(number int) (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.past, func(a action) bool { return a.number == number })
	if at < 0 {
		return 0, fmt.Errorf("undoing a decision: %w: it is too old, or undone already", cpar.ErrInput)
	}
	for _, c := range d.past[at].changes {
		if d.by[c.id].mark(c.word) == c.after && d.set(c.id, c.word, c.before) == nil {
			n++
		}
	}
	d.past = slices.Delete(d.past, at, at+1)
	return n, nil
}

// set records a mark. The caller holds the mutex.
func (d *decisions) set(id, word, mark string) error {
	x := d.by[id]
	x.Accept, x.Reject, x.Add = without(x.Accept, word), without(x.Reject, word), without(x.Add, word)
	switch mark {
	case "accept":
		x.Accept = append(x.Accept, word)
	case "reject":
		x.Reject = append(x.Reject, word)
	case "add":
		x.Add = append(x.Add, word)
	case "":
	default:
		return fmt.Errorf("deciding on a keyword: %w: there is no mark %q", cpar.ErrInput, mark)
	}
	if len(x.Accept)+len(x.Reject)+len(x.Add) > maxWords {
		return fmt.Errorf("deciding on a keyword: %w: a photo takes %d decisions at a time", cpar.ErrInput, maxWords)
	}
	d.keep(id, x)
	return nil
}

func (d Decision) empty() bool { return len(d.Accept)+len(d.Reject)+len(d.Add) == 0 }

// mark returns accept, reject, or "" for a word without a decision.
func (d Decision) mark(word string) string {
	switch {
	case has(d.Accept, word):
		return "accept"
	case has(d.Reject, word):
		return "reject"
	}
	return ""
}

func without(words []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return has(some, w) })
}

// hasPrefix reports whether `word` begins with a folded prefix.
func hasPrefix(word, prefix string) bool { return strings.HasPrefix(metadata.Fold(word), prefix) }

// has reports whether `words` contains `word`, regardless of case.
func has(words []string, word string) bool {
	folded := metadata.Fold(word)
	return slices.ContainsFunc(words, func(w string) bool { return metadata.Fold(w) == folded })
}

// checkWord rejects words that photo programs cannot show as keywords.
func checkWord(word string) (string, error) {
	word = strings.TrimSpace(word)
	switch {
	case word == "":
		return "", fmt.Errorf("deciding on a keyword: %w: it is empty", cpar.ErrInput)
	case len(word) > maxWordBytes:
		return "", fmt.Errorf("deciding on a keyword: %w: it is longer than %d bytes", cpar.ErrInput, maxWordBytes)
	case !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsControl):
		return "", fmt.Errorf("deciding on a keyword: %w: it contains unprintable characters", cpar.ErrInput)
	case strings.ContainsAny(word, "|/"):
		return "", fmt.Errorf("deciding on a keyword: %w: | and / separate levels of keywords and cannot be part of one", cpar.ErrInput)
	}
	return word, nil
}
