// Package store keeps encrypted indexes for the server in a Backend. The local
// Backend is a data folder:
//
//	data/lock                 held by the daemon that serves the folder
//	data/gate                 held briefly to activate or to remove segments
//	data/indexes/<id>/…       one per index, see package indexdir
//	data/deleted/…            folders about to be removed
//	data/albums/…             blobs, see package album
//	data/tenants/<tenant>/…   indexes, deleted and albums of each tenant
//
//	PutSegment… ─▶ PutManifest (activation) ─▶ Get ─▶ Release
//
// The store interprets only manifests. A Loader builds the data for searches at
// activation and when an index is first requested. An index replaced or deleted
// during a search stays mapped until the last Handle is released. A damaged index
// answers ErrDamaged until it is pushed again.
package store

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/shard"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

var (
	// ErrNotFound means that there is no such index or segment. It wraps
	// cpar.ErrInput.
	ErrNotFound = album.ErrNotFound
	// ErrIncomplete means that segments of a manifest must be uploaded again.
	// It comes wrapped with cpar.ErrInput.
	ErrIncomplete = errors.New("segments are missing")
	// ErrTooLarge means that a segment exceeds the store's limit. It wraps
	// cpar.ErrInput.
	ErrTooLarge = errors.New("segment is too large")
	// ErrDamaged means that the index differs from the pushed one, and a push
	// repairs it. It wraps cpar.ErrCorrupt, which by itself means the client's
	// fault.
	ErrDamaged = errors.New("the index is damaged at the cloud")
	// ErrAway means that the storage behind the backend is unreachable. Loaded
	// indexes are still served. It wraps cpar.ErrStorage.
	ErrAway = errors.New("the cloud's storage cannot be reached")
	// ErrNoRoom means that the backend has no space beside the data in use.
	ErrNoRoom = errors.New("there is no room beside the data in use")
)

// A Loader builds the data for searches from an index's segments, which stay
// mapped while the value is in use. Segments that a shard does not need are
// nil.
type Loader[T any] func(m *cpar.Manifest, p shard.Range, segments [][]byte) (T, error)

// Options configures a store. The zero value suits a daemon.
type Options struct {
	// FS defaults to durable.OS. Only a data folder uses it.
	FS durable.FS
	// MaxSegmentBytes bounds an upload. The default is cpar.MaxSegmentBytes.
	MaxSegmentBytes int64
	// KeepPending is how long segments that no active manifest names are kept.
	// The default is a day.
	KeepPending time.Duration
	// KeepDeleted is how long deleted blobs stay recoverable. The default is 30
	// days.
	KeepDeleted time.Duration
	// MaxPending bounds a tenant's never activated indexes. A new one replaces
	// the one with the oldest last upload. The default is 256.
	MaxPending int
	// Quota returns a tenant's storage limit in bytes, 0 for no limit. Nil
	// means no limits.
	Quota func(tenant string) int64
	// Memory selects where the rows of a loaded index are kept.
	Memory indexdir.Memory
	// MaxLoaded bounds the indexes in memory. MaxCopied bounds the bytes of
	// their copies (indexdir.MemoryHuge). Idle is how long an unused index
	// stays loaded. The defaults are 64, half the memory free at the start, and
	// a quarter of an hour.
	MaxLoaded int
	MaxCopied int64
	Idle      time.Duration
	// ScrubRate is the reading rate of scrubs in bytes per second, by default
	// 16 MiB. A negative value disables scrubbing. A round starts ScrubEvery
	// (by default an hour) after the start of the last one, but not before its
	// end.
	ScrubRate  int64
	ScrubEvery time.Duration
	// Log receives events that no caller sees. Nil discards them.
	Log *slog.Logger
}

// A Store keeps indexes. It is safe for concurrent use.
type Store[T any] struct {
	backend Backend
	load    Loader[T]
	o       Options

	mu       sync.Mutex // never held for long
	entries  map[loadRef]*entry[T]
	accounts map[string]*account // by tenant
	counts   Stats               // counters only
	closed   bool

	maps mapBudget // of loaded indexes

	albums *album.Store
}

// Open opens a store in a data folder without reading its contents.
func Open[T any](data string, load Loader[T], o Options) (*Store[T], error) {
	o.FS = cmp.Or(o.FS, durable.OS)
	if _, err := os.Lstat(filepath.Join(data, RestoringName)); err == nil {
		return nil, hint.Add(fmt.Errorf("opening data folder: %w: a restore into %s has not ended", cpar.ErrInput, data), "run the same cpard restore again, which continues where it stopped")
	}
	f, err := OpenFolder(data, o.FS)
	if err != nil {
		return nil, err
	}
	return New(f, load, o), nil
}

// New returns a store over a backend, which Close closes.
func New[T any](b Backend, load Loader[T], o Options) *Store[T] {
	o.MaxSegmentBytes = cmp.Or(o.MaxSegmentBytes, cpar.MaxSegmentBytes)
	o.KeepPending = cmp.Or(o.KeepPending, 24*time.Hour)
	o.KeepDeleted = cmp.Or(o.KeepDeleted, album.KeepDeleted)
	o.MaxPending = cmp.Or(o.MaxPending, 256)
	o.MaxLoaded = cmp.Or(o.MaxLoaded, 64)
	if o.MaxCopied == 0 {
		o.MaxCopied = 1 << 30
		if free, known := indexdir.AvailableMemory(); known {
			o.MaxCopied = int64(min(free/2, 1<<62))
		}
	}
	o.Idle = cmp.Or(o.Idle, 15*time.Minute)
	o.ScrubRate = cmp.Or(o.ScrubRate, 16<<20)
	o.ScrubEvery = cmp.Or(o.ScrubEvery, time.Hour)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Store[T]{backend: b, load: load, o: o, entries: map[loadRef]*entry[T]{}, accounts: map[string]*account{}, counts: Stats{Faults: map[Fault]uint64{}}, maps: mapBudget{most: allMaps, by: map[string]int{}}}
	s.albums = album.New(b.Albums(), album.Options{Quota: s.quota, Besides: s.indexBytes})
	return s
}

// Albums returns the albums of all tenants.
func (s *Store[T]) Albums() *album.Store { return s.albums }

// Close releases the backend. Open handles stay valid until released.
func (s *Store[T]) Close() error {
	s.mu.Lock()
	s.closed = true
	var open []*entry[T]
	for _, e := range s.entries {
		open = append(open, e)
	}
	s.mu.Unlock()
	for _, e := range open {
		e.work.Lock()
		s.drop(e)
		e.work.Unlock()
	}
	return s.backend.Close()
}

// NotFound returns the error for a missing index. SegmentNotFound returns the
// error for a missing segment.
func NotFound(k IndexRef) error {
	return hint.Add(fmt.Errorf("index %v: %w: %w", k.Index, cpar.ErrInput, ErrNotFound), "push the index first")
}

func SegmentNotFound(k IndexRef, d cpar.Digest) error {
	return fmt.Errorf("index %v: segment %v: %w: %w", k.Index, d, cpar.ErrInput, ErrNotFound)
}
