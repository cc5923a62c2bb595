package album

import (
	"context"
	"errors"
	"fmt"
	"time"
)

type Collection struct {
	Blobs   int // deleted blobs that were purged
	Uploads int // objects that no entry of the log names
	Bytes   int64
}

// Collect purges (removes for good) a tenant's blobs that were deleted before
// time deleted. It also removes objects that were stored before time unnamed but
// never committed. With dry it only counts. It joins the errors of removals.
func (s *Store) Collect(ctx context.Context, tenant string, deleted, unnamed time.Time, dry bool) (Collection, error) {
	c := Collection{}
	purged, err := s.purge(ctx, tenant, deleted, dry, &c)
	for _, o := range purged {
		// No later entry names o again. If its removal fails, a later sweep
		// removes it.
		err = errors.Join(err, s.objects.Delete(ctx, tenant, o))
	}
	if err == nil {
		err = s.sweep(ctx, tenant, unnamed, dry, &c)
	}
	if err == nil && !dry {
		err = s.trim(ctx, tenant)
	}
	return c, err
}

// purge removes from the state the blobs that were deleted before a time, and
// returns the names of their objects.
func (s *Store) purge(ctx context.Context, tenant string, deleted time.Time, dry bool, c *Collection) (old []string, err error) {
	err = s.commit(ctx, tenant, func(st *state) (*event, error) {
		*c, old = Collection{}, nil
		st.all(func(album string, b *blob, v *version) {
			if !v.live() && v.deleted().Before(deleted) {
				old = append(old, v.object(album, b.Name))
				c.Blobs++
				c.Bytes += v.Bytes
			}
		})
		if dry || old == nil {
			return nil, nil
		}
		return &event{Purge: old}, nil
	})
	if err != nil || dry {
		return nil, err
	}
	return old, nil
}

// sweep removes objects of interrupted uploads. It first adds an entry that
// refuses the commit of every upload that began no later than the newest of
// these. If a wrong clock makes a running upload look old, the client must
// therefore repeat the upload, but no committed blob is lost.
func (s *Store) sweep(ctx context.Context, tenant string, unnamed time.Time, dry bool, c *Collection) error {
	named, err := s.named(ctx, tenant)
	if err != nil {
		return err
	}
	var old []Object
	for o, err := range s.objects.List(ctx, tenant, "") {
		if err != nil {
			return fmt.Errorf("listing blobs: %w", err)
		}
		if _, ok := began(o.Name); ok && !named[o.Name] && o.Modified.Before(unnamed) {
			old = append(old, o)
		}
	}
	if len(old) == 0 {
		return nil
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
		if named, err = s.named(ctx, tenant); err != nil {
			return err
		}
	}
	for _, o := range old {
		if named[o.Name] {
			continue
		}
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

// named returns the names of a tenant's committed objects.
func (s *Store) named(ctx context.Context, tenant string) (map[string]bool, error) {
	named := map[string]bool{}
	err := s.read(ctx, tenant, func(st *state) error {
		st.all(func(album string, b *blob, v *version) { named[v.object(album, b.Name)] = true })
		return nil
	})
	return named, err
}

// trim removes entries that are older than keptFor and more than keptEntries
// before the newest entry with a state.
func (s *Store) trim(ctx context.Context, tenant string) error {
	list, last, err := s.log(tenant).entries(ctx)
	if err != nil {
		return err
	}
	before := time.Now().Add(-keptFor)
	for _, o := range list {
		if n, _ := entrySeq(o.Name); n+keptEntries >= last/snapshotEvery*snapshotEvery || !o.Modified.Before(before) {
			return nil
		}
		if err := s.objects.Delete(ctx, tenant, o.Name); err != nil {
			return err
		}
	}
	return nil
}
