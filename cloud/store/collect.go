package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cpar"
)

type Collection struct {
	Segments  int   // removed segments
	Indexes   int   // indexes with removed segments
	Abandoned int   // indexes that were never activated and are now empty
	Bytes     int64 // size of the removed segments
	Remains   Swept // removed data of interrupted writes and deletions
}

// Collect removes segments that are not in an active manifest and were stored
// before the time unnamed. It also removes data of writes that were interrupted
// before the time broken. If dry is set, it only counts. The backend may be in
// use. Collect continues after errors and joins them.
func Collect(ctx context.Context, b Backend, unnamed, broken time.Time, dry bool, progress func(done, total int)) (Collection, error) {
	var c Collection
	remains, err := b.Sweep(ctx, broken, dry)
	c.Remains = remains
	faults := []error{err}
	keys, err := AllKeys(ctx, b)
	faults = append(faults, err)
	for i, k := range keys {
		if err := ctx.Err(); err != nil {
			faults = append(faults, err)
			break
		}
		if err := c.index(ctx, b, k, unnamed, dry); err != nil {
			faults = append(faults, fmt.Errorf("collecting index %v: %w", k.Index, err))
		}
		if progress != nil {
			progress(i+1, len(keys))
		}
	}
	return c, errors.Join(faults...)
}

func (c *Collection) index(ctx context.Context, b Backend, k IndexRef, unnamed time.Time, dry bool) error {
	m, err := readManifest(ctx, b, k)
	switch {
	case errors.Is(err, cpar.ErrCorrupt), errors.Is(err, cpar.ErrVersion):
		return nil // a check reports the damage, and a push repairs it
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	}
	named := digestsOf(m)
	list, err := b.Segments(ctx, k)
	if err != nil {
		return err
	}
	var old []cpar.Digest
	bytes, left := int64(0), len(list)
	for _, s := range list {
		if !named[s.Digest] && s.Modified.Before(unnamed) {
			old = append(old, s.Digest)
			bytes += s.Bytes
			left--
		}
	}
	abandoned := m == nil && left == 0
	if len(old) == 0 && !abandoned {
		return nil
	}
	if !dry {
		if err := b.Remove(ctx, k, old...); err != nil {
			return err
		}
	}
	c.Indexes++
	c.Segments += len(old)
	c.Bytes += bytes
	if abandoned {
		c.Abandoned++
	}
	return nil
}

func digestsOf(m *cpar.Manifest) map[cpar.Digest]bool {
	named := map[cpar.Digest]bool{}
	if m != nil {
		for _, s := range m.Segments {
			named[s.Digest] = true
		}
	}
	return named
}

// AllKeys lists the indexes of all tenants. It continues after errors and joins
// them.
func AllKeys(ctx context.Context, b Backend) ([]IndexRef, error) {
	tenants, err := b.Tenants(ctx)
	faults := []error{err}
	var all []IndexRef
	for _, tenant := range tenants {
		keys, err := b.Keys(ctx, tenant)
		faults, all = append(faults, err), append(all, keys...)
	}
	return all, errors.Join(faults...)
}
