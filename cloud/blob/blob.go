// Package blob stores objects with a storage provider: S3 and compatible
// services, Azure, or Google.
//
//	Open("s3://bucket/prefix?endpoint=…") ─▶ Bucket
//	Put            name, bytes, SHA-256  atomic
//	PutIfAbsent    name, bytes           atomic, for commits by several processes
//	Get            name   ─▶ a stream that survives broken connections
//	List, Folders  prefix ─▶ names, page by page
//	Delete         name
//
// A driver sends each request to its provider once. This package adds retries,
// timeouts and counters. Every error wraps one of ErrNotFound, ErrExists,
// ErrAway and ErrRefused. Names consist of digits, letters and "/._-". The
// object under a name never changes, so a broken stream can continue where it
// ended.
package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/hint"
)

var (
	ErrNotFound = errors.New("no such object")
	// ErrExists means that another object has the name.
	ErrExists = errors.New("the object exists already")
	// ErrAway means that the storage is unreachable, overloaded or broken after
	// several attempts. Errors that wrap ErrAway also wrap cpar.ErrStorage.
	ErrAway = store.ErrAway
	// ErrRefused means that the storage refuses a request, for example because
	// of its credentials. Such errors also wrap cpar.ErrStorage.
	ErrRefused = errors.New("the object storage refuses")
)

type Object struct {
	Name     string
	Bytes    int64
	Modified time.Time
}

// A driver sends a request once. Its errors wrap an error of this package and
// never contain a credential or a signed address.
type driver interface {
	// get opens an object at offset `from`. The stream ends at offset `to`, or
	// at the object's end if `to` is 0. Result `size` is the size of the whole
	// object.
	get(ctx context.Context, name string, from, to int64) (body io.ReadCloser, size int64, err error)
	// put replaces an object. With `ifAbsent`, it fails with ErrExists if the
	// name is used.
	put(ctx context.Context, name string, body io.ReadSeeker, size int64, sum [sha256.Size]byte, ifAbsent bool) error
	// list returns a page of objects whose names start with `prefix`. If
	// `folders` is set, names are cut at the next '/' and occur once. Result
	// `next` is the token of the next page, or "" after the last page.
	list(ctx context.Context, prefix string, folders bool, token string) (page []Object, next string, err error)
	// remove deletes an object. If it is missing, remove returns nil or
	// ErrNotFound.
	remove(ctx context.Context, name string) error
}

// Options configures access to a storage. The zero value suits a server.
type Options struct {
	// Credential returns a named credential such as AWS_ACCESS_KEY_ID.
	Credential func(name string) string
	// Attempts is the number of failed attempts after which a request fails
	// with ErrAway. The default is 8, with pauses of about twelve seconds in
	// total.
	Attempts int
	// Silence bounds the time without progress during an attempt. The default
	// is 30 s.
	Silence time.Duration
	// Wait bounds the time without progress over all attempts. If it is 0, there
	// is no bound.
	Wait time.Duration
}

// A Bucket is a provider's bucket or container, or the objects in it whose names
// start with a prefix. It is safe for concurrent use.
type Bucket struct {
	driver driver
	prefix string // "" or ends in '/'
	o      Options
	away   atomic.Bool
	counts counts
}

type counts struct{ requests, retries, errors, in, out atomic.Int64 }

type Stats struct {
	Requests          int64 // attempts
	Retries           int64 // attempts that repeated a failed attempt
	Errors            int64 // requests that failed after all attempts
	BytesIn, BytesOut int64
	Away              bool // whether all attempts of the last request failed
}

func (b *Bucket) Stats() Stats {
	c := &b.counts
	return Stats{c.requests.Load(), c.retries.Load(), c.errors.Load(), c.in.Load(), c.out.Load(), b.away.Load()}
}

// Put stores an object of `size` bytes with digest `sum`. Readers see only
// complete objects. The storage checks the digest if the provider supports
// this.
func (b *Bucket) Put(ctx context.Context, name string, body io.ReaderAt, size int64, sum [sha256.Size]byte) error {
	return b.put(ctx, name, body, size, sum, false)
}

func (b *Bucket) put(ctx context.Context, name string, body io.ReaderAt, size int64, sum [sha256.Size]byte, ifAbsent bool) error {
	return b.do(ctx, "storing", name, func(ctx context.Context, heard func(int)) error {
		// Each attempt needs a new reader, because the transport may still use
		// the old reader after a failure.
		r := &sent{io.NewSectionReader(body, 0, size), heard, &b.counts.out}
		return b.driver.put(ctx, b.prefix+name, r, size, sum, ifAbsent)
	})
}

// PutIfAbsent stores an object under an unused name. If the name is used, it
// fails with ErrExists. It nevertheless succeeds if the stored bytes equal
// `data`, because the response to an earlier attempt may have been lost.
func (b *Bucket) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	err := b.put(ctx, name, bytes.NewReader(data), int64(len(data)), sha256.Sum256(data), true)
	if !errors.Is(err, ErrExists) {
		return err
	}
	there, e := b.Read(ctx, name, int64(len(data)))
	switch {
	case errors.Is(e, ErrNotFound), errors.Is(e, errTooLong):
		return err
	case e != nil:
		return e
	case string(there) == string(data):
		return nil
	}
	return err
}

var errTooLong = errors.New("longer than expected")

// Read returns an object of at most `limit` bytes.
func (b *Bucket) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, size, err := b.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > limit {
		return nil, fmt.Errorf("object %s: %w: %w: it has %d bytes", name, cpar.ErrCorrupt, errTooLong, size)
	}
	return io.ReadAll(r)
}

// List yields the objects whose names start with `prefix`, in order. It stops
// after the first error.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return b.pages(ctx, prefix, false)
}

// Folders yields the distinct name parts between `prefix` and the next '/', in
// order.
func (b *Bucket) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for o, err := range b.pages(ctx, prefix, true) {
			name, isFolder := strings.CutSuffix(strings.TrimPrefix(o.Name, prefix), "/")
			if err == nil && !isFolder {
				continue
			}
			if !yield(name, err) {
				return
			}
		}
	}
}

func (b *Bucket) pages(ctx context.Context, prefix string, folders bool) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for token := ""; ; {
			var page []Object
			var next string
			err := b.do(ctx, "listing", prefix, func(ctx context.Context, _ func(int)) (err error) {
				page, next, err = b.driver.list(ctx, b.prefix+prefix, folders, token)
				return err
			})
			if err != nil {
				yield(Object{}, err)
				return
			}
			for _, o := range page {
				o.Name = strings.TrimPrefix(o.Name, b.prefix)
				if !yield(o, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			token = next
		}
	}
}

func (b *Bucket) Delete(ctx context.Context, name string) error {
	return b.do(ctx, "removing", name, func(ctx context.Context, _ func(int)) error {
		err := b.driver.remove(ctx, b.prefix+name)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
}

func away(format string, args ...any) error {
	err := fmt.Errorf("%w: %w: %w", cpar.ErrStorage, ErrAway, fmt.Errorf(format, args...))
	return hint.Add(err, "the storage or the network may be down or overloaded; loaded indexes are still served, and the others once it is back")
}

func refused(format string, args ...any) error {
	err := fmt.Errorf("%w: %w: %w", cpar.ErrStorage, ErrRefused, fmt.Errorf(format, args...))
	return hint.Add(err, "check the bucket's name, its region and the credentials, which must allow listing, reading, writing and deleting")
}
