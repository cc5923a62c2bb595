package album

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"cpar"
)

// Replaceable lists the only blobs that may be replaced, because kopia (the
// backup program whose format albums use) overwrites them.
var Replaceable = []string{"kopia.blobcfg", "kopia.maintenance", "kopia.repository"}

// Put stores a blob of `size` bytes with digest `sum`. If `old` is nil, Put requires
// that no other blob has the name. Otherwise it replaces the blob with digest
// `old`. Result created is false if the same blob is stored already. Put then does
// not read body, unless a concurrent upload stores the blob first.
func (s *Store) Put(ctx context.Context, r Ref, size int64, sum cpar.Digest, old *cpar.Digest, body io.Reader) (created bool, err error) {
	if err := r.Check(); err != nil {
		return false, err
	}
	if old != nil && !slices.Contains(Replaceable, r.Name) {
		return false, r.fail("%w: only a few blobs may be replaced, and this is none of them", cpar.ErrInput)
	}
	v := &version{SHA256: sum, Bytes: size}
	var end func()
	var there bool
	if err := s.withinQuota(ctx, r.Tenant, func(bool) (err error) {
		end, there, err = s.begin(ctx, r, v, old)
		return err
	}); err != nil || there {
		return false, err
	}
	defer end()
	// Count the stored object even if the client disconnects.
	ctx = context.WithoutCancel(ctx)
	object := v.object(r.Album, r.Name)
	if err := s.objects.Put(ctx, r.Tenant, object, size, sum, body); err != nil {
		return false, err
	}
	refused := false
	commit := func(st *state) (*event, error) {
		refused = true
		n, _ := began(object)
		if there, err = st.checkPut(r, v, old); there || err != nil {
			if now := st.live(r.Album, r.Name); now != nil && now.Key == v.Key {
				refused = false // Rebuild has added this object to the state
			}
			return nil, err
		}
		if n < st.Swept {
			return nil, fmt.Errorf("%w: %w: a collection overtook the upload", cpar.ErrStorage, ErrBusy)
		}
		if err := s.checkFits(r, st, v, 0); err != nil {
			return nil, err
		}
		refused = false
		end() // the state counts the blob once the entry is written
		return &event{Album: r.Album, Name: r.Name, Put: v}, nil
	}
	err = s.withinQuota(ctx, r.Tenant, func(bool) error { return s.commit(ctx, r.Tenant, commit) })
	if refused {
		// After any other failure, keep the object, because the entry that names
		// it may have been written.
		_ = s.objects.Delete(ctx, r.Tenant, object)
	}
	return err == nil && !there, err
}

// begin checks whether a blob may be stored. If so, it draws the object's key and
// reserves its bytes until the caller calls end. Result `there` reports whether the
// same blob is stored already.
func (s *Store) begin(ctx context.Context, r Ref, v *version, old *cpar.Digest) (end func(), there bool, err error) {
	l := s.log(r.Tenant)
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := l.refresh(ctx); err != nil {
		return nil, false, err
	}
	if there, err = l.state.checkPut(r, v, old); there || err != nil {
		return nil, there, err
	}
	if err := s.checkFits(r, l.state, v, l.reserved.Load()); err != nil {
		return nil, false, err
	}
	v.Key = newKey(l.state.seq)
	return l.reserveQuota(v.Bytes + blobBytes), false, nil
}

// checkPut checks the condition of Put. Result `there` is as in begin.
func (st *state) checkPut(r Ref, v *version, old *cpar.Digest) (there bool, err error) {
	now := st.live(r.Album, r.Name)
	switch {
	case now != nil && now.SHA256 == v.SHA256:
		return !now.Bad, nil // a damaged blob is stored again
	case old == nil && now != nil:
		return false, r.fail("%w: %w", cpar.ErrInput, ErrExists)
	case old != nil && (now == nil || now.SHA256 != *old):
		return false, r.fail("%w: %w", cpar.ErrInput, ErrChanged)
	}
	return false, nil
}

// fresh is the time for which lookup trusts the state in memory. Meanwhile, reads
// may miss another process's deletion. For a blob that is unknown or replaceable,
// lookup always reads the log.
var fresh = 2 * time.Second

// lookup returns a copy of a blob's live version (the one not deleted).
func (s *Store) lookup(ctx context.Context, r Ref) (*version, error) {
	l := s.log(r.Tenant)
	var v version
	found := false
	look := func(st *state) error {
		var now *version
		if st != nil {
			now = st.live(r.Album, r.Name)
		}
		if found = now != nil; found {
			v = *now
		}
		return nil
	}
	if !slices.Contains(Replaceable, r.Name) {
		l.view.RLock()
		if l.age() < fresh {
			_ = look(l.state)
		}
		l.view.RUnlock()
	}
	if !found {
		if err := s.read(ctx, r.Tenant, look); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, r.fail("%w: %w", cpar.ErrInput, ErrNotFound)
	}
	return &v, nil
}

func (v *version) blob(name string) Blob { return Blob{name, v.Bytes, v.SHA256, v.Put} }

func (s *Store) Stat(ctx context.Context, r Ref) (Blob, error) {
	v, err := s.lookup(ctx, r)
	if err != nil {
		return Blob{}, err
	}
	return v.blob(r.Name), nil
}

// Get opens a range of a blob. It calls function span with the blob's description to
// learn the range.
func (s *Store) Get(ctx context.Context, r Ref, span func(Blob) (offset, length int64, err error)) (Blob, io.ReadCloser, error) {
	v, err := s.lookup(ctx, r)
	if err != nil {
		return Blob{}, nil, err
	}
	if v.Bad {
		return Blob{}, nil, r.fail("%w: %w", cpar.ErrCorrupt, ErrDamaged)
	}
	offset, length, err := span(v.blob(r.Name))
	if err != nil {
		return Blob{}, nil, err
	}
	body, err := s.objects.Get(ctx, r.Tenant, v.object(r.Album, r.Name), offset, length)
	if errors.Is(err, ErrNotFound) {
		return Blob{}, nil, r.fail("%w: %w: its bytes are missing", cpar.ErrCorrupt, ErrDamaged)
	}
	return v.blob(r.Name), body, err
}

// List returns the first `limit` blobs whose names begin with prefix and sort
// after name `after`. Result more reports whether there are others.
func (s *Store) List(ctx context.Context, tenant, album, prefix, after string, limit int) (list []Blob, more bool, err error) {
	err = s.read(ctx, tenant, func(st *state) error {
		blobs := st.Albums[album]
		i, found := slices.BinarySearchFunc(blobs, max(after, prefix), byName)
		if found && after >= prefix && after != "" {
			i++
		}
		for _, b := range blobs[i:] {
			if !strings.HasPrefix(b.Name, prefix) {
				break
			}
			if v := b.live(); v != nil {
				if more = len(list) == limit; more {
					break
				}
				list = append(list, v.blob(b.Name))
			}
		}
		return nil
	})
	return list, more, err
}

// Delete deletes a blob, if it exists. Undelete can recover it until Collect
// purges it.
func (s *Store) Delete(ctx context.Context, r Ref) error {
	if err := r.Check(); err != nil {
		return err
	}
	return s.commit(ctx, r.Tenant, func(st *state) (*event, error) {
		if st.live(r.Album, r.Name) == nil {
			return nil, nil
		}
		return &event{Album: r.Album, Name: r.Name, Delete: true}, nil
	})
}

func (s *Store) Usage(ctx context.Context, tenant string) (u Usage, err error) {
	err = s.read(ctx, tenant, func(st *state) error {
		u = st.usage()
		return nil
	})
	return u, err
}

// Known returns the usage of each tenant that has albums and a state in memory.
func (s *Store) Known() map[string]Usage {
	s.mu.Lock()
	logs := maps.Clone(s.logs)
	s.mu.Unlock()
	all := map[string]Usage{}
	for tenant, l := range logs {
		l.view.RLock()
		if l.state != nil && len(l.state.Albums) > 0 {
			all[tenant] = l.state.usage()
		}
		l.view.RUnlock()
	}
	return all
}

type Info struct {
	Tenant string `json:"tenant,omitempty"`
	Album  string `json:"album"`
	Usage
}

// Albums describes the albums of a tenant, ordered by id.
func (s *Store) Albums(ctx context.Context, tenant string) (list []Info, err error) {
	err = s.read(ctx, tenant, func(st *state) error {
		st.all(func(album string, _ *blob, v *version) {
			if len(list) == 0 || list[len(list)-1].Album != album {
				list = append(list, Info{Tenant: tenant, Album: album, Usage: Usage{Albums: 1}})
			}
			list[len(list)-1].add(v)
		})
		return nil
	})
	return list, err
}
