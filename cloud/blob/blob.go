// Package blob keeps objects in somebody else's storage: S3 and what speaks like it,
// Azure, Google.
//
//	Open("s3://bucket/prefix?endpoint=…") ─▶ Bucket
//	Put          name, bytes, SHA-256  whole or not at all
//	PutIfAbsent  name, bytes           the one step that others can see
//	Get          name, from, length  ─▶ a stream that survives broken connections
//	List, Folders  prefix            ─▶ names, page by page
//	Delete       name
//
// A driver translates one request into its provider's words, once. All that they have in
// common is here: what is tried again and how often, when silence is taken for absence, and
// what is counted. Every error is one of four: ErrNotFound, ErrExists, ErrAway, ErrRefused.
//
// Names are our own (digits, letters, '/'), so that nothing needs quoting. Objects must never
// change under a name: a stream that broke is taken up where it ended.
package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"cpar"
	"cpar/internal/hint"
)

var (
	// ErrNotFound: no such object.
	ErrNotFound = errors.New("no such object")
	// ErrExists: there is another object under the name.
	ErrExists = errors.New("there is such an object already")
	// ErrAway: the storage cannot be reached, or says that it is overloaded or broken, also
	// after several attempts. It comes wrapped with cpar.ErrStorage.
	ErrAway = errors.New("the object storage cannot be reached")
	// ErrRefused: the storage refuses what it is asked, such as for its credentials. Asking
	// again does not help. It comes wrapped with cpar.ErrStorage.
	ErrRefused = errors.New("the object storage refuses")
)

// An Object is a name and what the storage says of it.
type Object struct {
	Name     string
	Bytes    int64
	Modified time.Time
}

// A driver asks a storage once. Its errors wrap one of the package's, and never hold a
// credential or a signed address.
type driver interface {
	// get opens an object from byte from on, length bytes or, if negative, all; size is
	// the whole object's.
	get(ctx context.Context, name string, from, length int64) (body io.ReadCloser, size int64, err error)
	stat(ctx context.Context, name string) (Object, error)
	// put replaces an object; with ifAbsent it fails with ErrExists instead.
	put(ctx context.Context, name string, body io.ReadSeeker, size int64, sum [sha256.Size]byte, ifAbsent bool) error
	// list returns a page of objects, or with folders the names up to the next '/', and the
	// token of the next page, "" if there is none.
	list(ctx context.Context, prefix string, folders bool, token string) (page []Object, next string, err error)
	// remove may succeed or fail with ErrNotFound for what is not there.
	remove(ctx context.Context, name string) error
}

// Options says how to reach a storage. The zero value suits a daemon.
type Options struct {
	// Credential returns a credential by its name, such as AWS_ACCESS_KEY_ID; see Credentials.
	Credential func(name string) string
	// Transport carries the requests; nil means one of the package's own.
	Transport http.RoundTripper
	// Attempts is how often a request is made before the storage counts as away; 0 means 8,
	// which bridges twelve seconds.
	Attempts int
	// Silence is how long nothing may be heard before an attempt is given up; 0 means 30 s.
	Silence time.Duration
}

// A Bucket is a place for objects: a bucket or container, or what begins with a prefix in it.
// It is safe for concurrent use.
type Bucket struct {
	driver driver
	prefix string // "" or ends in '/'
	o      Options
	away   atomic.Bool // the last request found nobody, after all its attempts
	counts counts
}

type counts struct{ requests, retries, errors, in, out atomic.Int64 }

// Stats counts since the start.
type Stats struct {
	Requests, Retries, Errors int64 // attempts made, those after a failure, requests that failed
	BytesIn, BytesOut         int64
	Away                      bool // the last request found nobody
}

// Stats returns what was counted.
func (b *Bucket) Stats() Stats {
	c := &b.counts
	return Stats{c.requests.Load(), c.retries.Load(), c.errors.Load(), c.in.Load(), c.out.Load(), b.away.Load()}
}

// Put stores an object of size bytes, which must have the digest sum: the storage checks it
// where it can, and makes the object visible only when it is whole.
func (b *Bucket) Put(ctx context.Context, name string, body io.ReaderAt, size int64, sum [sha256.Size]byte) error {
	return b.do(ctx, "storing", name, func(ctx context.Context, heard func(int)) error {
		// A section of its own for every attempt: a transport may go on reading after it failed.
		r := &sent{io.NewSectionReader(body, 0, size), heard, &b.counts.out}
		return b.driver.put(ctx, b.prefix+name, r, size, sum, false)
	})
}

// PutIfAbsent stores an object under a name that nothing has. It fails with ErrExists if
// there are other bytes, and succeeds if there are the same: after a lost answer nobody can
// tell whose they are.
func (b *Bucket) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	sum := sha256.Sum256(data)
	err := b.do(ctx, "storing", name, func(ctx context.Context, heard func(int)) error {
		r := &sent{io.NewSectionReader(strings.NewReader(string(data)), 0, int64(len(data))), heard, &b.counts.out}
		return b.driver.put(ctx, b.prefix+name, r, int64(len(data)), sum, true)
	})
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

var errTooLong = errors.New("it is longer than expected")

// Read returns an object of at most limit bytes.
func (b *Bucket) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, size, err := b.Get(ctx, name, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > limit {
		return nil, fmt.Errorf("object %s: %w: %w: it has %d bytes", name, cpar.ErrCorrupt, errTooLong, size)
	}
	return io.ReadAll(r)
}

// Stat describes an object.
func (b *Bucket) Stat(ctx context.Context, name string) (o Object, err error) {
	err = b.do(ctx, "looking for", name, func(ctx context.Context, _ func(int)) error {
		o, err = b.driver.stat(ctx, b.prefix+name)
		return err
	})
	o.Name = name
	return o, err
}

// List yields the objects whose names start with prefix, in order of their names. It ends
// with the first error.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return b.pages(ctx, prefix, false)
}

// Folders yields what follows prefix up to the next '/', once each, in order.
func (b *Bucket) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for o, err := range b.pages(ctx, prefix, true) {
			name, isFolder := strings.CutSuffix(strings.TrimPrefix(o.Name, prefix), "/")
			if err == nil && !isFolder {
				continue // an object beside the folders
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

// Delete removes an object; it is no error if there is none.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := b.do(ctx, "removing", name, func(ctx context.Context, _ func(int)) error {
		err := b.driver.remove(ctx, b.prefix+name)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
	return err
}

// away and refused make the errors of drivers.
func away(format string, args ...any) error {
	err := fmt.Errorf("%w: %w: %w", cpar.ErrStorage, ErrAway, fmt.Errorf(format, args...))
	return hint.Add(err, "the storage may be down or overloaded, or the network; what is in memory goes on being served, and the rest when it is back")
}

func refused(format string, args ...any) error {
	err := fmt.Errorf("%w: %w: %w", cpar.ErrStorage, ErrRefused, fmt.Errorf(format, args...))
	return hint.Add(err, "check the bucket's name, its region and the credentials, which must allow to list, read, write and delete")
}
