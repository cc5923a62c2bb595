package metadata

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// An Edit replaces the first len(Old) bytes of a file with New and keeps the
// rest. For a sidecar, Old is the whole file, or nil if it did not exist. If
// New is nil, the file is deleted.
type Edit struct {
	Path    string // symbolic links are resolved
	Created bool   // the file did not exist
	Old     []byte
	New     []byte
	Before  [32]byte // SHA-256 of the whole file before the edit
	After   [32]byte // SHA-256 of the whole file after the edit
	Added   []string

	mode     fs.FileMode // mode of a new file
	embedded bool        // planned for a photo, not for a sidecar
}

// Undo returns the inverse edit, which applies only if the file has not changed
// since e.
func (e *Edit) Undo() *Edit {
	return &Edit{Path: e.Path, Created: e.New == nil, Old: e.New, New: e.Old, Before: e.After, After: e.Before, mode: e.mode}
}

// Apply writes the file atomically. It keeps permissions, extended attributes
// and, with keepMtime, the modification time. It returns ErrChanged if the file
// has changed since it was planned.
func (e *Edit) Apply(keepMtime bool) error {
	var err error
	switch {
	case e.Old == nil:
		err = e.create()
	case e.New == nil:
		err = e.delete()
	default:
		err = e.replace(keepMtime)
	}
	if err != nil {
		return fmt.Errorf("writing keywords to %s: %w", sanitize.Text(e.Path), err)
	}
	return nil
}

// create writes a new file atomically. It never replaces a file that another
// program creates at the same time.
func (e *Edit) create() error {
	mode := cmp.Or(e.mode, 0o644)
	if err := e.Writable(); err != nil {
		return err
	}
	err := durable.WriteNew(durable.OS, e.Path, e.New, mode)
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	return err
}

func (e *Edit) delete() error {
	data, err := readRegular(e.Path)
	if err != nil || !bytes.Equal(data, e.Old) {
		return ErrChanged
	}
	if err := e.Writable(); err != nil {
		return err
	}
	if err := os.Remove(e.Path); err != nil {
		return durable.StorageError("removing", filepath.Base(e.Path), 0, err)
	}
	return durable.OS.SyncDir(filepath.Dir(e.Path))
}

// replace writes a temporary file and renames it over the old file, if the old
// file has the planned digest.
func (e *Edit) replace(keepMtime bool) error {
	info, err := os.Lstat(e.Path)
	switch {
	case err != nil:
		return readError(err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: it is no longer a file", ErrChanged)
	}
	if err := e.Writable(); err != nil {
		return err
	}
	old, err := os.Open(e.Path)
	if err != nil {
		return readError(err)
	}
	defer old.Close()
	beginning := make([]byte, len(e.Old))
	if _, err := io.ReadFull(old, beginning); err != nil || !bytes.Equal(beginning, e.Old) {
		return ErrChanged
	}
	folder, base := filepath.Split(e.Path)
	w, err := durable.Create(durable.OS, filepath.Clean(folder), base, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer w.Abort()
	w.Expect(info.Size() + int64(len(e.New)-len(e.Old)))
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), io.MultiReader(bytes.NewReader(e.New), old)); err != nil {
		return err
	}
	if [32]byte(sum.Sum(nil)) != e.After {
		return ErrChanged
	}
	if err := copyAttributes(e.Path, w.Temp()); err != nil {
		return err
	}
	// Another program may have saved the file during the copy.
	if now, err := os.Lstat(e.Path); err != nil || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		return ErrChanged
	}
	if err := w.Commit(base); err != nil {
		return err
	}
	return restore(e.Path, info, keepMtime)
}

// restore restores permissions, the owner where permitted, and the modification
// time.
func restore(path string, was fs.FileInfo, keepMtime bool) error {
	chown(path, was)
	if err := os.Chmod(path, was.Mode().Perm()); err != nil {
		return durable.StorageError("restoring permissions of", filepath.Base(path), 0, err)
	}
	if !keepMtime {
		return nil
	}
	if err := os.Chtimes(path, was.ModTime(), was.ModTime()); err != nil {
		return durable.StorageError("restoring the time of", filepath.Base(path), 0, err)
	}
	return nil
}

// Writable returns an error if the file or its folder is write-protected, even
// for the superuser, who could write it.
func (e *Edit) Writable() error {
	for _, path := range []string{e.Path, filepath.Dir(e.Path)} {
		info, err := os.Stat(path)
		switch {
		case path == e.Path && e.Old == nil: // a new file
			continue
		case err != nil:
			return readError(err)
		case info.Mode().Perm()&0o222 != 0:
			continue
		}
		what, instead := "file", "leave it out"
		switch {
		case info.IsDir():
			what = "folder"
		case e.embedded:
			instead = "write sidecars (--write sidecar)"
		}
		return hint.Add(fmt.Errorf("%w: the %s is read-only", cpar.ErrStorage, what), "allow writing to %s, or %s", sanitize.Text(path), instead)
	}
	return nil
}
