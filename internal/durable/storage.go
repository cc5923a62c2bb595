package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/hint"
)

// ErrTooManyFiles reports that the process or the system has run out of file
// descriptors. Errors that wrap it also wrap cpar.ErrStorage.
var ErrTooManyFiles = errors.New("too many files are open")

// StorageError wraps a file system failure as cpar.ErrStorage with a hint.
// `need` is the number of bytes still to be written, or 0 if unknown. An error
// that already wraps cpar.ErrStorage is returned unchanged.
func StorageError(doing, path string, need int64, err error) error {
	if err == nil || errors.Is(err, cpar.ErrStorage) {
		return err
	}
	// Remove the path and system call that package os adds, because the message
	// already contains the path.
	cause := err
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		cause = p.Err
	} else if l := (*os.LinkError)(nil); errors.As(err, &l) {
		cause = l.Err
	}
	wrapped := fmt.Errorf("%s %s: %w: %w", doing, path, cpar.ErrStorage, cause)
	switch {
	case isExhausted(err):
		wrapped = fmt.Errorf("%s %s: %w: %w", doing, path, cpar.ErrStorage, ErrTooManyFiles)
		return hint.Add(wrapped, "raise the limit of open files (ulimit -n), or try again later")
	case isFull(err):
		return hint.Add(wrapped, "%s", roomHint(filepath.Dir(path), need))
	case errors.Is(err, fs.ErrPermission):
		return hint.Add(wrapped, "check the permissions of %s", filepath.Dir(path))
	}
	return wrapped
}

func roomHint(folder string, need int64) string {
	free, ok := FreeBytes(folder)
	switch {
	case ok && need > 0:
		return fmt.Sprintf("%s more were needed, %s are free in %s", size(need), size(free), folder)
	case ok:
		return fmt.Sprintf("%s are free in %s", size(free), folder)
	case need > 0:
		return fmt.Sprintf("%s more were needed in %s", size(need), folder)
	}
	return "make room in " + folder
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
