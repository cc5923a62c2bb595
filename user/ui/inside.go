package ui

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo/metadata"
)

// inside refuses a photo if the file, another file of its shot, or a sidecar
// resolves outside the opened folders. Reading and writing keywords follows
// links, which may point anywhere.
func (w *LibraryBackend) inside(path string) error {
	for _, shot := range w.shots(path) {
		for _, file := range append([]string{shot.Path}, shot.Also...) {
			for _, name := range append([]string{file}, metadata.Sidecars(file)...) {
				if err := w.leadsInside(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *LibraryBackend) leadsInside(name string) error {
	real, err := resolved(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking at a photo: %w: %w", cpar.ErrInput, err)
	}
	for _, folder := range w.o.Folders {
		root, err := resolved(folder)
		if err != nil {
			continue
		}
		if below, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(below) {
			return nil
		}
	}
	return hint.Add(fmt.Errorf("looking at a photo: %w: %s is a link that leads out of the folders", cpar.ErrInput, sanitize.Text(filepath.Base(name))),
		"name the folder that it leads to, too, or remove the link")
}

func resolved(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
