package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"cpar"
	"cpar/cloud/album"
)

type CopyOptions = album.CopyOptions

type Copied struct {
	Indexes     int   // indexes that both backends now have
	Segments    int   // copied segments
	Bytes       int64 // bytes of copied segments and blobs
	Kept        int64 // bytes already present
	Pruned      int   // indexes deleted at the destination
	Blobs       int   // copied blobs of albums
	States      int   // tenants whose album state was replaced
	PrunedBlobs int   // blobs deleted at the destination
	// Damaged lists indexes and albums that could not be copied completely.
	Damaged []Info
}

// Copy copies one generation (version) of each active index, and all albums. A
// server may use backend `from` meanwhile. Copy skips existing segments and checks
// every digest.
func Copy(ctx context.Context, from, to Backend, o CopyOptions) (Copied, error) {
	c := copying{CopyOptions: o, from: from, to: to}
	keys, err := AllKeys(ctx, from)
	if err != nil {
		return c.Copied, err
	}
	for i, k := range keys {
		if err := c.index(ctx, k); err != nil {
			return c.Copied, fmt.Errorf("copying index %v: %w", k.Index, err)
		}
		if o.Progress != nil {
			o.Progress(i+1, len(keys))
		}
	}
	if o.Prune && to != nil {
		err = c.prune(ctx)
	}
	if err == nil {
		err = c.albums(ctx)
	}
	return c.Copied, err
}

// albums copies the albums of all tenants of both backends. With Prune, albums of
// tenants that only the destination has are deleted.
func (c *copying) albums(ctx context.Context) error {
	tenants, err := c.from.Tenants(ctx)
	var to album.Objects
	if c.to != nil {
		there, e := c.to.Tenants(ctx)
		err = errors.Join(err, e)
		tenants = slices.Compact(slices.Sorted(slices.Values(slices.Concat(tenants, there))))
		to = c.to.Albums()
	}
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		done, err := album.Copy(ctx, c.from.Albums(), to, tenant, c.CopyOptions)
		if errors.Is(err, cpar.ErrCorrupt) {
			c.Damaged = append(c.Damaged, Info{Tenant: tenant, Album: "log", Err: err})
			continue
		}
		if err != nil {
			return fmt.Errorf("copying albums: %w", err)
		}
		c.Blobs += done.Blobs
		c.Bytes += done.Bytes
		c.Kept += done.Kept
		c.PrunedBlobs += done.Pruned
		c.States += done.States
		for _, f := range done.Damaged {
			c.Damaged = append(c.Damaged, Info{Tenant: tenant, Album: f.Album, Err: fmt.Errorf("%w: blob %s: %w", cpar.ErrCorrupt, f.Name, f.Err)})
		}
	}
	return nil
}

type copying struct {
	CopyOptions
	Copied
	from, to Backend
}

func (c *copying) index(ctx context.Context, k IndexRef) error {
	if c.Lacking {
		m, err := readManifest(ctx, c.to, k)
		if err == nil {
			c.Indexes++
			c.Kept += int64(m.Bytes())
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	for {
		b, err := c.from.Manifest(ctx, k)
		if errors.Is(err, ErrNotFound) {
			return nil // never activated, or deleted meanwhile
		}
		if err = album.Unreadable(err); err == nil {
			err = c.state(ctx, k)
		}
		if err == nil {
			c.Indexes++
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// If a newer generation is active now, copy it instead.
		now, err2 := c.from.Manifest(ctx, k)
		if errors.Is(err2, ErrNotFound) || err2 == nil && !bytes.Equal(b, now) {
			continue
		}
		if !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, ErrNotFound) {
			return err
		}
		c.Damaged = append(c.Damaged, Info{Tenant: k.Tenant, ID: k.Index, Err: err})
		return nil
	}
}

func (c *copying) state(ctx context.Context, k IndexRef) error {
	m, err := readManifest(ctx, c.from, k)
	if err != nil {
		return album.Unreadable(err)
	}
	there := map[cpar.Digest]int64{}
	var active *cpar.Manifest
	if c.to != nil {
		list, err := c.to.Segments(ctx, k)
		if err != nil {
			return err
		}
		for _, x := range list {
			there[x.Digest] = x.Bytes
		}
		active, _ = readManifest(ctx, c.to, k) // nil if damaged, so that a copy replaces it
	}
	for _, seg := range m.Segments {
		size, ok := there[seg.Digest]
		if ok = ok && uint64(size) == seg.Bytes; ok && c.Verify {
			ok = checkSegment(ctx, c.to, k, seg, nil) == nil
		}
		if ok {
			c.Kept += size
			continue
		}
		if err := c.segment(ctx, k, seg); err != nil {
			return fmt.Errorf("segment %v %.8v…: %w", seg.Kind, seg.Digest, err)
		}
		there[seg.Digest] = int64(seg.Bytes)
		c.Segments++
		c.Bytes += int64(seg.Bytes)
	}
	if c.DryRun || active != nil && same(active, m) {
		return nil
	}
	return c.to.Activate(ctx, k, m)
}

func same(a, b *cpar.Manifest) bool {
	x, err1 := a.MarshalBinary()
	y, err2 := b.MarshalBinary()
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func (c *copying) segment(ctx context.Context, k IndexRef, seg cpar.Segment) error {
	if c.DryRun {
		return nil
	}
	r, _, err := c.from.Read(ctx, k, seg.Digest)
	if err != nil {
		return album.Unreadable(err)
	}
	defer r.Close()
	return c.to.Put(ctx, k, seg.Digest, int64(seg.Bytes), album.Source{Context: ctx, Reader: r})
}

func (c *copying) prune(ctx context.Context) error {
	keys, err := AllKeys(ctx, c.to)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if _, err := c.from.Manifest(ctx, k); !errors.Is(err, ErrNotFound) {
			continue
		}
		if !c.DryRun {
			if err := c.to.Delete(ctx, k); err != nil {
				return fmt.Errorf("deleting index %v: %w", k.Index, err)
			}
		}
		c.Pruned++
	}
	return nil
}
