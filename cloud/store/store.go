// Package store keeps encrypted indexes for the cloud, many of them under one
// data folder:
//
//	data/lock                 held by the one daemon that serves the folder
//	data/indexes/<id>/…       one index each, see package indexdir
//	data/deleted/…            folders about to be removed
//	data/tenants/<tenant>/…   the same two for each tenant
//
//	PutSegment… ─▶ PutManifest (activation) ─▶ Get ─▶ Release
//
// The store interprets only manifests. Whatever else a search needs is made once by the
// Loader, at activation and at the first Get after a start. An index that the Loader
// refuses is never activated.
//
// An index that is replaced or deleted during a search stays mapped until the last Handle
// is released. If the process is killed at any instant, every index is left complete, in
// its old state or its new one.
package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

const (
	indexesName = "indexes"
	deletedName = "deleted"
	folderMode  = 0o700
)

// ErrNotFound: no such index or segment. It comes wrapped with cpar.ErrInput.
var ErrNotFound = errors.New("not found")

// ErrIncomplete: a manifest names segments that the store does not have complete. It
// comes wrapped with cpar.ErrInput; uploading them again helps.
var ErrIncomplete = errors.New("segments are missing")

// ErrTooLarge: a segment above the store's limit. It comes wrapped with cpar.ErrInput.
var ErrTooLarge = errors.New("segment is too large")

// A Loader turns an index's bytes into what a search needs. The segments stay mapped
// while the value is in use; the Loader must not write to them. If it fails, the index is
// not activated.
type Loader[T any] func(m *cpar.Manifest, segments [][]byte) (T, error)

// Options configures a store. The zero value suits a daemon.
type Options struct {
	// FS defaults to durable.OS.
	FS durable.FS
	// MaxSegmentBytes bounds one upload; 0 means cpar.MaxSegmentBytes.
	MaxSegmentBytes int64
	// KeepPending is how long segments that were uploaded but never activated survive a
	// restart; 0 means a week.
	KeepPending time.Duration
	// Memory says where the rows of a loaded index are kept.
	Memory indexdir.Memory
	// Log receives errors that Open and removals cannot return; nil discards them.
	Log *slog.Logger
}

// A Store keeps indexes. It is safe for concurrent use.
type Store[T any] struct {
	data string
	load Loader[T]
	o    Options
	lock *flock.Flock

	mu      sync.Mutex
	entries map[Key]*entry[T]
	closed  bool
}

// An entry is an index that was requested since the start.
type entry[T any] struct {
	key    Key
	folder string

	work  sync.Mutex // held while loading, activating, deleting; taken before mu
	check sync.Mutex // held while a segment is verified

	mu       sync.Mutex // guards the fields below, never held for long
	gone     bool       // deleted or closed: look the entry up again
	open     *opened[T]
	writer   *indexdir.Writer
	uploads  int                  // in progress; grows only with work held
	verified map[cpar.Digest]bool // verified or written by this process
}

type opened[T any] struct {
	index *indexdir.Index
	value T
}

// Open locks the data folder, creates it if necessary, and removes what a killed process
// left behind. Indexes are loaded when first requested.
func Open[T any](data string, load Loader[T], o Options) (*Store[T], error) {
	if o.FS == nil {
		o.FS = durable.OS
	}
	if o.MaxSegmentBytes == 0 {
		o.MaxSegmentBytes = cpar.MaxSegmentBytes
	}
	if o.KeepPending == 0 {
		o.KeepPending = 7 * 24 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store[T]{data: data, load: load, o: o, entries: map[Key]*entry[T]{}}
	if err := checkOurs(data); err != nil {
		return nil, fmt.Errorf("opening data folder: %w", err)
	}
	for _, dir := range []string{data, filepath.Join(data, indexesName), filepath.Join(data, deletedName)} {
		if err := durable.MkdirAll(o.FS, dir, folderMode); err != nil {
			return nil, fmt.Errorf("opening data folder: %w", err)
		}
	}
	lock, err := indexdir.Lock(data)
	if err != nil {
		return nil, fmt.Errorf("opening data folder: %w", err)
	}
	s.lock = lock
	s.cleanUp()
	return s, nil
}

// checkOurs refuses a folder that holds something and no indexes: it was meant for
// something else.
func checkOurs(data string) error {
	entries, err := os.ReadDir(data)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	foreign := ""
	for _, e := range entries {
		switch name := e.Name(); {
		case name == indexesName:
			return nil
		case name[0] != '.' && name != "lost+found": // an empty disk may hold these
			foreign = name
		}
	}
	if foreign == "" {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %s holds other things, such as %s", cpar.ErrInput, data, foreign), "name a folder that is empty or does not exist yet")
}

// cleanUp does what it can; a folder that cannot be removed stays and is logged.
func (s *Store[T]) cleanUp() {
	for _, tenant := range tenants(s.data) {
		s.emptyDeleted(Key{Tenant: tenant}.root(s.data))
		keys, err := keysOf(s.data, tenant)
		if err != nil {
			s.o.Log.Warn("cleaning up", "error", err)
			continue
		}
		for _, k := range keys {
			w, err := indexdir.Create(s.folder(k), s.dirOptions())
			if err != nil {
				s.o.Log.Warn("cleaning up", "index", k.Index.String(), "error", err)
				continue
			}
			w.Close()
			// An abandoned upload leaves an empty index behind.
			if s.isEmpty(k) {
				s.discard(k)
			}
		}
	}
}

// dirOptions are for the folders below indexes, which belong to the store alone.
func (s *Store[T]) dirOptions() indexdir.Options {
	return indexdir.Options{FS: s.o.FS, KeepPending: s.o.KeepPending, Ours: true}
}

// isEmpty reports whether an index has neither manifest nor segments.
func (s *Store[T]) isEmpty(k Key) bool {
	if _, err := indexdir.ReadManifestBytes(s.folder(k)); !errors.Is(err, indexdir.ErrNoIndex) {
		return false
	}
	segments, err := os.ReadDir(filepath.Join(s.folder(k), "segments"))
	return len(segments) == 0 && (err == nil || errors.Is(err, os.ErrNotExist))
}

// Close releases the folder. Open handles stay valid until released.
func (s *Store[T]) Close() error {
	s.mu.Lock()
	entries := s.entries
	s.entries, s.closed = nil, true
	s.mu.Unlock()
	for _, e := range entries {
		e.work.Lock()
		e.retire()
		e.work.Unlock()
	}
	return s.lock.Close()
}

func (s *Store[T]) folder(k Key) string {
	return filepath.Join(k.root(s.data), indexesName, k.Index.String())
}

// entry returns the live entry of an index, creating it if necessary.
func (s *Store[T]) entry(k Key) (*entry[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("index %v: %w: the store is closed", k.Index, cpar.ErrStorage)
	}
	e := s.entries[k]
	if e == nil {
		e = &entry[T]{key: k, folder: s.folder(k), verified: map[cpar.Digest]bool{}}
		s.entries[k] = e
	}
	return e, nil
}

// existing returns the entry of an index that has a folder, so that requests for missing
// indexes take no memory.
func (s *Store[T]) existing(k Key) (*entry[T], error) {
	if _, err := os.Lstat(s.folder(k)); err != nil {
		return nil, notFound(k)
	}
	return s.entry(k)
}

// locked returns the live entry with its work lock held.
func (s *Store[T]) locked(k Key, find func(Key) (*entry[T], error)) (*entry[T], error) {
	for {
		e, err := find(k)
		if err != nil {
			return nil, err
		}
		e.work.Lock()
		e.mu.Lock()
		gone := e.gone
		e.mu.Unlock()
		if !gone {
			return e, nil
		}
		e.work.Unlock()
	}
}

// retire releases what e holds; the caller holds e.work.
func (e *entry[T]) retire() {
	e.closeWriter()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = true
	if e.open != nil {
		e.open.index.Release()
		e.open = nil
	}
}

func (e *entry[T]) closeWriter() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.writer != nil {
		e.writer.Close()
		e.writer = nil
	}
}

func notFound(k Key) error {
	return hint.Add(fmt.Errorf("index %v: %w: %w", k.Index, cpar.ErrInput, ErrNotFound), "push the index first")
}

// Delete removes an index: atomically for every client, then its bytes.
func (s *Store[T]) Delete(k Key) error {
	e, err := s.locked(k, s.existing)
	if err != nil {
		return err
	}
	defer e.work.Unlock()
	if _, err := os.Lstat(e.folder); err != nil {
		return notFound(k)
	}
	if err := s.remove(e); err != nil {
		return fmt.Errorf("deleting index %v: %w", k.Index, err)
	}
	return nil
}

// remove removes an index and its entry; the caller holds e.work.
func (s *Store[T]) remove(e *entry[T]) error {
	e.closeWriter()
	if _, err := os.Lstat(e.folder); err == nil {
		if err := s.discard(e.key); err != nil {
			return err
		}
	}
	// Only now: whoever is waiting for e finds no folder for a new entry.
	s.mu.Lock()
	delete(s.entries, e.key)
	s.mu.Unlock()
	e.retire()
	return nil
}

// discard moves an index out of sight durably, then removes it.
func (s *Store[T]) discard(k Key) error {
	root := k.root(s.data)
	trash := filepath.Join(root, deletedName)
	to := filepath.Join(trash, fmt.Sprintf("%v-%d", k.Index, time.Now().UnixNano()))
	if err := durable.MkdirAll(s.o.FS, trash, folderMode); err != nil {
		return err
	}
	if err := s.o.FS.Rename(s.folder(k), to); err != nil {
		return durable.StorageError("moving", s.folder(k), 0, err)
	}
	// Sync the new name first: a folder with both names is deleted at the next start, or
	// served on; a folder with neither would waste space for good.
	for _, dir := range []string{trash, filepath.Join(root, indexesName)} {
		if err := s.o.FS.SyncDir(dir); err != nil {
			return durable.StorageError("syncing folder", dir, 0, err)
		}
	}
	s.emptyDeleted(root)
	return nil
}

func (s *Store[T]) emptyDeleted(root string) {
	trash := filepath.Join(root, deletedName)
	entries, err := os.ReadDir(trash)
	for _, e := range entries {
		err = errors.Join(err, removeTree(s.o.FS, filepath.Join(trash, e.Name())))
	}
	if err != nil {
		s.o.Log.Warn("removing deleted indexes", "error", err)
	}
}

func removeTree(fsys durable.FS, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // another Delete was faster
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
