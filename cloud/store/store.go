// Package store keeps encrypted indexes for the server in a Backend. The local
// Backend is a data folder:
//
//	data/lock                 held by the daemon that serves the folder
//	data/gate                 held briefly to begin uploads, activate and remove
//	data/indexes/<id>/…       one folder per index, see package indexdir
//	data/deleted/…            folders about to be removed
//	data/albums/…             encrypted blobs of albums, see package album
//	data/tenants/<tenant>/…   indexes, deleted and albums of each tenant
//
//	PutSegment… ─▶ PutManifest (activation) ─▶ Get ─▶ Release
//
// The store decodes only manifests. A Loader builds the data for searches at
// activation or at the first request to an index. An index that is replaced or
// deleted during a search stays in memory until the last Handle is released.
// Requests to a damaged index get ErrDamaged until it is pushed again.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/shard"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// Each error of a store also wraps the error of package cpar that its comment
// gives in parentheses.
var (
	// ErrNotFound means that there is no such index or segment (cpar.ErrInput).
	ErrNotFound = album.ErrNotFound
	// ErrIncomplete means that segments of a manifest must be uploaded again
	// (cpar.ErrInput).
	ErrIncomplete = errors.New("segments are missing")
	// ErrTooLarge means that a segment exceeds the limit (cpar.ErrInput).
	ErrTooLarge = errors.New("segment is too large")
	// ErrDamaged means that a stored index is damaged (cpar.ErrCorrupt). A push
	// repairs it. An error that wraps cpar.ErrCorrupt but not ErrDamaged means
	// that the client sent damaged data.
	ErrDamaged = errors.New("the index is damaged at the cloud")
	// ErrAway means that the storage behind the backend is unreachable
	// (cpar.ErrStorage). Loaded indexes are still served.
	ErrAway = errors.New("the cloud's storage cannot be reached")
	// ErrNoRoom means that all disk space of the cache or all memory maps are in
	// use.
	ErrNoRoom = errors.New("there is no room beside the data in use")
)

// A Loader builds the data for searches from an index's segments, which stay in
// memory while the result is in use. Segments that a shard does not need are
// nil.
type Loader[T any] func(m *cpar.Manifest, p shard.Range, segments [][]byte) (T, error)

// Options configures a store. The zero value suits a server.
type Options struct {
	// FS defaults to durable.OS. Only a data folder uses it.
	FS durable.FS
	// MaxSegmentBytes bounds an upload. The default is cpar.MaxSegmentBytes.
	MaxSegmentBytes int64
	// KeepPending is the time that segments outside active manifests are kept.
	// The default is a day.
	KeepPending time.Duration
	// KeepDeleted is the time for which deleted blobs of albums stay recoverable.
	// The default is 30 days.
	KeepDeleted time.Duration
	// MaxPending bounds the number of a tenant's pending indexes, which were
	// never activated. Another pending index replaces the index whose last
	// upload is oldest. The default is 256.
	MaxPending int
	// Quota, AlbumMemory and AlbumStates set Quota, Memory and States in
	// album.Options.
	Quota       func(tenant string) int64
	AlbumMemory func(ctx context.Context, tenant string, n int64) (release func(), err error)
	AlbumStates int64
	// Memory selects where the rows of a loaded index are kept.
	Memory indexdir.Memory
	// MaxLoaded bounds the number of indexes in memory. The default is 64.
	MaxLoaded int
	// MaxCopied bounds the bytes of indexes copied into memory
	// (indexdir.MemoryHuge). The default is half the memory free at the start.
	MaxCopied int64
	// Idle is the time after which an unused index is unloaded. The default is
	// a quarter of an hour.
	Idle time.Duration
	// ScrubRate is the number of bytes per second that scrubs read. The default
	// is 16 MiB. A negative value disables scrubs.
	ScrubRate int64
	// ScrubEvery is the minimum time between the starts of two scrubs. The
	// default is an hour.
	ScrubEvery time.Duration
	// Log receives events that no error reports. Nil discards them.
	Log *slog.Logger
}

// A Store keeps indexes. It is safe for concurrent use.
type Store[T any] struct {
	backend Backend
	load    Loader[T]
	o       Options

	mu       sync.Mutex // never held while reading or writing storage
	entries  map[loadRef]*entry[T]
	accounts map[string]*account // by tenant
	counts   Stats               // only its counters are used
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
	if o.Quota == nil {
		o.Quota = func(string) int64 { return 0 }
	}
	o.Idle = cmp.Or(o.Idle, 15*time.Minute)
	o.ScrubRate = cmp.Or(o.ScrubRate, 16<<20)
	o.ScrubEvery = cmp.Or(o.ScrubEvery, time.Hour)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Store[T]{backend: b, load: load, o: o, entries: map[loadRef]*entry[T]{}, accounts: map[string]*account{}, counts: Stats{Faults: map[Fault]uint64{}}, maps: mapBudget{most: allMaps, by: map[string]int{}}}
	s.albums = album.New(b.Albums(), album.Options{Quota: o.Quota, Indexes: s.indexBytes, Memory: o.AlbumMemory, States: o.AlbumStates})
	return s
}

func (s *Store[T]) Albums() *album.Store { return s.albums }

// Close releases the backend. Open handles stay valid until released.
func (s *Store[T]) Close() error {
	s.mu.Lock()
	s.closed = true
	open := slices.Collect(maps.Values(s.entries))
	s.mu.Unlock()
	for _, e := range open {
		e.work.Lock()
		s.drop(e)
		e.work.Unlock()
	}
	return s.backend.Close()
}

func NotFound(k IndexRef) error {
	return hint.Add(fmt.Errorf("index %v: %w: %w", k.Index, cpar.ErrInput, ErrNotFound), "push the index first")
}

func SegmentNotFound(k IndexRef, d cpar.Digest) error {
	return fmt.Errorf("index %v: segment %v: %w: %w", k.Index, d, cpar.ErrInput, ErrNotFound)
}
