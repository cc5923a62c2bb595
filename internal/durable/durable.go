// Package durable writes files that are complete or absent after any crash.
//
//	Create ─▶ Write… ─▶ Commit: fsync file ─▶ rename ─▶ fsync folder
//	                  └▶ Abort:  remove the temporary file
//
// Guarantee: when Commit, WriteFile or WriteNew has returned nil, the file is
// complete under its name and survives an immediate kill or power failure. At
// any earlier instant the name refers to its previous state or to the complete
// new file, never to a part. A crash may leave a temporary file, which IsTemp
// recognises and RemoveTemps removes.
//
// The guarantee assumes that rename within a folder is atomic, that fsync of a
// file makes its bytes durable, and that fsync of a folder makes its names
// durable. POSIX promises the first property. ext4, xfs, btrfs and APFS provide
// the others (Pillai et al., "All File Systems Are Not Created Equal", OSDI
// 2014, table of persistence properties). Network file systems and disks that
// ignore flushes may violate these assumptions.
//
// A failed fsync is never repeated, because the kernel may have marked the
// unwritten pages as clean, and a second fsync would then succeed (Rebello et
// al., USENIX ATC 2020).
//
// Every error wraps cpar.ErrStorage, with the available space as a hint.
package durable

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A temporary file is named label-XXXXXXXXXXXX.tmp, in base32 (RFC 4648).
const (
	tempSuffix = ".tmp"
	tempRandom = 12
	tempDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// A Writer writes a file that Commit moves to its final name.
type Writer struct {
	fsys    FS
	temp    string
	file    File // nil once committed or aborted
	written int64
	need    int64
	err     error
}

// WriteFile replaces the contents of path.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return WriteFileFS(OS, path, data, perm)
}

func WriteFileFS(fsys FS, path string, data []byte, perm fs.FileMode) error {
	return write(fsys, path, data, perm, fsys.Rename)
}

// WriteNew creates a file. It fails with fs.ErrExist if the file exists, even
// if another program created it a moment ago.
func WriteNew(fsys FS, path string, data []byte, perm fs.FileMode) error {
	return write(fsys, path, data, perm, fsys.RenameNew)
}

func write(fsys FS, path string, data []byte, perm fs.FileMode, rename func(from, to string) error) error {
	w, err := Create(fsys, filepath.Dir(path), filepath.Base(path), perm)
	if err != nil {
		return err
	}
	defer w.Abort()
	w.Expect(int64(len(data)))
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.commit(filepath.Base(path), rename)
}

// Create starts a file in folder. The name of the temporary file begins with
// the label `what`, which may differ from the name given to Commit.
func Create(fsys FS, folder, what string, perm fs.FileMode) (*Writer, error) {
	temp := filepath.Join(folder, what+"-"+rand.Text()[:tempRandom]+tempSuffix)
	f, err := fsys.Create(temp, perm)
	if err != nil {
		return nil, StorageError("creating", temp, 0, err)
	}
	return &Writer{fsys: fsys, temp: temp, file: f}, nil
}

func (w *Writer) Temp() string { return w.temp }

// Expect announces the total number of bytes. If the disk is full, the error's
// hint states the space still needed.
func (w *Writer) Expect(n int64) { w.need = n }

func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.file == nil {
		return 0, StorageError("writing", w.temp, 0, fs.ErrClosed)
	}
	n, err := w.file.Write(p)
	w.written += int64(n)
	if err != nil {
		w.err = StorageError("writing", w.temp, max(w.need, w.written+int64(len(p)-n))-w.written, err)
		return n, w.err
	}
	return n, nil
}

// Commit makes the file durable as `name` in its folder. If it returns an
// error, there is no new file, as after Abort. The only exception is a failure
// of the final fsync of the folder, after which the new file may exist.
func (w *Writer) Commit(name string) error { return w.commit(name, w.fsys.Rename) }

// CommitNew is like Commit but fails with fs.ErrExist if the name is used.
func (w *Writer) CommitNew(name string) error { return w.commit(name, w.fsys.RenameNew) }

func (w *Writer) commit(name string, rename func(from, to string) error) error {
	if w.err != nil {
		return w.err
	}
	if w.file == nil {
		return StorageError("writing", w.temp, 0, fs.ErrClosed)
	}
	folder := filepath.Dir(w.temp)
	if err := w.file.Sync(); err != nil {
		w.Abort()
		return StorageError("syncing", w.temp, 0, err)
	}
	f := w.file
	w.file = nil
	if err := f.Close(); err != nil {
		w.fsys.Remove(w.temp)
		return StorageError("closing", w.temp, 0, err)
	}
	if err := rename(w.temp, filepath.Join(folder, name)); err != nil {
		w.fsys.Remove(w.temp)
		return StorageError("renaming", w.temp, 0, err)
	}
	if err := w.fsys.SyncDir(folder); err != nil {
		return StorageError("syncing folder", folder, 0, err)
	}
	return nil
}

func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	w.file.Close()
	w.file = nil
	w.fsys.Remove(w.temp)
}

// IsTemp reports whether `name` has the form of a temporary file with a label
// in `whats`.
func IsTemp(name string, whats ...string) bool {
	stem, isTemp := strings.CutSuffix(name, tempSuffix)
	at := strings.LastIndexByte(stem, '-')
	return isTemp && at >= 0 && len(stem)-at-1 == tempRandom && strings.Trim(stem[at+1:], tempDigits) == "" &&
		slices.Contains(whats, stem[:at])
}

// RemoveTemps removes temporary files that a killed process left in `folder`,
// if they have a label in `whats` and are older than `age`. The caller must
// hold a lock on the folder or pass an age longer than any write takes.
func RemoveTemps(fsys FS, folder string, age time.Duration, whats ...string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return StorageError("reading folder", folder, 0, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !IsTemp(e.Name(), whats...) || !info.Mode().IsRegular() || time.Since(info.ModTime()) < age {
			continue
		}
		path := filepath.Join(folder, e.Name())
		if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return StorageError("removing stale", path, 0, err)
		}
	}
	return nil
}
