package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"cpar"
	"cpar/internal/indexdir"
)

// A Backend is where the bytes of indexes lie: segments, immutable and named by their
// digests, and for each index the manifest that is active. Everything that a client may
// repeat may be repeated here. It is safe for concurrent use.
//
// Errors wrap ErrNotFound (no such index or segment), cpar.ErrCorrupt (bytes that are not
// what they are named) or cpar.ErrStorage.
type Backend interface {
	// Tenants lists all that have stored anything, and "".
	Tenants(ctx context.Context) ([]string, error)
	// Keys lists a tenant's indexes of which anything is stored, pending uploads too, in order.
	Keys(ctx context.Context, tenant string) ([]IndexRef, error)
	// Manifest returns the bytes of the active manifest, unchecked.
	Manifest(ctx context.Context, k IndexRef) ([]byte, error)
	// Segments lists what is stored whole of an index, whether its manifest names it or
	// not. Of no index it is nothing.
	Segments(ctx context.Context, k IndexRef) ([]Stored, error)
	// Read opens a segment from its start and returns its size. The caller checks what it reads.
	Read(ctx context.Context, k IndexRef, d cpar.Digest) (io.ReadCloser, int64, error)
	// Put stores a segment of size bytes (-1 if unknown) whole or not at all, and checks
	// its digest. It replaces one that is there. Failing, it leaves nothing.
	Put(ctx context.Context, k IndexRef, d cpar.Digest, size int64, r io.Reader) error
	// Activate makes m the active manifest in one atomic and durable step, if every segment
	// that it names is stored; else the error wraps indexdir.ErrMissing or ErrSize. Segments
	// that it does not name go now or later.
	Activate(ctx context.Context, k IndexRef, m *cpar.Manifest) error
	// Remove removes segments, but not those that the active manifest names at that moment.
	// With no digest it removes what else an index without segments takes.
	Remove(ctx context.Context, k IndexRef, digests ...cpar.Digest) error
	// Delete removes an index, atomically for readers.
	Delete(ctx context.Context, k IndexRef) error
	// Sweep removes what broken-off writes and deletions before the given time left, or
	// with dry only counts it.
	Sweep(ctx context.Context, before time.Time, dry bool) (Swept, error)
	// Open reads the segments that m names, whether or not it is active, checks every
	// digest and returns them mapped or copied. A fault wraps one of package indexdir's.
	Open(ctx context.Context, k IndexRef, m *cpar.Manifest, memory indexdir.Memory, log *slog.Logger) (*indexdir.Index, error)
	Close() error
}

// A Stored is a segment that is stored whole.
type Stored struct {
	Digest   cpar.Digest
	Bytes    int64
	Modified time.Time
}

// Swept counts what a sweep removed, or would.
type Swept struct {
	Files int
	Bytes int64
}

// isFault reports whether err is one of a stored segment.
func isFault(err error) bool {
	for _, fault := range []error{indexdir.ErrMissing, indexdir.ErrSize, indexdir.ErrDigest, indexdir.ErrNotFile} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// verify reads every byte of a stored segment and returns its size. pace, if not nil, is
// called before each piece is read, with its length at most.
func verify(ctx context.Context, b Backend, k IndexRef, d cpar.Digest, pace func(context.Context, int) error) (int64, error) {
	r, size, err := b.Read(ctx, k, d)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	h := sha256.New()
	buf := make([]byte, 256<<10)
	for read := int64(0); err == nil; {
		if pace != nil {
			err = pace(ctx, int(min(int64(len(buf)), max(size-read, 1))))
		} else {
			err = ctx.Err()
		}
		if err != nil {
			return 0, fmt.Errorf("verifying: %w", err)
		}
		var n int
		n, err = r.Read(buf)
		h.Write(buf[:n])
		read += int64(n)
	}
	if err != io.EOF {
		return 0, fmt.Errorf("verifying: %w: %w", cpar.ErrStorage, err)
	}
	if cpar.Digest(h.Sum(nil)) != d {
		return 0, fmt.Errorf("%w: %w", cpar.ErrCorrupt, indexdir.ErrDigest)
	}
	return size, nil
}
