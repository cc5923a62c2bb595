package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"cpar"
	"cpar/cloud/album"
	"cpar/internal/durable"
)

// albumsName is the folder of a tenant's albums. Each folder below it contains
// the blobs of one album, or the tenant's log of changes (see package album).
const albumsName = "albums"

// uploadLabel marks the names of temporary files, as in package indexdir.
const uploadLabel = "upload"

func (f *Folder) Albums() album.Objects { return folderAlbums{f} }

type folderAlbums struct{ *Folder }

func (f folderAlbums) root(tenant string) string {
	return filepath.Join(IndexRef{Tenant: tenant}.root(f.data), albumsName)
}

func (f folderAlbums) path(tenant, name string) string {
	return filepath.Join(f.root(tenant), filepath.FromSlash(name))
}

// write writes a file with the bytes that fill produces and calls commit to give
// the complete file its name.
func (f folderAlbums) write(ctx context.Context, tenant, name string, size int64, fill func(io.Writer) error, commit func(*durable.Writer, string) error) error {
	folder, base := filepath.Split(f.path(tenant, name))
	folder = filepath.Clean(folder)
	out, err := f.begin(ctx, folder)
	if err != nil {
		return err
	}
	out.Expect(size)
	if err := fill(out); err != nil {
		out.Abort()
		f.removeEmptyAlbum(folder) // any client can invent albums
		return err
	}
	return commit(out, base)
}

// begin starts a file in a folder, which it creates if necessary. It holds the
// gate, because another process could otherwise remove the folder while it is
// empty.
func (f folderAlbums) begin(ctx context.Context, folder string) (*durable.Writer, error) {
	release, err := f.gate(ctx, false)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := f.prepare(folder); err != nil {
		return nil, err
	}
	return durable.Create(f.fsys, folder, uploadLabel, fileMode)
}

// prepare creates a folder. Before the first write of this process it syncs the
// names of all folders above, because a killed process may not have done so.
func (f folderAlbums) prepare(folder string) error {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		f.synced.Delete(folder) // another process has removed the folder
	}
	if err := durable.MkdirAll(f.fsys, folder, folderMode); err != nil {
		return err
	}
	if _, done := f.synced.Load(folder); done {
		return nil
	}
	for dir := folder; dir != f.data; {
		dir = filepath.Dir(dir)
		if err := f.fsys.SyncDir(dir); err != nil {
			return durable.StorageError("syncing folder", dir, 0, err)
		}
	}
	f.synced.Store(folder, true)
	return nil
}

// removeEmptyAlbum removes an empty folder, unless an upload is just beginning. A
// later sweep then removes it.
func (f folderAlbums) removeEmptyAlbum(folder string) {
	gate := f.gateFile()
	defer gate.Close()
	if alone, err := gate.TryLock(); err == nil && alone && f.fsys.Remove(folder) == nil {
		f.synced.Delete(folder)
	}
}

func (f folderAlbums) Put(ctx context.Context, tenant, name string, size int64, sum cpar.Digest, r io.Reader) error {
	return f.write(ctx, tenant, name, size, func(w io.Writer) error { return album.Receive(w, r, size, sum) }, (*durable.Writer).Commit)
}

func (f folderAlbums) PutNew(ctx context.Context, tenant, name string, b []byte) error {
	// Check the name first, because writing the file costs a sync.
	if _, err := os.Lstat(f.path(tenant, name)); err == nil {
		return album.ErrTaken
	}
	err := f.write(ctx, tenant, name, int64(len(b)), func(w io.Writer) error { _, err := w.Write(b); return err }, (*durable.Writer).CommitNew)
	if errors.Is(err, fs.ErrExist) {
		return album.ErrTaken
	}
	return err
}

func (f folderAlbums) Get(_ context.Context, tenant, name string, offset, length int64) (io.ReadCloser, error) {
	path := f.path(tenant, name)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, album.ErrNotFound
	}
	if err == nil && offset > 0 {
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, durable.StorageError("reading", path, 0, err)
	}
	if length < 0 {
		return file, nil
	}
	return &section{io.LimitReader(file, length), file}, nil
}

type section struct {
	io.Reader
	io.Closer
}

func (f folderAlbums) List(ctx context.Context, tenant, folder string) iter.Seq2[album.Object, error] {
	return func(yield func(album.Object, error) bool) {
		root := f.root(tenant)
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(path string, d fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			var info fs.FileInfo
			if err == nil && d.Type().IsRegular() && !durable.IsTemp(d.Name(), uploadLabel) {
				info, err = d.Info()
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // the file was removed meanwhile, so list the others
			}
			if err != nil || info == nil {
				return err
			}
			if !yield(album.Object{Name: filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator))), Bytes: info.Size(), Modified: info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(album.Object{}, fmt.Errorf("%w: reading folder %s: %w", cpar.ErrStorage, root, err))
		}
	}
}

func (f folderAlbums) Delete(_ context.Context, tenant, name string) error {
	path := f.path(tenant, name)
	if err := f.fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.StorageError("removing", path, 0, err)
	}
	f.removeEmptyAlbum(filepath.Dir(path))
	return nil
}
