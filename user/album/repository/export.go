package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/filesystem"
	"github.com/kopia/kopia/repo/content"
	"github.com/kopia/kopia/repo/format"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/user/album/blobs"
)

// blobBytes implements the interface through which kopia's storages accept bytes.
type blobBytes []byte

func (c blobBytes) Length() int { return len(c) }

func (c blobBytes) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(c)
	return int64(n), err
}

func (c blobBytes) Reader() io.ReadSeekCloser { return reader{bytes.NewReader(c)} }

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

// read returns a blob. It checks the digest of a pinned blob.
func (s *storage) read(ctx context.Context, name string) (blobBytes, error) {
	b, err := s.store.Get(ctx, name, 0, -1)
	p, pinned := s.pin(name)
	switch {
	case err != nil && !errors.Is(err, blobs.ErrNotFound):
		return nil, err
	case err != nil:
		return nil, s.missing(ctx, name)
	case pinned && !p.Holds(b):
		return nil, s.fail(blobs.Damage(name, "is not the one that was stored"))
	}
	return b, nil
}

// An output is a buffer into which kopia's storages write.
type output struct{ bytes.Buffer }

func (o *output) Length() int { return o.Len() }

// owns returns an error if a folder contains blobs of another repository, because
// Export would delete them.
func (r *Repository) owns(ctx context.Context, to blob.Storage, have map[blob.ID]blob.Metadata) error {
	if len(have) == 0 {
		return nil
	}
	var b output
	if err := to.GetBlob(ctx, "kopia.repository", 0, -1, &b); err != nil && !errors.Is(err, blob.ErrBlobNotFound) {
		return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	if f, err := format.ParseKopiaRepositoryJSON(b.Bytes()); err != nil || !bytes.Equal(f.UniqueID, r.rep.UniqueID()) {
		return hint.Add(fmt.Errorf("%w: the folder contains another kopia repository", cpar.ErrInput), "name another folder with --to")
	}
	return nil
}

// openExport opens a folder in the layout of kopia's own storage, and lists its
// blobs. If `readOnly` is set and the folder does not exist, result `to` is nil.
func openExport(ctx context.Context, folder string, readOnly bool) (to blob.Storage, have map[blob.ID]blob.Metadata, err error) {
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(folder); readOnly && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if !readOnly {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		to, err = filesystem.New(ctx, &filesystem.Options{Path: folder}, !readOnly)
	}
	if err == nil {
		have, err = blob.ReadBlobMap(ctx, to)
	}
	return to, have, err
}

// Export copies the repository's blobs, except those that the folder has, into a
// folder in the layout of kopia's own storage, and deletes all other blobs there.
// It returns the number of bytes copied, or that a dry run would copy.
func (r *Repository) Export(ctx context.Context, folder string, dryRun bool, tell progress.Func) (copied int64, err error) {
	to, have, err := openExport(ctx, folder, dryRun)
	if err != nil {
		return 0, fmt.Errorf("exporting the album: %w: %w", cpar.ErrStorage, err)
	}
	if to != nil {
		defer to.Close(ctx)
	}
	if err := r.owns(ctx, to, have); err != nil {
		return 0, fmt.Errorf("exporting the album: %w", err)
	}
	all, err := blob.ReadBlobMap(ctx, r.storage)
	if err != nil {
		return 0, r.Failed("exporting the album", err)
	}
	done, total := 0, len(all)
	for id, m := range all {
		tell.Report("copying", done, total)
		done++
		if _, pinned := r.storage.pin(string(id)); !pinned && string(id) != schedule {
			delete(all, id) // left by a killed run
			continue
		}
		if h, ok := have[id]; ok && h.Length == m.Length && string(id) != schedule {
			continue
		}
		if dryRun {
			copied += m.Length
			continue
		}
		b, err := r.storage.read(ctx, string(id))
		if err != nil {
			return copied, r.Failed("exporting the album", err)
		}
		if err := to.PutBlob(ctx, id, b, blob.PutOptions{SetModTime: m.Timestamp}); err != nil {
			return copied, fmt.Errorf("exporting the album: %w: %w", cpar.ErrStorage, err)
		}
		copied += int64(len(b))
	}
	err = r.writer.ContentReader().IteratePacks(ctx, content.IteratePackOptions{}, func(p content.PackInfo) error {
		if _, copied := all[p.PackID]; !copied {
			return blobs.Damage(string(p.PackID), "is in an index, but not in the catalogue")
		}
		return nil
	})
	if err != nil {
		return copied, r.Failed("exporting the album", err)
	}
	for id := range have {
		if _, still := all[id]; still || dryRun {
			continue
		}
		if err := to.DeleteBlob(ctx, id); err != nil {
			return copied, fmt.Errorf("exporting the album: %w: %w", cpar.ErrStorage, err)
		}
	}
	tell.Report("copying", total, total)
	return copied, nil
}
