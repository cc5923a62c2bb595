package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

func (f *Folder) Put(ctx context.Context, k IndexRef, d cpar.Digest, size int64, r io.Reader) (err error) {
	out, err := f.create(ctx, k, d, size)
	if err != nil {
		return deletedDuring("upload", k, err)
	}
	defer func() {
		if err != nil {
			out.Abort()
			f.removeEmpty(k)
		}
		err = deletedDuring("upload", k, err)
	}()
	n, err := io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{r}, make([]byte, 64<<10))
	switch {
	case err != nil:
		return fmt.Errorf("receiving segment %v: %w", d, err)
	case size >= 0 && n != size:
		return fmt.Errorf("receiving segment %v: %w: got %d bytes, %d were announced", d, cpar.ErrCorrupt, n, size)
	}
	// A folder with the segment's name is damage. Remove it.
	path := indexdir.SegmentPath(f.folder(k), d)
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		if err := removeTree(f.fsys, path); err != nil {
			return durable.StorageError("removing", path, 0, err)
		}
	}
	_, err = out.Close()
	return err
}

// deletedDuring converts an error for a missing file into ErrIncomplete, because
// another process has deleted the index.
func deletedDuring(what string, k IndexRef, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return hint.Add(fmt.Errorf("index %v: %w: %w: it was deleted during the %s", k.Index, cpar.ErrInput, ErrIncomplete, what), "push the index again")
	}
	return err
}

// create creates the file of an upload. It holds the gate, because Remove in
// another process could otherwise remove the new folders while they are empty.
func (f *Folder) create(ctx context.Context, k IndexRef, d cpar.Digest, size int64) (*indexdir.SegmentWriter, error) {
	release, err := f.gate(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("receiving segment %v: %w", d, err)
	}
	defer release()
	for attempt := 0; ; attempt++ {
		w, err := indexdir.Attach(f.folder(k), f.fsys)
		var out *indexdir.SegmentWriter
		if err == nil {
			out, err = w.AddUpload(d, size)
		}
		// Try again, because a failed Put or a Delete may have removed the folders.
		if err == nil || !errors.Is(err, fs.ErrNotExist) || attempt == 10 {
			return out, err
		}
	}
}

// removeEmpty removes the empty folders of an index. A failed upload must leave
// no folders, because clients can invent any number of index ids.
func (f *Folder) removeEmpty(k IndexRef) {
	if f.fsys.Remove(indexdir.SegmentsFolder(f.folder(k))) == nil {
		_ = f.fsys.Remove(f.folder(k))
	}
}

func (f *Folder) Activate(ctx context.Context, k IndexRef, m *cpar.Manifest) (err error) {
	release, err := f.gate(ctx, false)
	if err != nil {
		return fmt.Errorf("activating index %v: %w", k.Index, err)
	}
	defer release()
	defer func() { err = deletedDuring("activation", k, err) }()
	w, err := indexdir.Attach(f.folder(k), f.fsys)
	if err != nil {
		return err
	}
	// Sync all parent folders, because the process that created them may have
	// been killed before it synced their names.
	for dir := f.folder(k); dir != f.data; {
		dir = filepath.Dir(dir)
		if err := f.fsys.SyncDir(dir); err != nil {
			return fmt.Errorf("activating index %v: %w", k.Index, durable.StorageError("syncing folder", dir, 0, err))
		}
	}
	return w.Activate(m)
}

func (f *Folder) Remove(ctx context.Context, k IndexRef, digests ...cpar.Digest) error {
	release, err := f.gate(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	m, err := readManifest(ctx, f, k)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	for _, d := range digests {
		if m != nil && slices.ContainsFunc(m.Segments, func(s cpar.Segment) bool { return s.Digest == d }) {
			continue
		}
		path := indexdir.SegmentPath(f.folder(k), d)
		if err := f.fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return durable.StorageError("removing", path, 0, err)
		}
	}
	if m == nil {
		f.removeEmpty(k)
	}
	return nil
}

// Delete implements Backend. It moves the index durably to the folder
// deletedName and then removes it.
func (f *Folder) Delete(_ context.Context, k IndexRef) error {
	if _, err := os.Lstat(f.folder(k)); err != nil {
		return NotFound(k)
	}
	root := k.root(f.data)
	trash := filepath.Join(root, deletedName)
	to := filepath.Join(trash, fmt.Sprintf("%v-%d", k.Index, time.Now().UnixNano()))
	if err := durable.MkdirAll(f.fsys, trash, folderMode); err != nil {
		return err
	}
	if err := f.fsys.Rename(f.folder(k), to); err != nil {
		return durable.StorageError("moving", f.folder(k), 0, err)
	}
	// Sync the new name first. Otherwise a crash could leave the folder without
	// a name, wasting its space forever.
	for _, dir := range []string{trash, filepath.Join(root, indexesName)} {
		if err := f.fsys.SyncDir(dir); err != nil {
			return durable.StorageError("syncing folder", dir, 0, err)
		}
	}
	_ = removeTree(f.fsys, to) // the next sweep retries
	return nil
}

func removeTree(fsys durable.FS, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if err := removeTree(fsys, filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := fsys.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
