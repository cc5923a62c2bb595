// Package album keeps the encrypted blobs of tenants' albums. It cannot read
// them and does not interpret their names.
//
//	Put ─▶ an object, then an entry of the tenant's log: the commit step
//	Delete, Undelete ─▶ an entry; the object stays
//	Stat, Get, List ◀─ the state, which is the log replayed
//	Collect ─▶ removes objects deleted long ago, and uploads that no entry names
//
//	log/<20 digits>                                  entries, which nothing overwrites
//	<album>/<name>.<SHA-256>.<20 digits>-<random>    objects, which nothing overwrites
//
// An entry is written only if its number is free, so several processes that
// share a storage agree on one order of all changes of a tenant. This makes
// conditions and quotas exact. Listing and pushing read no object.
package album

import (
	"context"
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

var (
	// ErrNotFound means that there is no such blob. It wraps cpar.ErrInput.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a blob with other bytes has the name, and ErrChanged
	// that the stored blob is not the one to be replaced. Both come wrapped with
	// cpar.ErrInput.
	ErrExists  = errors.New("another blob has this name")
	ErrChanged = errors.New("the stored blob is another one")
	// ErrQuota means that the tenant's quota is used up. It comes wrapped with
	// cpar.ErrInput.
	ErrQuota = errors.New("the storage quota is used up")
	// ErrDamaged means that stored bytes differ from the uploaded ones. It comes
	// wrapped with cpar.ErrCorrupt.
	ErrDamaged = errors.New("the album is damaged at the cloud")
	// ErrBusy means that other processes keep changing the log, or that a
	// collection overtook a slow upload. The request may be repeated.
	ErrBusy = errors.New("the album is being changed")
	// ErrTaken is returned by Objects.PutNew if the name is used.
	ErrTaken = errors.New("the object's name is taken")
)

// KeepDeleted is the default time for which deleted blobs stay recoverable.
const KeepDeleted = 30 * 24 * time.Hour

const (
	// blobBytes is the quota's charge per blob, as for segments of indexes.
	blobBytes = 4096
	// maxVersions bounds the blobs of a tenant, deleted ones included, because
	// their names are held in memory.
	maxVersions = 100_000
)

// Objects is the storage of all tenants' albums. Errors wrap ErrNotFound,
// ErrTaken, cpar.ErrCorrupt for bytes without the announced digest, or
// cpar.ErrStorage.
type Objects interface {
	// Put stores an object under an unused name. On failure it leaves nothing
	// that anything names.
	Put(ctx context.Context, tenant, name string, size int64, sum cpar.Digest, r io.Reader) error
	// PutNew stores a small object durably, or fails with ErrTaken.
	PutNew(ctx context.Context, tenant, name string, b []byte) error
	// Get opens an object at an offset. A negative length means to its end.
	Get(ctx context.Context, tenant, name string, offset, length int64) (io.ReadCloser, error)
	// List yields the complete objects in a folder, such as "log/", or in all
	// folders, in order.
	List(ctx context.Context, tenant, folder string) iter.Seq2[Object, error]
	// Delete removes an object, if it exists.
	Delete(ctx context.Context, tenant, name string) error
}

// An Object is a stored object.
type Object struct {
	Name     string
	Bytes    int64
	Modified time.Time
}

// A Ref names a blob.
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

// A Blob describes a stored blob.
type Blob struct {
	Name     string
	Bytes    int64
	SHA256   cpar.Digest
	Modified time.Time
}

// Options configures a Store.
type Options struct {
	// Quota returns a tenant's storage limit in bytes, 0 for none. Nil means no
	// limits. Besides returns the bytes that its indexes take.
	Quota   func(tenant string) int64
	Besides func(ctx context.Context, tenant string) (int64, error)
}

// A Store keeps the albums of all tenants. It is safe for concurrent use.
type Store struct {
	objects Objects
	o       Options
	now     func() time.Time

	mu   sync.Mutex
	logs map[string]*tenantLog
}

// New returns a store. It reads nothing.
func New(objects Objects, o Options) *Store {
	return &Store{objects: objects, o: o, now: time.Now, logs: map[string]*tenantLog{}}
}

// Receive copies an object of size bytes from r to w and checks its digest.
func Receive(w io.Writer, r io.Reader, size int64, sum cpar.Digest) error {
	h := sha256.New()
	// A file's ReadFrom would copy in small pieces.
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
