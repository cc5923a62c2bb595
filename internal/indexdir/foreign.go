package indexdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// refuseForeign rejects a folder of other files, such as photos.
func refuseForeign(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // missing, or MkdirAll and Lock will report the problem
	}
	foreign, err := foreignIn(folder, entries)
	if err != nil || foreign == "" {
		return err
	}
	err = fmt.Errorf("%w: folder %s holds other files (%s) and no index", cpar.ErrInput, folder, sanitize.Text(foreign))
	return hint.Add(err, "name a folder that is empty or does not exist yet")
}

// foreignIn returns the name of an entry that does not belong to an index, or
// "". In a folder with a manifest, only the manifest is checked, so the folder
// may hold other files. A folder without a manifest may hold only the remains of
// a killed process.
func foreignIn(folder string, entries []fs.DirEntry) (string, error) {
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == manifestName }) {
		return foreignManifest(folder)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == segmentsName:
			if foreign, err := foreignSegment(folder, e); err != nil || foreign != "" {
				return foreign, err
			}
		case name != lockName && !IsTemp(name):
			return name, nil
		}
	}
	return "", nil
}

// foreignManifest returns the name of a manifest that no version of cpar wrote,
// or "".
func foreignManifest(folder string) (string, error) {
	f, _, err := openRegular(filepath.Join(folder, manifestName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, ErrNotFile):
		return manifestName, nil
	case err != nil:
		return "", durable.StorageError("reading", filepath.Join(folder, manifestName), 0, err)
	}
	defer f.Close()
	start := make([]byte, len(manifestMagic))
	if _, err := f.ReadAt(start, 0); err != nil && err != io.EOF {
		return "", durable.StorageError("reading", f.Name(), 0, err)
	}
	if string(start) != manifestMagic {
		return manifestName, nil
	}
	return "", nil
}

// foreignSegment returns the name of an entry of the segments folder that this
// package does not create, or "".
func foreignSegment(folder string, segments fs.DirEntry) (string, error) {
	if !segments.IsDir() {
		return segmentsName, nil
	}
	path := filepath.Join(folder, segmentsName)
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", durable.StorageError("reading folder", path, 0, err)
	}
	for _, e := range entries {
		if _, err := cpar.ParseDigest(e.Name()); err != nil && !IsTemp(e.Name()) {
			return filepath.Join(segmentsName, e.Name()), nil
		}
	}
	return "", nil
}

const lastKind = cpar.SegmentCells

var tempNames = func() []string {
	names := []string{manifestName, uploadLabel}
	for k := cpar.SegmentVectors; k <= lastKind; k++ {
		names = append(names, k.String())
	}
	return names
}()

// IsTemp reports whether an unfinished write to an index may have left a file
// of this name.
func IsTemp(name string) bool { return durable.IsTemp(name, tempNames...) }
