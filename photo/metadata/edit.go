package metadata

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// An Edit replaces the first len(Old) bytes of a file by New; the rest of the file stays.
// Of a sidecar Old is the whole file, nil if there was none; if New is nil, the file goes.
type Edit struct {
	Path    string // never a symbolic link, but what it names
	Created bool   // there was no such file
	Old     []byte
	New     []byte
	Before  [32]byte // SHA-256 of the whole file now
	After   [32]byte // and afterwards
	Added   []string // the words that come in

	mode fs.FileMode // of a file that is made
}

// Undo is the inverse, to be applied while the file is still what the edit left.
func (e *Edit) Undo() *Edit {
	return &Edit{Path: e.Path, Created: e.New == nil, Old: e.New, New: e.Old, Before: e.After, After: e.Before, mode: e.mode}
}

// Apply writes the file, whole or not at all. Permissions and extended attributes stay, and
// with keepMtime the file's time. It fails with ErrChanged if the file is no longer what the edit was
// planned for.
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

// create makes a file where none is. The new name appears at once with all its bytes, and never
// in place of a file that another program makes at the same moment.
func (e *Edit) create() error {
	mode := e.mode
	if mode == 0 {
		mode = 0o644
	}
	if err := writable(filepath.Dir(e.Path)); err != nil {
		return err
	}
	err := durable.WriteNew(durable.OS, e.Path, e.New, mode)
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	return err
}

func (e *Edit) delete() error {
	data, err := readRegular(e.Path, maxXMP)
	if err != nil || !bytes.Equal(data, e.Old) {
		return ErrChanged
	}
	if err := writable(e.Path); err != nil {
		return err
	}
	if err := os.Remove(e.Path); err != nil {
		return durable.StorageError("removing", filepath.Base(e.Path), 0, err)
	}
	return durable.OS.SyncDir(filepath.Dir(e.Path))
}

// replace writes the new beginning and the old rest beside the file, and puts it in its
// place if it is what was planned.
func (e *Edit) replace(keepMtime bool) error {
	info, err := os.Lstat(e.Path)
	switch {
	case err != nil:
		return readError(err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: it is not a file any more", ErrChanged)
	}
	for _, p := range []string{e.Path, filepath.Dir(e.Path)} {
		if err := writable(p); err != nil {
			return err
		}
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
	if err := e.write(w, sum, old); err != nil {
		return err
	}
	if [32]byte(sum.Sum(nil)) != e.After {
		return ErrChanged
	}
	if err := copyAttributes(e.Path, w.Temp()); err != nil {
		return err
	}
	// It may have been saved by another program while it was copied.
	if now, err := os.Lstat(e.Path); err != nil || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		return ErrChanged
	}
	if err := w.Commit(base); err != nil {
		return err
	}
	return restore(e.Path, info, keepMtime)
}

func (e *Edit) write(w *durable.Writer, sum hash.Hash, rest io.Reader) error {
	out := io.MultiWriter(w, sum)
	if _, err := out.Write(e.New); err != nil {
		return err
	}
	_, err := io.Copy(out, rest)
	return err
}

// restore gives a file what the umask took from its permissions, its owner where that is
// allowed, and its time.
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

// writable refuses what its owner protected. The superuser could write there too, but
// was not asked to.
func writable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return readError(err)
	}
	if info.Mode().Perm()&0o222 != 0 {
		return nil
	}
	what := "file"
	if info.IsDir() {
		what = "folder"
	}
	return hint.Add(fmt.Errorf("%w: the %s is read-only", cpar.ErrStorage, what), "allow writing to %s, or leave it out", sanitize.Text(path))
}
