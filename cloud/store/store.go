// Package store keeps encrypted indexes for the cloud, many of them under one
// data folder:
//
//	data/lock                 held by the one daemon that serves the folder
//	data/indexes/<id>/…       one index each, see package indexdir
//	data/deleted/…            folders on their way out
//
//	PutSegment… ─▶ PutManifest (activation) ─▶ Get ─▶ Release
//
// The store interprets nothing but manifests. What a search needs beyond the
// bytes is made once by the Loader, at activation and at the first Get after a
// start; an index that the Loader refuses is never made active.
//
// An index that is replaced or deleted while it is being searched stays mapped
// until the last Handle is released. A process killed at any instant leaves
// every index as it was or as it should become, whole.
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

// ErrIncomplete: a manifest names segments that the store does not have whole.
// It comes wrapped with cpar.ErrInput; uploading them again helps.
var ErrIncomplete = errors.New("segments are missing")

// ErrTooLarge: a segment beyond the store's limit. It comes wrapped with
// cpar.ErrInput.
var ErrTooLarge = errors.New("segment is too large")

// A Loader makes of an index's bytes what a search needs. The segments stay
// mapped as long as the value is in use; it must not write to them. Its error
// keeps an index from being activated.
type Loader[T any] func(m *cpar.Manifest, segments [][]byte) (T, error)

// Options of a store. The zero value is right for a daemon.
type Options struct {
	// FS is durable.OS where nil.
	FS durable.FS
	// MaxSegmentBytes bounds one upload; cpar.MaxSegmentBytes where 0.
	MaxSegmentBytes int64
	// KeepPending is how long segments that were uploaded and never activated
	// survive a restart; a week where 0.
	KeepPending time.Duration
	// Memory says where the rows of a loaded index lie.
	Memory indexdir.Memory
	// Log takes what Open and removals cannot return; nil discards it.
	Log *slog.Logger
}

// A Store keeps indexes. Its methods may be called at the same time.
type Store[T any] struct {
	data string
	load Loader[T]
	o    Options
	lock *flock.Flock

	mu      sync.Mutex
	entries map[cpar.IndexID]*entry[T]
	closed  bool
}

// An entry is one index that somebody has asked for since the start.
type entry[T any] struct {
	id     cpar.IndexID
	folder string

	work  sync.Mutex // held while loading, activating, deleting; taken before mu
	check sync.Mutex // held while one segment is read through

	mu       sync.Mutex // guards what follows, never held for long
	gone     bool       // deleted or closed: look the entry up again
	open     *opened[T]
	writer   *indexdir.Writer
	uploads  int                  // under way; grows only with work held
	verified map[cpar.Digest]bool // read through or written by this process
}

type opened[T any] struct {
	index *indexdir.Index
	value T
}

// Open locks the data folder, makes it if need be, and removes what a killed
// process left behind. Indexes are loaded when first asked for.
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
	s := &Store[T]{data: data, load: load, o: o, entries: map[cpar.IndexID]*entry[T]{}}
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

// cleanUp does what it can; a folder that resists is left and logged.
func (s *Store[T]) cleanUp() {
	s.emptyDeleted()
	ids, err := indexIDs(s.data)
	if err != nil {
		s.o.Log.Warn("cleaning up", "error", err)
		return
	}
	for _, id := range ids {
		w, err := indexdir.Create(s.folder(id), s.dirOptions())
		if err != nil {
			s.o.Log.Warn("cleaning up", "index", id.String(), "error", err)
			continue
		}
		w.Close()
		// An upload that was given up leaves an empty index behind.
		if s.hollow(id) {
			s.discard(id)
		}
	}
}

// dirOptions of the folders below indexes, which are nobody else's.
func (s *Store[T]) dirOptions() indexdir.Options {
	return indexdir.Options{FS: s.o.FS, KeepPending: s.o.KeepPending, Ours: true}
}

// hollow reports whether an index has neither manifest nor segments.
func (s *Store[T]) hollow(id cpar.IndexID) bool {
	if _, err := indexdir.ReadManifestBytes(s.folder(id)); !errors.Is(err, indexdir.ErrNoIndex) {
		return false
	}
	segments, err := os.ReadDir(filepath.Join(s.folder(id), "segments"))
	return len(segments) == 0 && (err == nil || errors.Is(err, os.ErrNotExist))
}

// Close lets the folder go. Handles that are out stay good until released.
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

func (s *Store[T]) folder(id cpar.IndexID) string {
	return filepath.Join(s.data, indexesName, id.String())
}

// entry returns the live entry of an index, made on the spot.
func (s *Store[T]) entry(id cpar.IndexID) (*entry[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("index %v: %w: the store is closed", id, cpar.ErrStorage)
	}
	e := s.entries[id]
	if e == nil {
		e = &entry[T]{id: id, folder: s.folder(id), verified: map[cpar.Digest]bool{}}
		s.entries[id] = e
	}
	return e, nil
}

// existing returns the entry of an index that has a folder, so that asking for
// what is not there takes no memory.
func (s *Store[T]) existing(id cpar.IndexID) (*entry[T], error) {
	if _, err := os.Lstat(s.folder(id)); err != nil {
		return nil, notFound(id)
	}
	return s.entry(id)
}

// working returns the live entry with its work lock held.
func (s *Store[T]) working(id cpar.IndexID, find func(cpar.IndexID) (*entry[T], error)) (*entry[T], error) {
	for {
		e, err := find(id)
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

// retire lets go of what e holds; the caller holds e.work.
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

func notFound(id cpar.IndexID) error {
	return hint.Add(fmt.Errorf("index %v: %w: %w", id, cpar.ErrInput, ErrNotFound), "push the index first")
}

// Delete removes an index: in one step for everybody who asks, then its bytes.
func (s *Store[T]) Delete(id cpar.IndexID) error {
	e, err := s.working(id, s.existing)
	if err != nil {
		return err
	}
	defer e.work.Unlock()
	if _, err := os.Lstat(e.folder); err != nil {
		return notFound(id)
	}
	if err := s.remove(e); err != nil {
		return fmt.Errorf("deleting index %v: %w", id, err)
	}
	return nil
}

// remove takes an index and its entry away; the caller holds e.work.
func (s *Store[T]) remove(e *entry[T]) error {
	e.closeWriter()
	if _, err := os.Lstat(e.folder); err == nil {
		if err := s.discard(e.id); err != nil {
			return err
		}
	}
	// Only now, when whoever waits for e finds no folder to make a new entry of.
	s.mu.Lock()
	delete(s.entries, e.id)
	s.mu.Unlock()
	e.retire()
	return nil
}

// discard moves an index out of sight, durably, and removes it from there.
func (s *Store[T]) discard(id cpar.IndexID) error {
	trash := filepath.Join(s.data, deletedName)
	to := filepath.Join(trash, fmt.Sprintf("%v-%d", id, time.Now().UnixNano()))
	if err := s.o.FS.Rename(s.folder(id), to); err != nil {
		return durable.StorageError("moving", s.folder(id), 0, err)
	}
	// The new name first: a folder that has both names is deleted at the next
	// start or served on; one that has neither would be lost room.
	for _, dir := range []string{trash, filepath.Join(s.data, indexesName)} {
		if err := s.o.FS.SyncDir(dir); err != nil {
			return durable.StorageError("syncing folder", dir, 0, err)
		}
	}
	s.emptyDeleted()
	return nil
}

func (s *Store[T]) emptyDeleted() {
	trash := filepath.Join(s.data, deletedName)
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
