package repository

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/kopia/kopia/repo/blob"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/album/blobs"
)

// A storage is kopia's view of a blob store. It does not trust the server:
//
//	names and sizes   the server must list every pinned blob
//	bytes             a blob that is read whole must have the pinned digest
//	times             come from the owner's devices, never from the server
//
// kopia uses times to decide which blobs to compact and delete. An unpinned blob
// has the time when this device first saw it, so that it stays until it is
// certainly abandoned. Pinned blobs are deleted only after the commit of a
// generation without them.
type storage struct {
	blob.DefaultProviderImplementation
	store  blobs.Store
	cache  string // folder of cached index blobs, or ""
	now    func() time.Time
	strays *strays
	strict bool // see Options.Strict

	mu      sync.Mutex
	pins    map[string]blobs.Pin // pins of the catalogue's newest generation
	added   map[string]blobs.Pin // blobs added since that generation
	removed map[string]bool      // blobs removed since that generation
	// found contains unpinned index blobs that kopia has read. The next generation
	// pins them. It ignores blobs that are only listed, because another device may
	// be deleting them.
	found map[string]blobs.Pin
	sent  int64
	// damage is the first failure of the server during the operations in progress,
	// which all report it. Method fail cancels them, because kopia repeats a failed
	// listing of its indexes forever.
	damage  error
	cancels map[int]context.CancelCauseFunc
	last    int
	// newest returns the pins of the newest generation at the server.
	newest func(context.Context) (map[string]blobs.Pin, error)
	asking sync.Mutex // held while newest runs
	// creating hides blobs that an interrupted creation has left.
	creating bool
}

var ErrBusy = errors.New("maintenance by another device may have removed a blob on which this run relied")

func errBusy() error {
	return hint.Add(fmt.Errorf("%w: %w", cpar.ErrStorage, ErrBusy), "run the same command again")
}

// overwritten contains the names of blobs that kopia replaces.
var overwritten = map[string]bool{"kopia.repository": true, "kopia.blobcfg": true, schedule: true}

// schedule is the blob in which kopia records its maintenance. No generation pins
// it, because every task changes it. kopia takes the time of this blob as the
// current time.
const schedule = "kopia.maintenance"

// foreign reports whether a blob belongs to the catalogue or the thumbnails, so
// that kopia must not see it.
func foreign(name string) bool { return strings.HasPrefix(name, "cpar-") }

func (s *storage) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damage = cmp.Or(s.damage, err)
	for _, cancel := range s.cancels {
		cancel(err)
	}
	return err
}

// missing returns the error for a blob that the server lacks: damage if the newest
// generation pins the blob, and otherwise ErrBusy.
func (s *storage) missing(ctx context.Context, name string) error {
	damage := blobs.Damage(name, "is missing")
	if s.newest == nil {
		return s.fail(damage)
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	pins, err := s.newest(ctx)
	if err != nil {
		return s.fail(err)
	}
	if _, still := pins[name]; still {
		return s.fail(damage)
	}
	return s.fail(errBusy())
}

// guard returns a context for an operation. Method fail cancels the context.
func (s *storage) guard(ctx context.Context) (inner context.Context, done func()) {
	inner, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cancels) == 0 {
		s.damage = nil
	}
	s.last++
	number := s.last
	s.cancels[number] = cancel
	return inner, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cancels, number)
		cancel(nil)
	}
}

func (s *storage) pin(name string) (p blobs.Pin, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok = s.added[name]; !ok && !s.removed[name] {
		p, ok = s.pins[name]
	}
	return p, ok
}

// hidden reports whether kopia must not see a blob, because kopia has deleted it,
// because it is an unpinned marker of kopia's epochs, or because the storage is
// strict and it is an unpinned index blob. The server could invent the name of a
// marker and make kopia allocate memory for a billion epochs.
func (s *storage) hidden(name string) bool {
	_, pinned := s.pin(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removed[name] || !pinned && (s.strict && strings.HasPrefix(name, "x") || strings.HasPrefix(name, "xe") || strings.HasPrefix(name, "xw"))
}

func (s *storage) GetBlob(ctx context.Context, id blob.ID, offset, length int64, output blob.OutputBuffer) error {
	name := string(id)
	output.Reset()
	if s.creating && overwritten[name] || s.hidden(name) {
		return blob.ErrBlobNotFound
	}
	p, pinned := s.pin(name)
	b, err := s.get(ctx, name, p, pinned, offset, length)
	switch {
	case errors.Is(err, blobs.ErrNotFound) && pinned:
		return s.missing(ctx, name)
	case errors.Is(err, blobs.ErrNotFound):
		return blob.ErrBlobNotFound
	case err != nil:
		return s.fail(err)
	case pinned && length < 0 && offset == 0 && !p.Holds(b):
		return s.fail(blobs.Damage(name, "is not the one that was stored"))
	case pinned && length >= 0 && offset+length <= p.Size && int64(len(b)) != length:
		return s.fail(blobs.Damage(name, "is cut off"))
	case !pinned && length < 0 && offset == 0 && strings.HasPrefix(name, "x"):
		s.mu.Lock()
		s.found[name] = blobs.PinOf(b, s.strays.since(name))
		s.mu.Unlock()
	}
	if _, err := output.Write(b); err != nil {
		return err
	}
	return blob.EnsureLengthExactly(len(b), length)
}

// metadata returns a blob's metadata for kopia, with a trusted time.
func (s *storage) metadata(b blobs.Blob) (blob.Metadata, error) {
	m := blob.Metadata{BlobID: blob.ID(b.Name), Length: b.Size}
	p, pinned := s.pin(b.Name)
	switch {
	case b.Name == schedule:
		m.Timestamp = s.now()
	case !pinned:
		m.Timestamp = s.strays.since(b.Name)
	case !p.Matches(b):
		return m, s.fail(blobs.Damage(b.Name, "is not the one that was stored"))
	default:
		m.Timestamp = time.Unix(p.Time, 0)
	}
	return m, nil
}

func (s *storage) GetMetadata(ctx context.Context, id blob.ID) (blob.Metadata, error) {
	if s.hidden(string(id)) {
		return blob.Metadata{}, blob.ErrBlobNotFound
	}
	b, err := s.store.Stat(ctx, string(id))
	if errors.Is(err, blobs.ErrNotFound) {
		if _, pinned := s.pin(string(id)); pinned {
			return blob.Metadata{}, s.missing(ctx, string(id))
		}
		return blob.Metadata{}, blob.ErrBlobNotFound
	}
	if err != nil {
		return blob.Metadata{}, s.fail(err)
	}
	return s.metadata(b)
}

func (s *storage) ListBlobs(ctx context.Context, prefix blob.ID, yield func(blob.Metadata) error) error {
	s.mu.Lock()
	missing := map[string]bool{}
	for _, known := range []map[string]blobs.Pin{s.pins, s.added} {
		for name := range known {
			if strings.HasPrefix(name, string(prefix)) && !s.removed[name] {
				missing[name] = true
			}
		}
	}
	s.mu.Unlock()
	err := s.store.List(ctx, string(prefix), func(b blobs.Blob) error {
		delete(missing, b.Name)
		if foreign(b.Name) || s.hidden(b.Name) {
			return nil
		}
		m, err := s.metadata(b)
		if err != nil {
			return err
		}
		return yield(m)
	})
	if err != nil {
		return s.fail(err)
	}
	for name := range missing {
		if _, still := s.pin(name); still { // kopia may delete while it lists
			return s.missing(ctx, name)
		}
	}
	return nil
}

func (s *storage) PutBlob(ctx context.Context, id blob.ID, data blob.Bytes, o blob.PutOptions) error {
	if o.HasRetentionOptions() {
		return fmt.Errorf("blob retention: %w", blob.ErrUnsupportedPutBlobOption)
	}
	var buffer bytes.Buffer
	buffer.Grow(data.Length())
	if _, err := data.WriteTo(&buffer); err != nil {
		return err
	}
	name, b := string(id), buffer.Bytes()
	err := s.store.Put(ctx, name, b)
	switch {
	case errors.Is(err, blobs.ErrExists) && s.creating:
		return nil // another device or an interrupted creation wrote an equivalent blob
	case errors.Is(err, blobs.ErrExists) && overwritten[name]:
		err = s.replace(ctx, name, b)
	case errors.Is(err, blobs.ErrExists):
		return blob.ErrBlobAlreadyExists
	}
	if err != nil {
		return s.fail(err)
	}
	now := s.now()
	if o.GetModTime != nil {
		*o.GetModTime = now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent += int64(len(b))
	if name == schedule {
		return nil
	}
	s.added[name] = blobs.PinOf(b, now)
	delete(s.removed, name)
	return nil
}

// replace replaces a blob of `overwritten`. The last writer wins, as kopia expects.
func (s *storage) replace(ctx context.Context, name string, b []byte) error {
	for {
		old, err := s.store.Stat(ctx, name)
		if err != nil {
			return err
		}
		if err := s.store.Replace(ctx, name, b, old.Digest); !errors.Is(err, blobs.ErrChanged) {
			return err
		}
	}
}

// DeleteBlob immediately deletes an unpinned blob that this process has added. It
// deletes other blobs after the commit of a generation without them, because
// another device may have pinned them meanwhile.
func (s *storage) DeleteBlob(ctx context.Context, id blob.ID) error {
	name := string(id)
	s.mu.Lock()
	_, own := s.added[name]
	_, pinned := s.pins[name]
	delete(s.added, name)
	delete(s.found, name)
	deferred := pinned || !own
	if deferred {
		s.removed[name] = true
	}
	s.mu.Unlock()
	if deferred {
		return nil
	}
	return s.store.Delete(ctx, name)
}

func (s *storage) changes() (added map[string]blobs.Pin, removed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.removed {
		if _, pinned := s.pins[name]; pinned {
			removed = append(removed, name)
		}
	}
	added = maps.Clone(s.found)
	maps.Copy(added, s.added)
	return added, removed
}

func (s *storage) committed(ctx context.Context, pins map[string]blobs.Pin) error {
	s.mu.Lock()
	var drop []string
	for name := range s.removed {
		if _, still := pins[name]; !still {
			drop = append(drop, name)
		}
	}
	s.pins = pins
	for _, list := range []map[string]blobs.Pin{s.added, s.found} {
		maps.DeleteFunc(list, func(name string, _ blobs.Pin) bool { _, has := pins[name]; return has })
	}
	s.mu.Unlock()
	for _, name := range drop {
		if err := s.store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *storage) ConnectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: storageType, Config: &connection{}}
}

func (s *storage) DisplayName() string { return "album" }
