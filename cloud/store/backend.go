package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/internal/indexdir"
)

// A Backend stores immutable segments, named by digest, and the active manifest
// of each index. It is safe for concurrent use.
//
// Errors wrap ErrNotFound (no such index or segment), cpar.ErrCorrupt (bytes
// that do not match their name) or cpar.ErrStorage.
type Backend interface {
	// Tenants lists all tenants with data, and "" for indexes without a tenant.
	Tenants(ctx context.Context) ([]string, error)
	// Keys lists a tenant's indexes in order, including pending uploads.
	Keys(ctx context.Context, tenant string) ([]IndexRef, error)
	// Manifest returns the bytes of the active manifest without checking them.
	Manifest(ctx context.Context, k IndexRef) ([]byte, error)
	// Segments lists the complete segments of an index, whether or not they are
	// in the active manifest.
	Segments(ctx context.Context, k IndexRef) ([]Stored, error)
	// Read opens a segment and returns its size. The caller checks the bytes.
	Read(ctx context.Context, k IndexRef, d cpar.Digest) (io.ReadCloser, int64, error)
	// Put stores a segment of `size` bytes (−1 if unknown) atomically and
	// checks its digest. It replaces an existing segment. On failure it stores
	// nothing.
	Put(ctx context.Context, k IndexRef, d cpar.Digest, size int64, r io.Reader) error
	// Activate makes m the active manifest in one atomic, durable step if all
	// its segments are stored. Otherwise the error wraps indexdir.ErrMissing or
	// ErrSize. Other segments are removed now or later.
	Activate(ctx context.Context, k IndexRef, m *cpar.Manifest) error
	// Remove removes these segments unless they are in the active manifest. It
	// also removes the empty folders of an index without segments.
	Remove(ctx context.Context, k IndexRef, digests ...cpar.Digest) error
	// Delete removes an index. Readers see either all of it or none.
	Delete(ctx context.Context, k IndexRef) error
	// Sweep removes the remains of writes and deletions that were interrupted
	// before the given time. If `dry` is set, it only counts them.
	Sweep(ctx context.Context, before time.Time, dry bool) (Swept, error)
	// Open reads the segments in manifest m, which need not be active, and
	// checks every digest. A fault wraps an error of package indexdir.
	Open(ctx context.Context, k IndexRef, m *cpar.Manifest, memory indexdir.Memory, log *slog.Logger) (*indexdir.Index, error)
	// Albums returns the storage of all tenants' albums.
	Albums() album.Objects
	Close() error
}

type Stored struct {
	Digest   cpar.Digest
	Bytes    int64
	Modified time.Time
}

type Swept struct {
	Files int
	Bytes int64
}

func isFault(err error) bool {
	faults := []error{indexdir.ErrMissing, indexdir.ErrSize, indexdir.ErrDigest, indexdir.ErrNotFile}
	return slices.ContainsFunc(faults, func(fault error) bool { return errors.Is(err, fault) })
}

// verify reads a stored segment and returns its size.
func verify(ctx context.Context, b Backend, k IndexRef, d cpar.Digest, pace album.Pace) (int64, error) {
	r, size, err := b.Read(ctx, k, d)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	sum, err := album.Digest(ctx, r, size, pace)
	if err == nil && sum != d {
		err = fmt.Errorf("%w: %w", cpar.ErrCorrupt, indexdir.ErrDigest)
	}
	if err != nil {
		return 0, err
	}
	return size, nil
}
