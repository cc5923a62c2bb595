package album

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

type Collection struct {
	Blobs   int // deleted blobs that were purged
	Uploads int // objects that no entry of the log names
	Bytes   int64
}

// Collect purges (permanently removes) a tenant's blobs that were deleted before
// time `deleted`. It also removes objects that were stored before time `unnamed`
// but never committed. With `dry`, it only counts.
func (s *Store) Collect(ctx context.Context, tenant string, deleted, unnamed time.Time, dry bool) (Collection, error) {
	c := Collection{}
	err := s.purge(ctx, tenant, deleted, dry, &c)
	if err == nil {
		err = s.sweep(ctx, tenant, unnamed, dry, &c)
	}
	if err == nil && !dry {
		err = s.trim(ctx, tenant)
	}
	return c, err
}

// purge removes blobs that were deleted before time `deleted`, pageSize per entry.
// It removes them from the state first. If the removal of an object fails, purge
// goes on, and a later sweep repeats the removal. purge joins the errors.
func (s *Store) purge(ctx context.Context, tenant string, deleted time.Time, dry bool, c *Collection) (err error) {
	for {
		var old []string
		var some Collection
		e := s.commit(ctx, tenant, func(st *state) (*event, error) {
			old, some = nil, Collection{}
			st.all(func(album string, b *blob, v *version) {
				if v.live() || !v.deleted().Before(deleted) || len(old) == pageSize {
					return
				}
				if some.Blobs++; !dry {
					old = append(old, v.object(album, b.Name))
				}
				some.Bytes += v.Bytes
			})
			if len(old) == 0 {
				return nil, nil
			}
			return &event{Purge: old}, nil
		})
		if e != nil {
			return errors.Join(err, e)
		}
		c.Blobs += some.Blobs
		c.Bytes += some.Bytes
		for _, o := range old {
			err = errors.Join(err, s.objects.Delete(ctx, tenant, o))
		}
		if len(old) == 0 {
			return err
		}
	}
}

// sweep removes objects of interrupted uploads. It first adds an entry that
// forbids committing these uploads and all older ones. If a wrong clock makes a
// running upload look old, the client must therefore repeat it, but no committed
// blob is lost.
func (s *Store) sweep(ctx context.Context, tenant string, unnamed time.Time, dry bool, c *Collection) error {
	var old, page []Object
	for o, err := range s.objects.List(ctx, tenant, "") {
		if err != nil {
			return fmt.Errorf("listing blobs: %w", err)
		}
		if _, ok := began(o.Name); ok && o.Modified.Before(unnamed) {
			page = append(page, o)
		}
		if len(page) == pageSize {
			if page, err = s.unnamed(ctx, tenant, page); err != nil {
				return err
			}
			old, page = append(old, page...), nil
		}
	}
	page, err := s.unnamed(ctx, tenant, page)
	if old = append(old, page...); err != nil || len(old) == 0 {
		return err
	}
	if !dry {
		if err = s.commit(ctx, tenant, func(st *state) (*event, error) {
			until := uint64(0)
			for _, o := range old {
				// A larger number comes from the log of another storage, whose
				// copy into this storage has not ended.
				if n, _ := began(o.Name); n <= st.seq {
					until = max(until, n+1)
				}
			}
			if st.Swept >= until {
				return nil, nil
			}
			return &event{Sweep: until}, nil
		}); err != nil {
			return err
		}
		// Uploads may have been committed since the first call.
		if old, err = s.unnamed(ctx, tenant, old); err != nil {
			return err
		}
	}
	for _, o := range old {
		if !dry {
			if err := s.objects.Delete(ctx, tenant, o.Name); err != nil {
				return err
			}
		}
		c.Uploads++
		c.Bytes += o.Bytes
	}
	return nil
}

// unnamed returns the uncommitted objects of a tenant.
func (s *Store) unnamed(ctx context.Context, tenant string, list []Object) ([]Object, error) {
	if len(list) == 0 {
		return nil, nil
	}
	err := s.read(ctx, tenant, func(st *state) error {
		list = slices.DeleteFunc(list, func(o Object) bool { return st.hasObject(o.Name) })
		return nil
	})
	return list, err
}

// trim removes entries that are older than keptFor and more than keptEntries
// before the newest entry with a state. Then it corrects state.Log, the size of
// the remaining entries.
func (s *Store) trim(ctx context.Context, tenant string) error {
	list, last, err := s.log(tenant).entries(ctx)
	if err != nil {
		return err
	}
	before := time.Now().Add(-keptFor)
	for ; len(list) > 0; list = list[1:] {
		if n, _ := entrySeq(list[0].Name); n+keptEntries >= last/snapshotEvery*snapshotEvery || !list[0].Modified.Before(before) {
			break
		}
		if err := s.objects.Delete(ctx, tenant, list[0].Name); err != nil {
			return err
		}
	}
	left := int64(0)
	for _, o := range list {
		left += o.Bytes + blobBytes
	}
	return s.commit(ctx, tenant, func(st *state) (*event, error) {
		if d := st.Log - left; max(d, -d) < snapshotEvery*blobBytes {
			return nil, nil // a small difference needs no entry
		}
		return &event{Log: &left}, nil
	})
}
