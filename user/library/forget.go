package library

import (
	"fmt"
	"slices"
)

// keepBytes is the journal size above which obsolete records and the undo data
// of the older runs are dropped.
const keepBytes = 128 << 20

// Forget drops the undo data of the named runs, or of all runs if ids is
// empty, and returns the ids of these runs. It keeps the words that they wrote.
func (l *Library) Forget(ids []string, dryRun bool) ([]string, error) {
	release, err := l.lockExclusive()
	if err != nil {
		return nil, err
	}
	defer release()
	drop := map[string]bool{}
	for _, id := range ids {
		r, err := l.find(id)
		if err != nil {
			return nil, fmt.Errorf("forgetting: %w", err)
		}
		drop[r.Run] = true
	}
	forgotten := []string{}
	l.mu.Lock()
	for _, id := range l.mem.order {
		if (len(ids) == 0 || drop[id]) && !l.mem.runs[id].began.Words {
			forgotten = append(forgotten, id)
			drop[id] = true
		}
	}
	l.mu.Unlock()
	if dryRun || len(forgotten) == 0 {
		return forgotten, nil
	}
	return forgotten, l.compact(drop)
}

// compact rewrites the journal without obsolete records and without the undo
// data of the given runs. It keeps only the last reading and the last answer of
// each photo.
func (l *Library) compact(drop map[string]bool) error {
	var all []record
	if _, err := l.journal.Read(func(r *record) { all = append(all, *r) }); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r record) bool { return r.Bound > 0 })
	last := map[string]int{}
	for n := range all {
		last[nameOf(&all[n])] = n
	}
	delete(last, "")
	var out []record
	for n, r := range all {
		if at, ok := last[nameOf(&r)]; ok && at != n {
			continue
		}
		if r.Began != nil && drop[r.Began.Run] {
			began := *r.Began
			began.Words = true
			r.Began = &began
		}
		if r.Intent != nil && drop[r.Intent.Run] {
			i := r.Intent
			r.Intent = &intent{Run: i.Run, Photo: i.Photo, Content: i.Content, Want: i.Want, Path: i.Path, Words: i.Words, Person: i.Person, After: i.After}
		}
		out = append(out, r)
	}
	if err := l.journal.Replace(out); err != nil {
		return err
	}
	l.mu.Lock()
	l.read = -1 // refresh will read the journal again
	l.mu.Unlock()
	return nil
}

// nameOf returns a record's name, or "". A later record of the same name
// supersedes the record.
func nameOf(r *record) string {
	switch {
	case r.Asked != nil: // asked under any index and generation
		return fmt.Sprintf("asked %x", r.Asked.Content)
	case r.Idle != nil:
		return "idle"
	case r.Done != nil && r.Done.Run == "":
		return fmt.Sprintf("done %q %s", r.Done.Photo, r.Done.Want)
	}
	return ""
}

// bound compacts a journal that exceeds its bound and drops the undo data of
// the older half of the runs. If the journal is still too large, the bound
// doubles. The caller holds the exclusive lock.
func (l *Library) bound() error {
	size, err := l.journal.Size()
	l.mu.Lock()
	bound, order := max(l.keep, l.mem.bound), slices.Clone(l.mem.order)
	l.mu.Unlock()
	if err != nil || size <= bound {
		return err
	}
	drop := map[string]bool{}
	for _, id := range order[:(len(order)+1)/2] {
		drop[id] = true
	}
	if err := l.compact(drop); err != nil {
		return err
	}
	if err = l.refresh(); err == nil {
		err = l.remember(record{Bound: 2 * l.read})
	}
	return err
}
