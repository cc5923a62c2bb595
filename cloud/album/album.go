// Package album keeps the encrypted blobs of tenants' albums. It cannot read
// them and does not interpret their names. Each tenant has a log of all changes.
//
//	Put ─▶ stores an object, then commits it by an entry of the log
//	Delete, Undelete ─▶ add an entry and keep the object
//	Stat, Get, List ◀─ the state, computed by replaying the log
//	Collect ─▶ removes objects deleted long ago, and uploads that no entry names
//
// Entries and objects have these names and are never overwritten.
//
//	log/<20 digits>                                  an entry
//	<album>/<name>.<SHA-256>.<20 digits>-<random>    the bytes of a blob
//
// A process writes an entry only if its number is free, so all processes that
// share a storage agree on one order of a tenant's changes. Conditions and
// quotas are therefore exact. Listing and storing blobs read no stored blob.
package album

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"sync"
	"time"

	"cpar"
)

// A Store wraps these errors together with the error of package cpar that is
// given in parentheses.
var (
	// ErrNotFound means that there is no such blob (cpar.ErrInput).
	ErrNotFound = errors.New("not found")
	// ErrExists means that a blob with other bytes has the name (cpar.ErrInput).
	ErrExists = errors.New("another blob has this name")
	// ErrChanged means that the blob to replace has other bytes than the caller
	// expects (cpar.ErrInput).
	ErrChanged = errors.New("the stored blob is another one")
	// ErrQuota means that the tenant's quota is used up (cpar.ErrInput).
	ErrQuota = errors.New("the storage quota is used up")
	// ErrDamaged means that stored bytes are missing or differ from the uploaded
	// bytes (cpar.ErrCorrupt).
	ErrDamaged = errors.New("the album is damaged at the cloud")
	// ErrBusy means that other processes keep changing the log, that a collection
	// overtook a slow upload, or that memory is short (cpar.ErrStorage). The caller
	// may repeat the request.
	ErrBusy = errors.New("the album is being changed")
	// ErrTaken means that the name passed to Objects.PutNew is used.
	ErrTaken = errors.New("the object's name is taken")
)

// KeepDeleted is the default time for which deleted blobs stay recoverable.
const KeepDeleted = 30 * 24 * time.Hour

const (
	// blobBytes is the number of bytes that the quota counts for each blob besides
	// its own, as for segments of indexes.
	blobBytes = 4096
	// maxVersions bounds the number of a tenant's blobs, including deleted blobs,
	// because the state holds their names in memory.
	maxVersions = 100_000
)

// Objects is the storage of all tenants' albums. Its errors wrap ErrNotFound,
// ErrTaken, cpar.ErrStorage, or, if bytes do not match their digest,
// cpar.ErrCorrupt.
type Objects interface {
	// Put stores an object of `size` bytes under an unused name. A failed Put may
	// leave an object, which the log then never names.
	Put(ctx context.Context, tenant, name string, size int64, sum cpar.Digest, r io.Reader) error
	// PutNew stores a small object durably, or fails with ErrTaken.
	PutNew(ctx context.Context, tenant, name string, b []byte) error
	// Get opens length bytes of an object from an offset, or all bytes from there
	// if length is negative.
	Get(ctx context.Context, tenant, name string, offset, length int64) (io.ReadCloser, error)
	// List yields the complete objects in a folder such as "log/", or in all
	// folders for "", ordered by name.
	List(ctx context.Context, tenant, folder string) iter.Seq2[Object, error]
	// Delete removes an object, if it exists.
	Delete(ctx context.Context, tenant, name string) error
}

type Object struct {
	Name     string
	Bytes    int64
	Modified time.Time
}

type Ref struct{ Tenant, Album, Name string }

func (r Ref) String() string { return "blob " + r.Album + "/" + r.Name }

func (r Ref) fail(format string, args ...any) error {
	return fmt.Errorf("%v: "+format, append([]any{r}, args...)...)
}

var (
	albumForm = regexp.MustCompile(`^[0-9a-f]{32}$`)
	nameForm  = regexp.MustCompile(`^[a-z0-9_-][a-z0-9._-]{0,127}$`)
)

// Check refuses malformed names, because they become parts of paths.
func (r Ref) Check() error {
	if !albumForm.MatchString(r.Album) || !nameForm.MatchString(r.Name) {
		return fmt.Errorf("%w: it is not the name of an album and a blob", cpar.ErrInput)
	}
	return nil
}

type Blob struct {
	Name     string
	Bytes    int64
	SHA256   cpar.Digest
	Modified time.Time
}

type Options struct {
	// Quota returns a tenant's storage limit in bytes, or 0 for no limit. If
	// Quota is nil, there are no limits.
	Quota func(tenant string) int64
	// Indexes counts the bytes of a tenant's stored indexes, which share the quota.
	// If Indexes is nil, there are none.
	Indexes func(ctx context.Context, tenant string) (int64, error)
	// Memory reserves n bytes of memory to read or write an entry. If Memory is nil,
	// there is no limit.
	Memory func(ctx context.Context, tenant string, n int64) (release func(), err error)
	// States bounds the bytes of all tenants' states in memory, but admits a
	// single larger state. The default is 64 MiB.
	States int64
}

// A Store keeps the albums of all tenants. It is safe for concurrent use.
type Store struct {
	objects Objects
	o       Options
	now     func() time.Time
	writer  string

	mu   sync.Mutex
	logs map[string]*tenantLog
}

// New returns a store of albums. It reads no objects.
func New(objects Objects, o Options) *Store {
	o.States = cmp.Or(o.States, 64<<20)
	if o.Quota == nil {
		o.Quota = func(string) int64 { return 0 }
	}
	return &Store{objects: objects, o: o, now: time.Now, writer: rand.Text(), logs: map[string]*tenantLog{}}
}

// Receive copies an object from r to w. It fails unless r yields `size` bytes with
// digest `sum`.
func Receive(w io.Writer, r io.Reader, size int64, sum cpar.Digest) error {
	h := sha256.New()
	// The MultiWriter hides a file's ReadFrom, which would copy in small pieces.
	n, err := io.CopyBuffer(io.MultiWriter(w, h), io.LimitReader(r, size+1), make([]byte, 128<<10))
	switch {
	case err != nil:
		return fmt.Errorf("receiving a blob: %w", err)
	case n != size:
		return fmt.Errorf("receiving a blob: %w: got %d bytes, %d were announced", cpar.ErrCorrupt, n, size)
	case cpar.Digest(h.Sum(nil)) != sum:
		return fmt.Errorf("receiving a blob: %w: its digest is not the announced one", cpar.ErrCorrupt)
	}
	return nil
}
