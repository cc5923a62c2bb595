package library

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/photo/metadata"
)

// Undone lists the files that an undo changed or, in a dry run, would change, in
// the order of the changes.
type Undone struct {
	Run       string   `json:"run"`
	Restored  []string `json:"restored"`          // files with their former bytes
	Retracted []string `json:"retracted"`         // files changed after the run, from which its words were removed
	Untouched []string `json:"untouched"`         // files that contain none of the run's words
	Gone      []string `json:"gone"`              // files that were moved or deleted
	Left      []Left   `json:"left"`              // files that could not be changed
	Damaged   int      `json:"damaged,omitempty"` // unreadable parts of the journal
	// Photos lists the photos to which the files belong.
	Photos []string `json:"-"`
}

type Left struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	photo  string
}

// Undo reverts the run with the given id, or the last run not undone if id is
// "". Undo can be repeated.
func (l *Library) Undo(ctx context.Context, id string, dryRun bool, tell progress.Func) (Undone, error) {
	none := Undone{Restored: []string{}, Retracted: []string{}, Untouched: []string{}, Gone: []string{}, Left: []Left{}}
	release, err := l.lockShared()
	if err != nil {
		return none, err
	}
	defer release()
	r, err := l.find(id)
	if err != nil {
		return none, fmt.Errorf("undoing: %w", err)
	}
	u := none
	u.Run = r.Run
	switch {
	case r.undone:
		return u, nil
	case !r.ended: // lockShared ends the runs of dead processes
		return u, hint.Add(fmt.Errorf("undoing run %s: %w: it is still writing, or another cpar is running", r.Run, cpar.ErrStorage), "wait until it has ended")
	case r.began.Words:
		return u, hint.Add(fmt.Errorf("undoing run %s: %w: its undo data was dropped", r.Run, cpar.ErrInput), "its words are in the files as keywords below auto, which photo programs can remove")
	}
	h, err := l.history(r.Run)
	if err != nil {
		return u, err
	}
	u.Damaged = h.damaged
	if !dryRun {
		if err := l.remember(record{Undoing: r.Run}); err != nil {
			return u, err
		}
	}
	for n, i := range slices.Backward(h.intents) {
		if ctx.Err() != nil {
			return u, context.Cause(ctx)
		}
		u.Photos = append(u.Photos, i.Photo)
		if err := u.undo(i, h, r.Keep, dryRun); err != nil {
			u.Left = append(u.Left, Left{i.Path, unnamed(err).Error(), i.Photo})
		}
		tell.Report("undo", len(h.intents)-n, len(h.intents))
	}
	if dryRun {
		return u, nil
	}
	end := &undone{Run: r.Run}
	for _, left := range u.Left {
		end.Left = append(end.Left, left.photo)
	}
	return u, l.remember(record{Undone: end})
}

type history struct {
	intents []*intent         // made or about to be made
	decided bool              // the user accepted or rejected words, which Retract cannot revert
	since   map[string]string // by file, the last run after this run that wrote to the file
	damaged int
}

func (l *Library) history(run string) (*history, error) {
	h := &history{since: map[string]string{}}
	var err error
	h.damaged, err = l.journal.Read(func(r *record) {
		l.mu.Lock()
		defer l.mu.Unlock()
		h.take(run, r, l.mem)
	})
	return h, err
}

func (h *history) take(run string, r *record, m *memory) {
	switch d, i := r.Decided, r.Intent; {
	case d != nil && d.Run == run:
		h.decided = h.decided || len(d.Accept)+len(d.Reject) > 0
	case r.Failed != nil && r.Failed.Run == run:
		for n, made := range slices.Backward(h.intents) {
			if made.Path == r.Failed.Path {
				h.intents = slices.Delete(h.intents, n, n+1)
				break
			}
		}
	case i != nil && i.Run == run:
		h.intents = append(h.intents, i)
		h.since[i.Path] = ""
	case i != nil:
		if _, ours := h.since[i.Path]; ours && m.alive(i.Run, i.Photo) && !m.runs[i.Run].began.Words {
			h.since[i.Path] = i.Run
		}
	}
}

// retractable returns an error if the run contains decisions and the file was changed
// afterwards, because only restoring the former bytes can revert decisions. It checks
// only the last intent for a file, which Undo reverts first.
func (h *history) retractable(i *intent, now digest) error {
	since, last := h.since[i.Path]
	delete(h.since, i.Path)
	switch {
	case !h.decided || !last || now == i.Before:
		return nil
	case since != "":
		return fmt.Errorf("run %s has changed it since: undo that one first", since)
	}
	return errors.New("it has changed since, so accepted and rejected keywords stay")
}

// away reports whether a folder is missing or empty, like an unused mount point.
func away(folder string) bool {
	entries, err := os.ReadDir(folder)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// undo reverts one change, if it was made and is not yet reverted.
func (u *Undone) undo(i *intent, h *history, keep, dryRun bool) error {
	now, err := readRegular(i.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && away(filepath.Dir(i.Path)):
		return errors.New("its folder is missing or empty: if it is on a disconnected disk, connect the disk")
	case errors.Is(err, fs.ErrNotExist) && i.Removed:
	case errors.Is(err, fs.ErrNotExist):
		u.Gone = append(u.Gone, i.Path)
		return nil
	case err != nil:
		return unreadable(err)
	}
	to, edit := &u.Restored, (*metadata.Edit)(nil)
	if made := i.edit(now); made != nil && sha256.Sum256(now) == i.After {
		edit = made.Undo()
	} else {
		to = &u.Retracted
		if i.Removed { // recreated after the run
			u.Untouched = append(u.Untouched, i.Path)
			return nil
		}
		if err := h.retractable(i, sha256.Sum256(now)); err != nil {
			return err
		}
		if edit, err = metadata.Retract(i.Path, i.Run, i.Words); err != nil {
			return err
		}
	}
	if edit == nil {
		u.Untouched = append(u.Untouched, i.Path)
		return nil
	}
	if !dryRun {
		if err := edit.Apply(keep); err != nil {
			return err
		}
	}
	*to = append(*to, i.Path)
	return nil
}

// settle completes the runs and undos of killed processes. The caller holds
// the exclusive lock.
func (l *Library) settle() error {
	l.mu.Lock()
	var records []record
	var undoing []string
	for run, all := range l.mem.pending {
		removeTemps(all)
		byPhoto := map[string][]*intent{}
		for _, i := range all {
			byPhoto[i.Photo] = append(byPhoto[i.Photo], i)
		}
		for photo, intents := range byPhoto {
			for _, i := range intents {
				if i.unmade() {
					records = append(records, record{Failed: &failed{Run: run, Path: i.Path}})
				}
			}
			if i := intents[0]; i.Want != "" && !slices.ContainsFunc(intents, func(i *intent) bool { return !i.made() }) {
				// The zero stat makes the next run read the photo again.
				records = append(records, record{Done: &done{Photo: photo, Also: l.also(photo), Content: i.Content, Want: i.Want, Run: run}})
			}
		}
	}
	for _, id := range l.mem.order {
		r := l.mem.runs[id]
		if !r.ended || r.undoing {
			records = append(records, record{Ended: id, Cut: !r.ended || r.cut})
		}
		if r.undoing {
			undoing = append(undoing, id)
		}
	}
	l.mu.Unlock()
	for _, id := range undoing {
		h, err := l.history(id)
		if err != nil {
			return err
		}
		removeTemps(h.intents)
	}
	return l.remember(records...)
}

// removeTemps removes the temporary files of changes. Under the exclusive lock
// they belong to killed processes.
func removeTemps(intents []*intent) {
	names := map[string][]string{} // by folder
	for _, i := range intents {
		folder := filepath.Dir(i.Path)
		names[folder] = append(names[folder], filepath.Base(i.Path))
	}
	for folder, all := range names {
		_ = durable.RemoveTemps(durable.OS, folder, 0, all...)
	}
}

func (l *Library) also(photo string) []string {
	if p := l.mem.photos[photo]; p != nil {
		return p.also
	}
	return nil
}

func (i *intent) made() bool {
	now, err := readRegular(i.Path)
	return err == nil && sha256.Sum256(now) == i.After
}

// unmade reports whether a file equals its state before the change.
func (i *intent) unmade() bool {
	now, err := readRegular(i.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return i.Created && !away(filepath.Dir(i.Path))
	}
	return err == nil && i.Before != digest{} && sha256.Sum256(now) == i.Before
}

// readRegular reads a file. It rejects pipes and devices, because reading them
// could block forever.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a file")}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
