package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/cloud/tenant"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

const (
	indexesName = "indexes"
	deletedName = "deleted"
	// gateName is a file that processes lock briefly to begin an upload or to
	// activate an index (shared), or to remove segments or empty folders
	// (exclusive).
	gateName = "gate"
	// RestoringName marks a data folder with an unfinished restore.
	RestoringName = "restoring"
	folderMode    = 0o700
	fileMode      = 0o600
)

// A Folder is a Backend on the local disk. If the process is killed at any
// instant, every index is complete in its old or its new generation.
type Folder struct {
	data string
	fsys durable.FS
	lock *flock.Flock // nil if another process may serve the folder
	// synced is the set of album folders that survive a crash.
	synced sync.Map
}

var _ Backend = (*Folder)(nil)

// OpenFolder locks a data folder, and creates it if necessary.
func OpenFolder(data string, fsys durable.FS) (*Folder, error) {
	if err := CheckOurs(data); err != nil {
		return nil, fmt.Errorf("opening data folder: %w", err)
	}
	for _, dir := range []string{data, filepath.Join(data, indexesName), filepath.Join(data, deletedName)} {
		if err := durable.MkdirAll(fsys, dir, folderMode); err != nil {
			return nil, fmt.Errorf("opening data folder: %w", err)
		}
	}
	lock, err := indexdir.Lock(data)
	if err != nil {
		return nil, fmt.Errorf("opening data folder: %w", err)
	}
	return &Folder{data: data, fsys: fsys, lock: lock}, nil
}

// OpenBeside opens a data folder that another process may serve.
func OpenBeside(data string) (*Folder, error) {
	if _, err := os.Stat(filepath.Join(data, indexesName)); err != nil {
		return nil, fmt.Errorf("%w: %s is not a data folder of cpard", cpar.ErrInput, data)
	}
	return &Folder{data: data, fsys: durable.OS}, nil
}

// CheckOurs returns an error for a folder with files of other programs and no
// indexes. `ours` lists further names that mark a folder as cpard's.
func CheckOurs(data string, ours ...string) error {
	entries, err := os.ReadDir(data)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return durable.StorageError("reading folder", data, 0, err)
	}
	foreign := ""
	for _, e := range entries {
		switch name := e.Name(); {
		case name == indexesName, name == RestoringName, slices.Contains(ours, name):
			return nil
		case slices.Contains(tenant.FileNames, name): // tenants can be added before the first index
		case name[0] != '.' && name != "lost+found": // an empty disk has lost+found
			foreign = name
		}
	}
	if foreign == "" {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %s contains other files, such as %s", cpar.ErrInput, data, foreign), "name a folder that is empty or does not exist yet")
}

func (f *Folder) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

func (f *Folder) folder(k IndexRef) string {
	return filepath.Join(k.root(f.data), indexesName, k.Index.String())
}

func (f *Folder) Tenants(context.Context) ([]string, error) {
	all := []string{""}
	folder := filepath.Join(f.data, tenant.Folder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return all, durable.StorageError("reading folder", folder, 0, err)
	}
	for _, e := range entries {
		if e.IsDir() && tenant.IsID(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

func (f *Folder) Keys(_ context.Context, tenant string) ([]IndexRef, error) {
	folder := filepath.Join(IndexRef{Tenant: tenant}.root(f.data), indexesName)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) && tenant != "" {
		return nil, nil
	}
	if err != nil {
		return nil, durable.StorageError("reading folder", folder, 0, err)
	}
	var keys []IndexRef
	for _, e := range entries {
		if id, err := cpar.ParseIndexID(e.Name()); err == nil && e.IsDir() {
			keys = append(keys, IndexRef{tenant, id})
		}
	}
	return keys, nil
}

func (f *Folder) Manifest(_ context.Context, k IndexRef) ([]byte, error) {
	b, err := indexdir.ReadManifestBytes(f.folder(k))
	if errors.Is(err, indexdir.ErrNoIndex) {
		return nil, NotFound(k)
	}
	return b, err
}

func (f *Folder) Segments(_ context.Context, k IndexRef) ([]Stored, error) {
	folder := indexdir.SegmentsFolder(f.folder(k))
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, durable.StorageError("reading folder", folder, 0, err)
	}
	var list []Stored
	for _, e := range entries {
		d, err := cpar.ParseDigest(e.Name())
		if err != nil {
			continue
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() { // err is set if the file was removed meanwhile
			list = append(list, Stored{d, info.Size(), info.ModTime()})
		}
	}
	return list, nil
}

func (f *Folder) Read(_ context.Context, k IndexRef, d cpar.Digest) (io.ReadCloser, int64, error) {
	file, size, err := indexdir.OpenSegment(f.folder(k), d)
	if errors.Is(err, indexdir.ErrMissing) {
		return nil, 0, SegmentNotFound(k, d)
	}
	if err != nil {
		return nil, 0, err
	}
	return file, size, nil
}

func (f *Folder) Open(_ context.Context, k IndexRef, m *cpar.Manifest, memory indexdir.Memory, log *slog.Logger) (*indexdir.Index, error) {
	return memory.Load(f.folder(k), m, log)
}

// gate locks the file gateName. The lock is exclusive if `alone` is set, and
// otherwise shared. Without the lock, another process could remove a segment
// before the activation that needs it commits, or the new folder of an upload.
func (f *Folder) gate(ctx context.Context, alone bool) (release func(), err error) {
	l := f.gateFile()
	try := l.TryRLockContext
	if alone {
		try = l.TryLockContext
	}
	if _, err := try(ctx, 5*time.Millisecond); err != nil {
		l.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for %s: %w", l.Path(), ctx.Err())
		}
		return nil, durable.StorageError("locking", l.Path(), 0, err)
	}
	return func() { l.Close() }, nil
}

func (f *Folder) gateFile() *flock.Flock {
	return flock.New(filepath.Join(f.data, gateName), flock.SetPermissions(fileMode))
}
