package metadata

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo"
)

// Plan computes the edit that applies a change to the photo's sidecar or to the
// photo itself. It writes nothing, and returns nil if nothing would change. It
// does not suggest words that a person gave or rejected in any list, compared
// by Fold.
func Plan(photo string, w Where, s Style, c Change) (*Edit, error) {
	e, err := plan(photo, w, s, c)
	if err != nil {
		return nil, fmt.Errorf("planning keywords of %s: %w", sanitize.Text(photo), err)
	}
	return e, nil
}

func plan(photo string, w Where, s Style, c Change) (*Edit, error) {
	c, err := c.cleaned()
	if err != nil {
		return nil, err
	}
	all, _, err := readAll(photo)
	if err != nil {
		return nil, err
	}
	switch w {
	case Sidecar:
		name, err := sidecarFor(photo, s)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(photo)
		if err != nil {
			return nil, readError(err)
		}
		return editSidecar(name, info.Mode().Perm(), func(t *target) []string { return t.change(all, c) })
	case Embedded:
		return editJPEG(photo, func(t *target) []string { return t.change(all, c) })
	}
	return nil, fmt.Errorf("%w: keywords are written to a %s or are %s, not %q", cpar.ErrInput, Sidecar, Embedded, string(w))
}

// NewSidecar returns a new sidecar for an in-memory photo, or nil if the change
// adds nothing.
func NewSidecar(name string, data []byte, c Change) ([]byte, error) {
	c, err := c.cleaned()
	if err != nil {
		return nil, fmt.Errorf("planning keywords of %s: %w", sanitize.Text(name), err)
	}
	all, _ := readBlocks(bytes.NewReader(data), int64(len(data)), name)
	e, err := changeSidecar(name+".xmp", nil, 0, func(t *target) []string { return t.change(all, c) })
	if err != nil || e == nil {
		return nil, err
	}
	return e.New, nil
}

// Retract computes the edit that removes the words of a run from a sidecar or
// JPEG file, except words that a person accepted or put into a hierarchy. It
// returns nil if no word is left to remove.
func Retract(path, run string, words []string) (*Edit, error) {
	change := func(t *target) []string { t.retract(run, words); return nil }
	var e *Edit
	embedded, err := isJPEG(path)
	switch {
	case err != nil:
	case embedded:
		e, err = editJPEG(path, change)
	default:
		e, err = editSidecar(path, 0o644, change)
	}
	if err != nil {
		return nil, fmt.Errorf("taking keywords out of %s: %w", sanitize.Text(path), err)
	}
	return e, nil
}

func editSidecar(name string, perm fs.FileMode, change func(*target) []string) (*Edit, error) {
	name, old, err := readSidecar(name)
	if err != nil {
		return nil, err
	}
	return changeSidecar(name, old, perm, change)
}

func changeSidecar(name string, old []byte, perm fs.FileMode, change func(*target) []string) (e *Edit, err error) {
	t := &target{xmp: newPacket()}
	if len(old) > 0 {
		if t.xmp, err = parsePacket(old); err != nil {
			return nil, hint.Add(fmt.Errorf("sidecar %s: %w: %w", sanitize.Text(filepath.Base(name)), errDamaged, err),
				"repair it or move it away; it is left as it is")
		}
	}
	added := change(t)
	if !t.changed {
		return nil, nil
	}
	e = &Edit{Path: name, Created: old == nil, Old: old, Added: added, mode: perm&0o666 | 0o600}
	if !t.xmp.isOwnAndEmpty() {
		if e.New, err = t.xmp.bytes(); err != nil {
			return nil, err
		}
		if len(e.New) > maxXMP {
			return nil, fmt.Errorf("%w: the sidecar would be larger than %d MiB", cpar.ErrInput, maxXMP>>20)
		}
	}
	e.Before, e.After = sha256.Sum256(e.Old), sha256.Sum256(e.New)
	return e, nil
}

// readError strips the path, because callers add an escaped path.
func readError(err error) error {
	return fmt.Errorf("%w: %w", cpar.ErrInput, photo.Cause(err))
}
