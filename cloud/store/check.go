package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"

	"cpar"
	"cpar/cloud/album"
	"cpar/internal/indexdir"
)

// CheckIndex reads an active index and returns the first fault.
func CheckIndex(ctx context.Context, b Backend, k IndexRef, pace album.Pace) error {
	m, err := readManifest(ctx, b, k)
	if err != nil {
		return err
	}
	for _, seg := range m.Segments {
		if err := checkSegment(ctx, b, k, seg, pace); err != nil {
			return err
		}
	}
	return nil
}

type segmentFault struct {
	cpar.Segment
	err error
}

func (f *segmentFault) Error() string {
	return fmt.Sprintf("segment %v %.8v…: %v", f.Kind, f.Digest, f.err)
}
func (f *segmentFault) Unwrap() error { return f.err }

func checkSegment(ctx context.Context, b Backend, k IndexRef, seg cpar.Segment, pace album.Pace) error {
	size, err := verify(ctx, b, k, seg.Digest, pace)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %w", cpar.ErrCorrupt, indexdir.ErrMissing)
	}
	if err == nil && uint64(size) != seg.Bytes {
		err = fmt.Errorf("%w: %w", cpar.ErrCorrupt, indexdir.ErrSize)
	}
	if err != nil {
		return &segmentFault{seg, err}
	}
	return nil
}

// Check reads all indexes of a backend and calls `report` for each index. The
// backend may be in use.
func Check(ctx context.Context, b Backend, report func(Info), progress func(done, total int)) error {
	keys, err := AllKeys(ctx, b)
	if err != nil {
		return err
	}
	for i, k := range keys {
		if progress != nil {
			progress(i, len(keys))
		}
		f, err := checkOne(ctx, b, k)
		if err != nil {
			return fmt.Errorf("checking index %v: %w", k.Index, err)
		}
		if f != nil {
			report(*f)
		}
	}
	return checkAlbums(ctx, b, album.New(b.Albums(), album.Options{}), false, nil, report)
}

// checkAlbums reads the albums of all tenants and reports each album, with its
// first fault if it has one.
func checkAlbums(ctx context.Context, b Backend, albums *album.Store, mark bool, pace album.Pace, report func(Info)) error {
	tenants, err := b.Tenants(ctx)
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		leave := albums.Visit(tenant)
		first := map[string]error{}
		e := albums.Check(ctx, tenant, mark, pace, func(f album.Fault) {
			if first[f.Album] == nil {
				first[f.Album] = fmt.Errorf("%w: blob %s: %w", cpar.ErrCorrupt, f.Name, f.Err)
			}
		})
		var list []album.Info
		if e == nil {
			list, e = albums.Albums(ctx, tenant)
		}
		leave()
		switch {
		case errors.Is(e, album.ErrDamaged), errors.Is(e, syscall.EIO):
			report(Info{Tenant: tenant, Album: "log", Err: e})
		case e != nil:
			err = errors.Join(err, fmt.Errorf("checking albums: %w", e))
		}
		for _, x := range list {
			report(Info{Tenant: tenant, Album: x.Album, Records: uint32(x.Blobs), Bytes: uint64(x.Bytes + x.DeletedBytes), Err: first[x.Album]})
		}
	}
	return err
}

func checkOne(ctx context.Context, b Backend, k IndexRef) (*Info, error) {
	for {
		f := &Info{Tenant: k.Tenant, ID: k.Index}
		before, err := b.Manifest(ctx, k)
		if errors.Is(err, ErrNotFound) {
			x, err := pendingInfo(ctx, b, k)
			if err != nil || x.Bytes == 0 {
				return nil, err
			}
			return &x, nil
		}
		if m, err := cpar.DecodeManifest(before); err == nil {
			f.Scheme, f.Records, f.Bytes = m.Scheme, m.Records, m.Bytes()
		}
		if f.Err = CheckIndex(ctx, b, k, nil); f.Err == nil {
			return f, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// If a newer generation is active now, check again.
		if now, err := b.Manifest(ctx, k); err != nil || bytes.Equal(before, now) {
			return f, nil
		}
	}
}
