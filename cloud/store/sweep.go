package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cpar/internal/durable"
	"cpar/internal/indexdir"
)

// Sweep implements Backend. It continues after an error and returns the first
// error.
func (f *Folder) Sweep(ctx context.Context, before time.Time, dry bool) (Swept, error) {
	s := sweep{Folder: f, before: before, dry: dry}
	all, err := f.Tenants(ctx)
	s.note(err)
	for _, tenant := range all {
		s.deleted(filepath.Join(IndexRef{Tenant: tenant}.root(f.data), deletedName))
		keys, err := f.Keys(ctx, tenant)
		s.note(err)
		for _, k := range keys {
			if err := ctx.Err(); err != nil {
				return s.Swept, err
			}
			s.temps(f.folder(k))
			s.temps(indexdir.SegmentsFolder(f.folder(k)))
		}
		albums, _ := filepath.Glob(filepath.Join(folderAlbums{f}.root(tenant), "*"))
		for _, folder := range albums {
			if s.temps(folder); !dry {
				folderAlbums{f}.removeEmptyAlbum(folder)
			}
		}
	}
	return s.Swept, s.err
}

type sweep struct {
	*Folder
	before time.Time
	dry    bool
	Swept
	err error
}

func (s *sweep) note(err error) {
	if s.err == nil && !errors.Is(err, fs.ErrNotExist) {
		s.err = err
	}
}

// deleted removes the data of interrupted deletions of any age, because nothing
// refers to it.
func (s *sweep) deleted(trash string) {
	entries, err := os.ReadDir(trash)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.note(durable.StorageError("reading folder", trash, 0, err))
	}
	for _, e := range entries {
		path := filepath.Join(trash, e.Name())
		s.note(filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				s.count(d)
			}
			return err
		}))
		if !s.dry {
			s.note(durable.StorageError("removing", path, 0, removeTree(s.fsys, path)))
		}
	}
}

func (s *sweep) temps(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.note(durable.StorageError("reading folder", folder, 0, err))
	}
	for _, e := range entries {
		if !indexdir.IsTemp(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(s.before) {
			continue
		}
		s.count(e)
		if !s.dry {
			path := filepath.Join(folder, e.Name())
			s.note(durable.StorageError("removing", path, 0, s.fsys.Remove(path)))
		}
	}
}

func (s *sweep) count(e fs.DirEntry) {
	if info, err := e.Info(); err == nil {
		s.Files++
		s.Bytes += info.Size()
	}
}
