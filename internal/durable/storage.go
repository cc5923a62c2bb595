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

// StorageError wraps a failure of the file system as cpar.ErrStorage, with a
// hint that fits it. need is the number of bytes still to be written, 0 where
// that is not known. An error that is cpar.ErrStorage already is left as it is.
func StorageError(doing, path string, need int64, err error) error {
	if err == nil || errors.Is(err, cpar.ErrStorage) {
		return err
	}
	// The path is said once: os errors carry it again, and a system call's name.
	cause := err
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		cause = p.Err
	} else if l := (*os.LinkError)(nil); errors.As(err, &l) {
		cause = l.Err
	}
	wrapped := fmt.Errorf("%s %s: %w: %w", doing, path, cpar.ErrStorage, cause)
	switch {
	case isFull(err):
		return hint.Add(wrapped, "%s", roomHint(filepath.Dir(path), need))
	case errors.Is(err, fs.ErrPermission):
		return hint.Add(wrapped, "check who may write to %s", filepath.Dir(path))
	}
	return wrapped
}

func roomHint(folder string, need int64) string {
	free, ok := freeBytes(folder)
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
