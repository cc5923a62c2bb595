package metadata

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

// Sidecars returns the possible names of a photo's sidecar, more specific names
// first.
func Sidecars(photo string) []string {
	bare := strings.TrimSuffix(photo, filepath.Ext(photo))
	names := []string{photo + ".xmp", photo + ".XMP"}
	if bare != photo && filepath.Base(photo) != filepath.Ext(photo) {
		names = append(names, bare+".xmp", bare+".XMP")
	}
	return names
}

func sidecarFor(photo string, s Style) (string, error) {
	names := Sidecars(photo)
	existing := func(names []string) string {
		for _, n := range names {
			if _, err := os.Lstat(n); err == nil {
				return n
			}
		}
		return ""
	}
	switch {
	case s == Append:
		if n := existing(names[:2]); n != "" {
			return n, nil
		}
	case s == Adobe && len(names) > 2:
		if n := existing(names[2:]); n != "" {
			return n, nil
		}
		return names[2], nil
	case s == Follow:
		if n := existing(names); n != "" {
			return n, nil
		}
	case s != Adobe:
		return "", fmt.Errorf("%w: a sidecar is named by %s, %s or %s, not by %q", cpar.ErrInput, Append, Adobe, Follow, string(s))
	}
	return names[0], nil
}

// readSidecar resolves links in a sidecar's name and reads it. The content of a
// missing file is nil.
func readSidecar(name string) (string, []byte, error) {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return name, nil, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if name, err = filepath.EvalSymlinks(name); errors.Is(err, fs.ErrNotExist) {
			return "", nil, hint.Add(fmt.Errorf("%w: the sidecar is a broken symbolic link", cpar.ErrInput),
				"remove the link, or bring back what it names")
		}
	}
	if err != nil {
		return "", nil, readError(err)
	}
	data, err := readRegular(name)
	return name, data, err
}

// open opens a regular file and returns its size. It checks the type before
// opening, because opening a pipe would block, and again afterwards, because
// the file may have been replaced.
func open(name string) (*os.File, int64, error) {
	info, err := os.Stat(name)
	var f *os.File
	if err == nil && info.Mode().IsRegular() {
		if f, err = os.Open(name); err == nil {
			info, err = f.Stat()
		}
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		f.Close() // harmless if f is nil
		return nil, 0, readError(err)
	}
	return f, info.Size(), nil
}

// readRegular reads a file of at most maxXMP bytes. The limit holds even if the
// file grows during reading.
func readRegular(name string) ([]byte, error) {
	f, size, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxXMP {
		return nil, fmt.Errorf("%w: it is larger than %d MiB", cpar.ErrInput, maxXMP>>20)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxXMP+1))
	if err != nil {
		return nil, readError(err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}
