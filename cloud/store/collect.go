package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cpar"
	"cpar/cloud/album"
)

type Collection struct {
	Segments  int   // removed segments
	Indexes   int   // indexes that lost segments or were removed
	Abandoned int   // removed indexes that were never activated
	Bytes     int64 // bytes of the removed segments
	// Remains counts removed files of interrupted writes and deletions.
	Remains Swept
	// Albums counts purged blobs and interrupted uploads of blobs.
	Albums album.Collection
}

// Before contains, for each kind of data, the time before which Collect removes
// it.
type Before struct {
	Deleted time.Time // for deleted blobs, the time of deletion
	Unnamed time.Time // for uploads that nothing names, the time of upload
	Broken  time.Time // for remains of interrupted writes, the time of writing
}

// Collect removes segments that no active manifest names, deleted blobs of
// albums, interrupted uploads of blobs, and remains of interrupted writes. If
// `dry` is set, it only counts. The backend may be in use. Collect joins errors.
func Collect(ctx context.Context, b Backend, before Before, dry bool, progress func(done, total int)) (Collection, error) {
	return collect(ctx, b, album.New(b.Albums(), album.Options{}), before, dry, progress)
}

func collect(ctx context.Context, b Backend, albums *album.Store, before Before, dry bool, progress func(done, total int)) (Collection, error) {
	var c Collection
	remains, err := b.Sweep(ctx, before.Broken, dry)
	c.Remains = remains
	faults := []error{err, c.albums(ctx, b, albums, before, dry)}
	keys, err := AllKeys(ctx, b)
	faults = append(faults, err)
	for i, k := range keys {
		if err := ctx.Err(); err != nil {
			faults = append(faults, err)
			break
		}
		if err := c.index(ctx, b, k, before.Unnamed, dry); err != nil {
			faults = append(faults, fmt.Errorf("collecting index %v: %w", k.Index, err))
		}
		if progress != nil {
			progress(i+1, len(keys))
		}
	}
	return c, errors.Join(faults...)
}

func (c *Collection) albums(ctx context.Context, b Backend, albums *album.Store, before Before, dry bool) error {
	tenants, err := b.Tenants(ctx)
	for _, tenant := range tenants {
		leave := albums.Visit(tenant)
		done, e := albums.Collect(ctx, tenant, before.Deleted, before.Unnamed, dry)
		leave()
		if errors.Is(e, cpar.ErrCorrupt) {
			continue // a check reports the damage
		}
		c.Albums.Blobs += done.Blobs
		c.Albums.Uploads += done.Uploads
		c.Albums.Bytes += done.Bytes
		err = errors.Join(err, e)
	}
	return err
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
