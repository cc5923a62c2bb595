// Package remote stores indexes in object storage. It is the second
// implementation of store.Backend.
//
//	<prefix>/<tenant, or _>/<index>/seg/<SHA-256>   segments, immutable
//	<prefix>/<tenant, or _>/<index>/v/<20 digits>   manifests; the highest is active
//	<prefix>/albums/<tenant, or _>/…                 see package album
//	<prefix>/conditional                            tests conditional writes
//
//	Put      ─▶ a file of the cache, digest checked ─▶ seg/…
//	Activate ─▶ v/<N+1>, only if absent, which commits the activation
//	Open     ─▶ seg/… ─▶ files of the cache, digest checked ─▶ memory map (package indexdir)
//	Delete   ─▶ v/<N+1>, empty (a tombstone) ─▶ removal of earlier objects
//
// The storage holds all durable data. The bounded cache evicts the least
// recently used segments, except those of open indexes. Several processes may
// share a prefix. If two processes activate at the same time, one writes
// version N+1 and the other N+2. Versions are removed in ascending order, so that
// no old manifest becomes active.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/cloud/blob"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
)

type Options struct {
	// Data is the data folder, which contains the cache. No other process may
	// use it. If Data is "", Open creates a temporary folder and Close removes
	// it.
	Data string
	// CacheBytes bounds the cache and running uploads. The default is 16 GiB.
	CacheBytes int64
	// Wait bounds the time for which the storage makes no progress
	// (blob.Options).
	Wait time.Duration
	// Log receives events that no error reports. Nil discards them.
	Log *slog.Logger
}

const defaultCacheBytes = 16 << 30

// A Store is a store.Backend over a bucket.
type Store struct {
	bucket    *blob.Bucket
	cache     *cache
	lock      *flock.Flock
	temporary string // a folder to remove, or ""
	log       *slog.Logger

	// Activations hold `gate` shared, and removals of segments hold it
	// exclusively. Otherwise a segment could disappear before the activation
	// that needs it commits.
	gate sync.RWMutex

	probe  sync.Mutex
	proven bool // whether conditional writes are proved to work
}

var _ store.Backend = (*Store)(nil)

// Open returns the store in a bucket. It sends no requests.
func Open(b *blob.Bucket, o Options) (*Store, error) {
	o.CacheBytes = cmp.Or(o.CacheBytes, defaultCacheBytes)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Store{bucket: b, log: o.Log}
	if o.Data == "" {
		folder, err := os.MkdirTemp("", "cpard-")
		if err != nil {
			return nil, durable.StorageError("making a folder in", os.TempDir(), 0, err)
		}
		o.Data, s.temporary = folder, folder
	}
	if err := durable.MkdirAll(durable.OS, o.Data, folderMode); err != nil {
		return nil, fmt.Errorf("opening data folder: %w", err)
	}
	lock, err := indexdir.Lock(o.Data)
	if err != nil {
		return nil, fmt.Errorf("opening data folder: %w", err)
	}
	s.lock = lock
	if s.cache, err = openCache(o.Data, o.CacheBytes); err != nil {
		lock.Close()
		return nil, err
	}
	return s, nil
}

// Close releases the data folder. Open indexes stay valid until released.
func (s *Store) Close() error {
	err := s.lock.Close()
	if s.temporary != "" {
		err = errors.Join(err, os.RemoveAll(s.temporary))
	}
	return err
}

// Stats contains counters since the start, and the current CacheBytes and
// CacheLimit.
type Stats struct {
	blob.Stats
	CacheBytes, CacheLimit  int64
	Hits, Misses, Evictions int64 // numbers of segments
}

func (s *Store) Stats() Stats {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{s.bucket.Stats(), c.used, c.limit, c.hits, c.misses, c.evicted}
}

// Reach returns nil if the last request to the storage succeeded. Otherwise it
// sends a request and returns the request's error.
func (s *Store) Reach(ctx context.Context) error {
	if !s.bucket.Stats().Away {
		return nil
	}
	if _, err := s.bucket.Read(ctx, probeName, maxManifest); !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return nil
}

const (
	noTenant    = "_"
	probeName   = "conditional"
	segmentsDir = "seg/"
	versionsDir = "v/"
)

func tenantFolder(tenant string) string {
	return cmp.Or(tenant, noTenant) + "/"
}

func folder(k store.IndexRef) string { return tenantFolder(k.Tenant) + k.Index.String() + "/" }

func segmentName(k store.IndexRef, d cpar.Digest) string { return folder(k) + segmentsDir + d.String() }

func (s *Store) Tenants(ctx context.Context) ([]string, error) {
	all := []string{""}
	for _, folder := range []string{"", albumsDir} {
		for name, err := range s.bucket.Folders(ctx, folder) {
			if err != nil {
				return all, err
			}
			if tenant.IsID(name) && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

func (s *Store) Keys(ctx context.Context, tenant string) ([]store.IndexRef, error) {
	var keys []store.IndexRef
	err := s.eachIndex(ctx, tenant, func(x *indexObjects) error {
		if len(x.segments) > 0 || x.active() {
			keys = append(keys, x.key)
		}
		return nil
	})
	return keys, err
}

type indexObjects struct {
	key      store.IndexRef
	segments []store.Stored
	versions []version
}

// A version is a manifest, or a tombstone if it is empty.
type version struct {
	n uint64
	blob.Object
}

func (x *indexObjects) active() bool {
	return len(x.versions) > 0 && x.versions[len(x.versions)-1].Bytes > 0
}

func (s *Store) eachIndex(ctx context.Context, tenant string, visit func(*indexObjects) error) error {
	var x *indexObjects
	for o, err := range s.bucket.List(ctx, tenantFolder(tenant)) {
		if err != nil {
			return err
		}
		id, rest, _ := strings.Cut(strings.TrimPrefix(o.Name, tenantFolder(tenant)), "/")
		index, err := cpar.ParseIndexID(id)
		if err != nil {
			continue // the object belongs to another program
		}
		if x == nil || x.key.Index != index {
			if x != nil {
				if err := visit(x); err != nil {
					return err
				}
			}
			x = &indexObjects{key: store.IndexRef{Tenant: tenant, Index: index}}
		}
		x.add(rest, o)
	}
	if x != nil {
		return visit(x)
	}
	return nil
}

func (s *Store) list(ctx context.Context, k store.IndexRef, below string) (*indexObjects, error) {
	x := &indexObjects{key: k}
	for o, err := range s.bucket.List(ctx, folder(k)+below) {
		if err != nil {
			return nil, err
		}
		x.add(strings.TrimPrefix(o.Name, folder(k)), o)
	}
	return x, nil
}

// add records an object, and ignores objects of other programs.
func (x *indexObjects) add(name string, o blob.Object) {
	if text, ok := strings.CutPrefix(name, segmentsDir); ok {
		if d, err := cpar.ParseDigest(text); err == nil {
			x.segments = append(x.segments, store.Stored{Digest: d, Bytes: o.Bytes, Modified: o.Modified})
		}
	} else if text, ok := strings.CutPrefix(name, versionsDir); ok {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil && len(text) == 20 {
			x.versions = append(x.versions, version{n, o})
		}
	}
}

// OpenAddress returns the store in the bucket at an address. Function
// blob.Credentials reads `credentials`.
func OpenAddress(address, credentials string, o Options) (*Store, error) {
	get, err := blob.Credentials(credentials)
	if err != nil {
		return nil, err
	}
	b, err := blob.Open(address, blob.Options{Credential: get, Wait: o.Wait})
	if err != nil {
		return nil, err
	}
	return Open(b, o)
}
