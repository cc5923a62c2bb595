package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// An FS provides the file operations of a durable write. Tests replace OS with
// an FS of package internal/testing/crash, which fails or loses data after any
// step.
type FS interface {
	Create(path string, perm fs.FileMode) (File, error)
	// Rename atomically renames a file and replaces an existing target.
	Rename(from, to string) error
	// RenameNew is like Rename but fails with fs.ErrExist if the target exists.
	RenameNew(from, to string) error
	// Remove removes a file or an empty folder.
	Remove(path string) error
	Mkdir(path string, perm fs.FileMode) error
	// SyncDir makes the names in a folder durable.
	SyncDir(path string) error
}

type File interface {
	io.Writer
	Sync() error
	Close() error
}

var OS FS = osFS{}

type osFS struct{}

func (osFS) Create(path string, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err // f would be a non-nil interface around a nil *os.File
	}
	return f, nil
}

func (osFS) Rename(from, to string) error              { return os.Rename(from, to) }
func (osFS) RenameNew(from, to string) error           { return renameNew(from, to, renameNoReplace, os.Link) }
func (osFS) Remove(path string) error                  { return os.Remove(path) }
func (osFS) Mkdir(path string, perm fs.FileMode) error { return os.Mkdir(path, perm) }

func (osFS) SyncDir(path string) error {
	// Windows cannot flush a folder, but its file system NTFS journals names.
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// renameNew renames atomically if the file system supports this. Otherwise it
// links the file to the new name and removes the old name. Linking never
// replaces a file. A FAT file system may support neither. renameNew then checks
// that the new name is free and renames. A file that another program creates in
// between may be overwritten.
func renameNew(from, to string, rename, link func(from, to string) error) error {
	if err := rename(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	switch err := link(from, to); {
	case err == nil:
		_ = os.Remove(from) // the new name is complete, and RemoveTemps finds the old one
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

// MkdirAll creates `path` and missing parents, and syncs the parent of each.
func MkdirAll(fsys FS, path string, perm fs.FileMode) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return StorageError("making folder", path, 0, &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("it is a file")})
	case !errors.Is(err, fs.ErrNotExist):
		return StorageError("making folder", path, 0, err)
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MkdirAll(fsys, parent, perm); err != nil {
			return err
		}
	}
	err = fsys.Mkdir(path, perm)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = fsys.SyncDir(parent)
	}
	if err != nil {
		return StorageError("making folder", path, 0, err)
	}
	return nil
}
