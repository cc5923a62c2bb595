package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/internal/hint"
)

// ErrQuota means that a tenant's quota is used up. Such errors also wrap
// cpar.ErrInput.
var ErrQuota = album.ErrQuota

// Usage describes a tenant's storage, in bytes of segments and of blobs.
type Usage struct {
	Indexes  int   // active indexes
	Active   int64 // bytes of segments in active manifests
	Uploads  int   // indexes that were never activated
	Pending  int64 // bytes of all other segments
	Reserved int64 // bytes reserved for running uploads
	Limit    int64 // 0 means no limit
	Albums   album.Usage
}

// An account tracks a tenant's storage. It counts the storage at its first use
// and then tracks changes. Store.recount finds changes by other processes.
type account struct {
	counting sync.Mutex // held while reading the backend; locked before mu

	mu      sync.Mutex
	counted bool
	indexes map[cpar.IndexID]*use
	sum     Usage
}

// fileBytes is the number of bytes that the quota adds per file, because a disk
// can run out of files.
const fileBytes = 4096

// A use counts the segments and running uploads of one index.
type use struct {
	active       bool
	files        int   // counted separately, because a segment may be empty
	bytes, named int64 // sizes of all segments, and of segments in the active manifest
	lastUpload   time.Time

	uploads       int
	sending       map[cpar.Digest]*sending // segments uploaded since field uploads was last 0
	reservedBytes int64
}

// sending is a segment that one or several uploads send. An upload locks it while
// it stores the complete segment and charges the quota. Otherwise an upload that
// the quota refuses could remove what another has meanwhile stored.
type sending struct {
	sync.Mutex
	stored int // number of uploads that have stored it and charged the quota
}

func (s *Store[T]) account(tenant string) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[tenant]
	if a == nil {
		a = &account{indexes: map[cpar.IndexID]*use{}}
		s.accounts[tenant] = a
	}
	return a
}

func (s *Store[T]) Usage(ctx context.Context, tenant string) (Usage, error) {
	a := s.account(tenant)
	if err := a.count(ctx, s.backend, tenant, false); err != nil {
		return Usage{}, err
	}
	blobs, err := s.albums.Usage(ctx, tenant)
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.sum
	u.Limit, u.Albums = s.o.Quota(tenant), blobs
	return u, err
}

// indexBytes counts the bytes of a tenant's stored segments for the quota.
func (s *Store[T]) indexBytes(ctx context.Context, tenant string) (n int64, err error) {
	keys, err := s.backend.Keys(ctx, tenant)
	for _, k := range keys {
		list, e := s.backend.Segments(ctx, k)
		err = errors.Join(err, e)
		for _, x := range list {
			n += x.Bytes + fileBytes
		}
	}
	if err != nil {
		return 0, fmt.Errorf("counting stored data: %w", err)
	}
	return n, nil
}

func (a *account) count(ctx context.Context, b Backend, tenant string, again bool) error {
	a.counting.Lock()
	defer a.counting.Unlock()
	a.mu.Lock()
	done := a.counted && !again
	a.mu.Unlock()
	if done {
		return nil
	}
	keys, err := b.Keys(ctx, tenant)
	if err != nil {
		return fmt.Errorf("counting stored data: %w", err)
	}
	there := map[cpar.IndexID]bool{}
	for _, k := range keys {
		there[k.Index] = true
		if err := a.recount(ctx, b, k); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counted = true
	for id, u := range a.indexes {
		if !there[id] && u.uploads == 0 {
			a.change(id, func(u *use) { *u = use{} })
		}
	}
	return nil
}

func (a *account) recount(ctx context.Context, b Backend, k IndexRef) error {
	list, err := b.Segments(ctx, k)
	if err != nil {
		return fmt.Errorf("counting stored data: %w", err)
	}
	n := use{files: len(list)}
	m, err := readManifest(ctx, b, k)
	// A damaged index counts as active, so that makeRoom does not remove it.
	n.active = !errors.Is(err, ErrNotFound)
	named := digestsOf(m)
	for _, x := range list {
		n.bytes += x.Bytes
		if named[x.Digest] {
			n.named += x.Bytes
		}
		if x.Modified.After(n.lastUpload) {
			n.lastUpload = x.Modified
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change(k.Index, func(u *use) {
		n.uploads, n.sending, n.reservedBytes = u.uploads, u.sending, u.reservedBytes
		*u = n
	})
	return nil
}

// change applies f to the use of an index, and deletes an empty use. The caller
// holds mu.
func (a *account) change(id cpar.IndexID, f func(u *use)) {
	u := a.indexes[id]
	if u == nil {
		u = &use{}
		a.indexes[id] = u
	}
	a.sum.add(u, -1)
	f(u)
	if u.files == 0 && u.uploads == 0 && !u.active {
		delete(a.indexes, id)
		return
	}
	a.sum.add(u, 1)
}

func (sum *Usage) add(u *use, sign int64) {
	sum.Active += sign * u.named
	sum.Pending += sign * (u.bytes - u.named)
	sum.Reserved += sign * u.reservedBytes
	switch {
	case u.active:
		sum.Indexes += int(sign)
	case u.files > 0 || u.uploads > 0:
		sum.Uploads += int(sign)
	}
}

// reserve counts an upload of at most n bytes of segment d towards the usage. The
// caller calls end with the numbers of files and bytes added. Concurrent uploads
// of the same segment count once.
func (s *Store[T]) reserve(ctx context.Context, k IndexRef, d cpar.Digest, n int64) (x *sending, end func(files int, added int64), err error) {
	e, err := s.acquire(loadRef{IndexRef: k}) // fails on a closed store
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			s.release(e)
		}
	}()
	a := s.account(k.Tenant)
	if err := a.count(ctx, s.backend, k.Tenant, false); err != nil {
		return nil, nil, err
	}
	if err := s.makeRoom(ctx, a, k); err != nil {
		return nil, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change(k.Index, func(u *use) {
		u.uploads++
		u.reservedBytes += n
		if u.sending == nil {
			u.sending = map[cpar.Digest]*sending{}
		}
		if u.sending[d] == nil {
			u.sending[d] = &sending{}
		}
		x = u.sending[d]
	})
	return x, func(written int, added int64) {
		s.release(e)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.change(k.Index, func(u *use) {
			u.reservedBytes -= n
			u.lastUpload = time.Now()
			if written > 0 {
				u.files += written
				u.bytes += added
				x.stored++
			}
			if u.uploads--; u.uploads == 0 {
				u.sending = nil
			}
		})
	}, nil
}

// evictions bounds the removals by one upload.
const evictions = 8

// makeRoom limits the number of indexes that were never activated, because
// clients can invent any number of ids. Among those without running uploads, it
// removes the index whose last upload is oldest.
func (s *Store[T]) makeRoom(ctx context.Context, a *account, k IndexRef) error {
	for tries := 0; ; tries++ {
		oldest, full := a.oldestPending(k.Index, s.o.MaxPending)
		if !full {
			return nil
		}
		if oldest == nil {
			return hint.Add(fmt.Errorf("index %v: %w: %w: %d indexes are being uploaded at once", k.Index, cpar.ErrInput, ErrQuota, s.o.MaxPending), "wait until one is activated")
		}
		if tries == evictions {
			return nil // shrink gradually, because earlier versions had no limit
		}
		if err := s.abandon(ctx, a, IndexRef{k.Tenant, *oldest}); err != nil {
			return err
		}
	}
}

// oldestPending reports whether there is no room for id, and returns the index
// to remove, if any.
func (a *account) oldestPending(id cpar.IndexID, most int) (oldest *cpar.IndexID, full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.indexes[id] != nil || a.sum.Uploads < most {
		return nil, false
	}
	var since time.Time
	for other, u := range a.indexes {
		if !u.active && u.uploads == 0 && (oldest == nil || u.lastUpload.Before(since)) {
			oldest, since = &other, u.lastUpload
		}
	}
	return oldest, true
}

func (s *Store[T]) abandon(ctx context.Context, a *account, k IndexRef) error {
	_, unlock, err := s.locked(k) // keeps activations out
	if err != nil {
		return err
	}
	defer unlock()
	list, err := s.backend.Segments(ctx, k)
	if err != nil {
		return err
	}
	var digests []cpar.Digest
	for _, x := range list {
		digests = append(digests, x.Digest)
	}
	if err := s.backend.Remove(ctx, k, digests...); err != nil {
		return fmt.Errorf("removing an abandoned upload: %w", err)
	}
	return a.recount(ctx, s.backend, k)
}
