package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/maintenance"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/snapshotfs"
	"github.com/kopia/kopia/snapshot/snapshotmaintenance"

	"cpar"
	"cpar/internal/hint"
)

// A File is a file in a tree (a snapshot). Slashes separate the names in its path.
type File struct {
	Path     string
	Object   string
	Size     int64
	Modified time.Time
}

// These trees are snapshots that protect objects from maintenance. kopia shows
// them as cpar@album:/NAME.
const (
	Photos = "/photos"
	Trash  = "/trash"
)

// WriteTree replaces the snapshot of a tree by one with the given files.
func (r *Repository) WriteTree(ctx context.Context, tree string, files []File) error {
	ctx, done := r.storage.guard(ctx)
	defer done()
	root, err := r.writeFolder(ctx, "", files)
	if err != nil {
		return r.Failed("writing the tree", err)
	}
	source := snapshot.SourceInfo{Host: "album", UserName: "cpar", Path: tree}
	before, err := snapshot.ListSnapshots(ctx, r.writer, source)
	if err != nil {
		return r.Failed("writing the tree", err)
	}
	if len(before) == 1 && before[0].RootObjectID() == root.ObjectID {
		return nil
	}
	now := fs.UTCTimestampFromTime(r.storage.now())
	_, err = snapshot.SaveSnapshot(ctx, r.writer, &snapshot.Manifest{Source: source, StartTime: now, EndTime: now, RootEntry: root})
	for _, m := range before {
		err = errors.Join(err, r.writer.DeleteManifest(ctx, m.ID))
	}
	return r.Failed("writing the tree", err)
}

// writeFolder writes the directory objects for a folder and all folders below it.
func (r *Repository) writeFolder(ctx context.Context, folder string, files []File) (*snapshot.DirEntry, error) {
	var b snapshotfs.DirManifestBuilder
	below := map[string][]File{}
	for _, f := range files {
		rest := strings.TrimPrefix(f.Path[len(folder):], "/")
		if name, _, deeper := strings.Cut(rest, "/"); deeper {
			below[name] = append(below[name], f)
			continue
		}
		id, err := object.ParseID(f.Object)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
		}
		b.AddEntry(&snapshot.DirEntry{Name: rest, Type: snapshot.EntryTypeFile, Permissions: 0o644,
			FileSize: f.Size, ModTime: fs.UTCTimestampFromTime(f.Modified), ObjectID: id})
	}
	for name, list := range below {
		e, err := r.writeFolder(ctx, path.Join(folder, name), list)
		if err != nil {
			return nil, err
		}
		e.Name = name
		b.AddEntry(e)
	}
	m := b.Build(0, "")
	id, err := snapshotfs.WriteDirManifest(ctx, r.writer, folder, m, "zstd-fastest")
	return &snapshot.DirEntry{Name: "/", Type: snapshot.EntryTypeDirectory, Permissions: 0o755,
		ModTime: m.Summary.MaxModTime, ObjectID: id, DirSummary: m.Summary}, err
}

// Maintain compacts kopia's indexes and removes contents that are in no tree.
// kopia deletes a pack (a blob of file contents) a day after the last reference
// is gone. Only one device may run Maintain: the first that does, or later the
// last that sets takeOver. Pinned blobs are deleted after the next commit.
func (r *Repository) Maintain(ctx context.Context, takeOver bool) error {
	// Packs that Abandon has removed contain deleted contents, which kopia cannot
	// read and would otherwise never drop.
	os.Setenv("KOPIA_IGNORE_MAINTENANCE_REWRITE_ERROR", "1")
	ctx, done := r.storage.guard(ctx)
	defer done()
	has, err := maintenance.HasParams(ctx, r.writer)
	if err != nil {
		return r.Failed("maintaining the album", err)
	}
	if !has || takeOver {
		p := maintenance.DefaultParams()
		p.Owner = r.rep.ClientOptions().UsernameAtHost()
		if err := errors.Join(maintenance.SetParams(ctx, r.writer, &p), r.writer.Flush(ctx)); err != nil {
			return r.Failed("maintaining the album", err)
		}
	}
	err = repo.DirectWriteSession(ctx, r.rep, repo.WriteSessionOptions{Purpose: "maintenance"}, func(ctx context.Context, w repo.DirectRepositoryWriter) error {
		return snapshotmaintenance.Run(ctx, w, maintenance.ModeFull, false, maintenance.SafetyFull)
	})
	if other := (maintenance.NotOwnedError{}); errors.As(err, &other) {
		return notOwned(other.Owner)
	}
	if err == nil {
		err = r.rep.Refresh(ctx)
	}
	r.whole = err == nil
	return r.Failed("maintaining the album", err)
}

// MayMaintain returns an error if another device owns maintenance.
func (r *Repository) MayMaintain(ctx context.Context) error {
	ctx, done := r.storage.guard(ctx)
	defer done()
	has, err := maintenance.HasParams(ctx, r.writer)
	if err != nil || !has {
		return r.Failed("maintaining the album", err)
	}
	p, err := maintenance.GetParams(ctx, r.writer)
	if err == nil && p.Owner != r.rep.ClientOptions().UsernameAtHost() {
		return notOwned(p.Owner)
	}
	return r.Failed("maintaining the album", err)
}

func notOwned(owner string) error {
	return hint.Add(fmt.Errorf("maintaining the album: %w: another device (%s) owns its maintenance", cpar.ErrInput, strings.TrimPrefix(owner, "cpar@")),
		"run it there, or pass --take-over if that device is gone")
}
