package repository

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"cpar/user/album/blobs"
)

// kept reports whether the cache keeps a blob: an index, directory or manifest,
// which is small and read at every opening.
func kept(name string) bool { return strings.HasPrefix(name, "x") || strings.HasPrefix(name, "q") }

// openCache creates the folder of kept blobs, and deletes unpinned blobs in it.
func (s *storage) openCache() error {
	if err := os.MkdirAll(s.cache, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(s.cache)
	for _, f := range files {
		if _, pinned := s.pins[f.Name()]; !pinned {
			os.Remove(filepath.Join(s.cache, f.Name())) // if this fails, the next opening does it
		}
	}
	return err
}

// get reads a range of a blob from the server or the cache. It checks cached files
// against their pins.
func (s *storage) get(ctx context.Context, name string, p blobs.Pin, pinned bool, offset, length int64) ([]byte, error) {
	if s.cache == "" || !pinned || !kept(name) {
		return s.store.Get(ctx, name, offset, length)
	}
	file := filepath.Join(s.cache, name)
	b, err := os.ReadFile(file)
	if err != nil || !p.Holds(b) {
		if b, err = s.store.Get(ctx, name, 0, -1); err != nil {
			return nil, err
		}
		if p.Holds(b) {
			// If this fails, a later call finds a wrong digest and fetches the blob again.
			_ = os.WriteFile(file, b, 0o600)
		}
	}
	b = b[min(offset, int64(len(b))):]
	if length >= 0 {
		b = b[:min(length, int64(len(b)))]
	}
	return b, nil
}
