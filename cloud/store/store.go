// Package store keeps encrypted indexes for the cloud, many of them in one Backend. The
// one on this machine's disk is a data folder:
//
//	data/lock                 held by the one daemon that serves the folder
//	data/gate                 held for a moment to activate or to remove segments
//	data/indexes/<id>/…       one index each, see package indexdir
//	data/deleted/…            folders about to be removed
//	data/tenants/<tenant>/…   the last two for each tenant
//
//	PutSegment… ─▶ PutManifest (activation) ─▶ Get ─▶ Release
//
// The store interprets only manifests. Whatever else a search needs is made once by the
// Loader, at activation and when an index is first requested. An index that the Loader
// refuses is never activated.
//
// An index that is replaced or deleted during a search stays mapped until the last Handle
// is released. One that is found damaged answers ErrDamaged until it is pushed again.
package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cpar"
	"cpar/cloud/shard"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

var (
	// ErrNotFound: no such index or segment. It comes wrapped with cpar.ErrInput.
	ErrNotFound = errors.New("not found")
	// ErrIncomplete: a manifest names segments that the store does not have complete. It
	// comes wrapped with cpar.ErrInput; uploading them again helps.
	ErrIncomplete = errors.New("segments are missing")
	// ErrTooLarge: a segment above the store's limit. It comes wrapped with cpar.ErrInput.
	ErrTooLarge = errors.New("segment is too large")
	// ErrDamaged: the index is not as it was pushed. It comes wrapped with cpar.ErrCorrupt,
	// which without it means what a client sent. A push mends it.
	ErrDamaged = errors.New("the index is damaged at the cloud")
	// ErrAway: the storage behind the backend cannot be reached. What is loaded goes on
	// being served, and trying again later helps. It comes wrapped with cpar.ErrStorage.
	ErrAway = errors.New("the cloud's storage cannot be reached")
	// ErrNoRoom: the backend has no room for it beside what is in use. It comes wrapped with
	// cpar.ErrStorage.
	ErrNoRoom = errors.New("there is no room beside what is in use")
)

// A Loader turns an index's bytes into what a search needs. The segments stay mapped
// while the value is in use; the Loader must not write to them. Those that a part does not need
// are nil. If it fails, the index is not activated.
type Loader[T any] func(m *cpar.Manifest, p shard.Range, segments [][]byte) (T, error)

// Options configures a store. The zero value suits a daemon.
type Options struct {
	// FS defaults to durable.OS; only a data folder uses it.
	FS durable.FS
	// MaxSegmentBytes bounds one upload; 0 means cpar.MaxSegmentBytes.
	MaxSegmentBytes int64
	// KeepPending is how long segments that no active manifest names are kept, so that an
	// upload can be resumed; 0 means a day.
	KeepPending time.Duration
	// MaxPending bounds a tenant's indexes that were uploaded to and never activated; the
	// one that was longest without an upload goes for a new one. 0 means 256.
	MaxPending int
	// Quota returns how many bytes a tenant may store, 0 for any number; nil: all may.
	Quota func(tenant string) int64
	// Memory says where the rows of a loaded index are kept.
	Memory indexdir.Memory
	// MaxLoaded bounds the indexes in memory, MaxCopied the bytes of their copies
	// (indexdir.MemoryHuge), and Idle how long one stays without a request. 0 means 64, half
	// of the memory that is free at the start, and a quarter of an hour.
	MaxLoaded int
	MaxCopied int64
	Idle      time.Duration
	// ScrubRate is how many bytes a second Maintain reads to find damage, 0 for 16 MiB,
	// negative for none. A round begins ScrubEvery after the last one began or when that one ends; 0
	// means an hour.
	ScrubRate  int64
	ScrubEvery time.Duration
	// Log receives what no caller is told; nil discards it.
	Log *slog.Logger
}

// A Store keeps indexes. It is safe for concurrent use.
type Store[T any] struct {
	backend Backend
	load    Loader[T]
	o       Options

	mu       sync.Mutex // never held for long
	entries  map[loadRef]*entry[T]
	accounts map[string]*account // of tenants
	counts   Stats               // what is counted; the rest is looked up
	closed   bool

	maps mapBudget // of loaded indexes
}

// Open opens a store in a data folder. It reads nothing of it: indexes are loaded when
// first requested, and the remains of a killed process wait.
func Open[T any](data string, load Loader[T], o Options) (*Store[T], error) {
	if o.FS == nil {
		o.FS = durable.OS
	}
	if _, err := os.Lstat(filepath.Join(data, RestoringName)); err == nil {
		return nil, hint.Add(fmt.Errorf("opening data folder: %w: a restore into %s has not ended", cpar.ErrInput, data), "run the same cpard restore again: it goes on where it was")
	}
	f, err := OpenFolder(data, o.FS)
	if err != nil {
		return nil, err
	}
	return New(f, load, o), nil
}

// New returns a store over a backend, which Close closes.
func New[T any](b Backend, load Loader[T], o Options) *Store[T] {
	if o.MaxSegmentBytes == 0 {
		o.MaxSegmentBytes = cpar.MaxSegmentBytes
	}
	if o.KeepPending == 0 {
		o.KeepPending = 24 * time.Hour
	}
	if o.MaxPending == 0 {
		o.MaxPending = 256
	}
	if o.MaxLoaded == 0 {
		o.MaxLoaded = 64
	}
	if o.MaxCopied == 0 {
		o.MaxCopied = 1 << 30
		if free, known := indexdir.AvailableMemory(); known {
			o.MaxCopied = int64(min(free/2, 1<<62))
		}
	}
	if o.Idle == 0 {
		o.Idle = 15 * time.Minute
	}
	if o.ScrubRate == 0 {
		o.ScrubRate = 16 << 20
	}
	if o.ScrubEvery == 0 {
		o.ScrubEvery = time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store[T]{backend: b, load: load, o: o, entries: map[loadRef]*entry[T]{}, accounts: map[string]*account{}, counts: Stats{Faults: map[Fault]uint64{}}, maps: mapBudget{most: allMaps, by: map[string]int{}}}
}

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

func notFound(k IndexRef) error {
	return hint.Add(fmt.Errorf("index %v: %w: %w", k.Index, cpar.ErrInput, ErrNotFound), "push the index first")
}

func segmentNotFound(k IndexRef, d cpar.Digest) error {
	return fmt.Errorf("index %v: segment %v: %w: %w", k.Index, d, cpar.ErrInput, ErrNotFound)
}
