// Package backup copies the indexes of a server.
//
//	data folder, in use or not ─▶ Backup ─▶ folder ─▶ Restore ─▶ data folder
//
// A backup has the layout of a data folder. It contains one generation of each
// active index, and the registry of tenants. Backup and Restore can be run again
// after an interruption and then continue. The server refuses a folder until its
// restore has finished.
package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cpar"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/internal/durable"
	"cpar/internal/hint"
)

// Backup updates the backup in folder `to` with the indexes in backend `from`
// and the registry of tenants in folder `data`. With o.Prune it deletes indexes
// that the backend no longer has.
func Backup(ctx context.Context, from store.Backend, data, to string, o store.CopyOptions) (store.Copied, error) {
	if err := checkDistinct(data, to); err != nil {
		return store.Copied{}, fmt.Errorf("backing up: %w", err)
	}
	done, err := copyInto(ctx, from, data, to, o)
	if err != nil {
		return done, fmt.Errorf("backing up: %w", err)
	}
	return done, nil
}

// Restore copies the backup in folder `from` into the new folder `data` and
// checks every digest. It succeeds without copying if `data` already equals the
// backup.
func Restore(ctx context.Context, from, data string, o store.CopyOptions) (store.Copied, error) {
	src, err := store.OpenBeside(from)
	if err != nil {
		return store.Copied{}, fmt.Errorf("restoring: %w", err)
	}
	if err := checkDistinct(from, data); err != nil {
		return store.Copied{}, fmt.Errorf("restoring: %w", err)
	}
	if err := checkFree(data); err != nil {
		if done, same := equal(ctx, src, from, data, o.Progress); same {
			return done, nil
		}
		return store.Copied{}, fmt.Errorf("restoring: %w", err)
	}
	marker := filepath.Join(data, store.RestoringName)
	if !o.DryRun {
		err := durable.MkdirAll(durable.OS, data, 0o700)
		if err == nil {
			err = durable.WriteFile(marker, []byte("cpard restore fills this folder\n"), 0o600)
		}
		if err == nil {
			err = durable.RemoveTemps(durable.OS, data, 0, store.RestoringName)
		}
		if err != nil {
			return store.Copied{}, fmt.Errorf("restoring: %w", err)
		}
	}
	o.Verify = true
	done, err := copyInto(ctx, src, from, data, o)
	if err == nil && len(done.Damaged) == 0 && !o.DryRun {
		if err = os.Remove(marker); err == nil {
			err = durable.OS.SyncDir(data)
		}
		err = durable.StorageError("removing", marker, 0, err)
	}
	if err != nil {
		return done, fmt.Errorf("restoring: %w", err)
	}
	return done, nil
}

// RestoreTo copies missing indexes into object storage, even while a server
// uses the storage. If `data` names a folder without a registry of tenants,
// RestoreTo also copies the registry into it.
func RestoreTo(ctx context.Context, from string, to store.Backend, data string, o store.CopyOptions) (store.Copied, error) {
	src, err := store.OpenBeside(from)
	if err != nil {
		return store.Copied{}, fmt.Errorf("restoring: %w", err)
	}
	o.Lacking, o.Verify = true, true
	done, err := store.Copy(ctx, src, to, o)
	if err == nil && data != "" && !o.DryRun {
		err = copyMissingRegistry(from, data)
	}
	if err != nil {
		return done, fmt.Errorf("restoring: %w", err)
	}
	return done, nil
}

func copyMissingRegistry(from, to string) error {
	path := filepath.Join(to, tenant.FileName)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return durable.StorageError("looking at", path, 0, err)
	}
	if err := durable.MkdirAll(durable.OS, to, 0o700); err != nil {
		return err
	}
	return copyRegistry(from, to, false)
}

func copyInto(ctx context.Context, src store.Backend, from, to string, o store.CopyOptions) (store.Copied, error) {
	if o.DryRun {
		var dst store.Backend
		if there, err := store.OpenBeside(to); err == nil {
			dst = there
		}
		return store.Copy(ctx, src, dst, o)
	}
	dst, err := store.OpenFolder(to, durable.OS)
	if err != nil {
		return store.Copied{}, err
	}
	defer dst.Close()
	done, err := store.Copy(ctx, src, dst, o)
	if err != nil {
		return done, err
	}
	return done, copyRegistry(from, to, o.Prune)
}

// copyRegistry copies the registry of tenants unless it is damaged. If folder
// `from` has no registry, the copy in folder `to` may be the last copy. It is
// then removed only if `prune` is set and no tenant has data.
func copyRegistry(from, to string, prune bool) error {
	source, path := filepath.Join(from, tenant.FileName), filepath.Join(to, tenant.FileName)
	b, err := os.ReadFile(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(filepath.Join(from, tenant.Folder)); !prune || !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return durable.StorageError("removing", path, 0, err)
		}
		return nil
	case err != nil:
		return durable.StorageError("reading", source, 0, err)
	}
	if err := tenant.Check(b); err != nil {
		return fmt.Errorf("reading %s: %w", source, err)
	}
	return durable.WriteFile(path, b, 0o600)
}

func checkDistinct(a, b string) error {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	if err1 == nil && err2 == nil && os.SameFile(x, y) {
		return fmt.Errorf("%w: %s and %s are the same folder", cpar.ErrInput, a, b)
	}
	return nil
}

// equal reports whether folder `data` has exactly the indexes and the registry
// of the backup. This is so if an earlier restore was killed after it had
// removed its marker.
func equal(ctx context.Context, src store.Backend, from, data string, progress func(done, total int)) (store.Copied, bool) {
	dst, err := store.OpenBeside(data)
	if err != nil {
		return store.Copied{}, false
	}
	done, err := store.Copy(ctx, src, dst, store.CopyOptions{DryRun: true, Prune: true, Verify: true, Progress: progress})
	if err != nil || done.Segments+done.Blobs+done.States+done.Pruned+done.PrunedBlobs+len(done.Damaged) > 0 {
		return done, false
	}
	keys, err := store.AllKeys(ctx, src)
	for _, k := range keys {
		a, err1 := src.Manifest(ctx, k)
		b, err2 := dst.Manifest(ctx, k)
		if !bytes.Equal(a, b) || (err1 == nil) != (err2 == nil) {
			return done, false
		}
	}
	a, err1 := os.ReadFile(filepath.Join(from, tenant.FileName))
	b, err2 := os.ReadFile(filepath.Join(data, tenant.FileName))
	return done, err == nil && bytes.Equal(a, b) && (err1 == nil) == (err2 == nil)
}

// checkFree returns an error unless folder `data` is empty or contains an
// interrupted restore.
func checkFree(data string) error {
	entries, err := os.ReadDir(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return durable.StorageError("reading folder", data, 0, err)
	}
	held := ""
	for _, e := range entries {
		switch name := e.Name(); {
		case name == store.RestoringName:
			return nil
		case durable.IsTemp(name, store.RestoringName): // a restore was killed before it renamed the marker
		case name[0] != '.' && name != "lost+found": // an empty disk has lost+found
			held = name
		}
	}
	if held == "" {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %s is not empty: it contains %s", cpar.ErrInput, data, held), "name a folder that is empty or does not exist yet")
}
