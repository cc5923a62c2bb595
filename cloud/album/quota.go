package album

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/parallel"
)

// One quota covers a tenant's blobs and indexes. The log orders the additions of
// all processes, so their sum is exact:
//
//	blob ─▶ stored ─▶ an entry names it
//	segment of an index ─▶ stored ─▶ an entry adds its bytes to state.Indexes
//
// The quota also counts the log beyond its usual size (freeEntries), because a
// client may repeat small changes.
//
// No entry subtracts the bytes of removed segments. A recount of the storage
// corrects the sum before the quota refuses an upload.

// Charge calls put to store at most n bytes of an index. Function put returns the
// number of bytes that it added, even if it fails, and Charge records them in the
// log. If the error wraps ErrQuota, the caller removes the stored bytes. After any
// other error they stay, because the entry may have been written.
func (s *Store) Charge(ctx context.Context, tenant string, n int64, put func() (added int64, err error)) error {
	if s.o.Quota(tenant) == 0 {
		_, err := put()
		return err
	}
	end := func() {}
	if err := s.withinQuota(ctx, tenant, func(bool) error {
		return s.read(ctx, tenant, func(st *state) error {
			l := s.log(tenant)
			err := s.checkRoom(tenant, st, n, l.reserved.Load())
			if err == nil {
				end = l.reserveQuota(n)
			}
			return err
		})
	}); err != nil {
		return err
	}
	defer end()
	added, failed := put()
	if added == 0 {
		return failed
	}
	ctx = context.WithoutCancel(ctx) // count the bytes even if the client disconnects
	err := s.withinQuota(ctx, tenant, func(recounted bool) error {
		if recounted {
			added = 0 // the recount has found the bytes
		}
		return s.commit(ctx, tenant, func(st *state) (*event, error) {
			if err := s.checkRoom(tenant, st, added, 0); err != nil && (failed == nil || st.Indexes == nil) {
				return nil, err
			}
			end()
			if added == 0 {
				return nil, nil
			}
			total := *st.Indexes + added
			return &event{Indexes: &total}, nil
		})
	})
	if err != nil {
		s.log(tenant).counted.Store(false) // the next upload recounts
	}
	return cmp.Or(failed, err)
}

// reserveQuota reserves n bytes of the quota in this process until `end` is called.
func (l *tenantLog) reserveQuota(n int64) (end func()) {
	l.reserved.Add(n)
	return sync.OnceFunc(func() { l.reserved.Add(-n) })
}

// errTight wraps ErrQuota if a recount of the stored indexes may find enough room.
var errTight = fmt.Errorf("%w", ErrQuota)

// withinQuota calls f, after a recount of the stored indexes if none has succeeded.
// If f returns errTight, it recounts and calls f again, because the recorded sum
// may be too large.
func (s *Store) withinQuota(ctx context.Context, tenant string, f func(recounted bool) error) error {
	if s.o.Quota(tenant) == 0 || s.o.Indexes == nil {
		return f(false)
	}
	if s.log(tenant).counted.Load() {
		if err := f(false); !errors.Is(err, errTight) {
			return err
		}
	}
	if err := s.recount(ctx, tenant); err != nil {
		return err
	}
	return f(true)
}

// A recounting limits the recounts of a tenant, because any of the tenant's tokens
// can cause a recount by a small request. Waiting uploads share the next recount.
type recounting struct {
	turn chan struct{} // has capacity 1 and is a lock for the other fields
	from time.Time     // start of the last successful recount
	rest time.Time     // earliest start of the next recount
}

// recount counts a tenant's stored indexes and records the sum. If another process
// adds an entry meanwhile, recount counts again.
func (s *Store) recount(ctx context.Context, tenant string) error {
	l, asked := s.log(tenant), time.Now()
	c := &l.recounts
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return fmt.Errorf("counting stored data: %w", ctx.Err())
	}
	if c.from.After(asked) {
		return nil
	}
	if err := parallel.Sleep(ctx, time.Until(c.rest)); err != nil {
		return fmt.Errorf("counting stored data: %w", err)
	}
	start := time.Now()
	err := s.commit(ctx, tenant, func(st *state) (*event, error) {
		n, err := s.o.Indexes(ctx, tenant)
		if err != nil || st.Indexes != nil && *st.Indexes == n {
			return nil, err
		}
		return &event{Indexes: &n}, nil
	})
	c.rest = time.Now().Add(min(4*time.Since(start), time.Minute))
	if err == nil {
		c.from = start
		l.counted.Store(true)
	}
	return err
}

// Recount makes the next upload of each tenant count the stored indexes again,
// because a process may have been killed before it recorded a segment.
func (s *Store) Recount() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.logs {
		l.counted.Store(false)
	}
}

// checkFits fails if the quota has no room for a version besides the bytes reserved
// for running uploads. A damaged blob always fits, because its object is replaced.
func (s *Store) checkFits(r Ref, st *state, v *version, reserved int64) error {
	if now := st.live(r.Album, r.Name); now != nil && now.SHA256 == v.SHA256 {
		return nil
	}
	var err error
	if st.versions >= maxVersions {
		err = fmt.Errorf("%w: %w: %d blobs are stored, deleted ones included", cpar.ErrInput, ErrQuota, st.versions)
	} else if err = s.checkRoom(r.Tenant, st, v.Bytes+blobBytes, reserved); err == nil {
		return nil
	}
	return hint.Add(r.fail("%w", err), "delete what is no longer needed, and ask the cloud's operator: deleted blobs count until they are purged")
}

// checkRoom fails if the quota has no room for n more bytes.
func (s *Store) checkRoom(tenant string, st *state, n, reserved int64) error {
	limit, taken := s.o.Quota(tenant), st.charged+reserved+max(st.Log-int64(freeEntries+st.versions)*blobBytes, 0)
	switch {
	case limit == 0:
		return nil
	case st.Indexes != nil:
		taken += *st.Indexes
	case s.o.Indexes != nil: // another process has replaced the log
		s.log(tenant).counted.Store(false)
		return fmt.Errorf("%w: %w", cpar.ErrStorage, ErrBusy)
	}
	if n <= limit-taken {
		return nil
	}
	kind := ErrQuota
	if st.Indexes != nil && n <= limit-taken+*st.Indexes {
		kind = errTight
	}
	return fmt.Errorf("%w: %w: %d more bytes do not fit; %d of %d are taken, and each file counts %d extra", cpar.ErrInput, kind, n, taken, limit, blobBytes)
}
