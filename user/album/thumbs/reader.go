package thumbs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"cpar/internal/progress"
	"cpar/internal/seed"
	"cpar/user/album/blobs"
	"cpar/user/album/envelope"
)

// maxOpened bounds the number of decrypted parts (blobs) in memory. Each has at
// most maxPart bytes of images, together 96 MiB.
const maxOpened = 24

// A Reader reads an album's thumbnails and encodes new ones. It keeps the parts
// that it has read in a folder, encrypted as at the server. It is safe for
// concurrent use.
type Reader struct {
	*coder
	store   blobs.Store
	folder  string
	opened  *lru.Cache[string, *opened]
	fetches singleflight.Group

	mu     sync.Mutex
	number uint64
	pins   map[string]blobs.Pin
	parts  map[slot][]part
}

// A slot selects the parts of one size and month.
type slot struct {
	size  Size
	month Month
}

// NewReader returns a reader without parts.
func NewReader(store blobs.Store, folder string, secret seed.Secret) *Reader {
	kept, err := lru.New[string, *opened](maxOpened)
	if err != nil {
		panic(err) // unreachable: the size is constant
	}
	return &Reader{coder: newCoder(secret), store: store, folder: folder, opened: kept, parts: map[slot][]part{}}
}

// Use makes the parts that a generation pins (lists) available, and deletes this
// device's copies of other parts.
func (r *Reader) Use(number uint64, pins map[string]blobs.Pin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number == r.number {
		return
	}
	r.number, r.pins, r.parts = number, map[string]blobs.Pin{}, map[slot][]part{}
	for name, pin := range pins {
		if p, ok := r.coder.open(name); ok {
			r.pins[name] = pin
			r.parts[slot{p.size, p.month}] = append(r.parts[slot{p.size, p.month}], p)
		}
	}
	files, _ := os.ReadDir(r.folder) // the folder may not exist yet
	for _, f := range files {
		if _, pinned := r.pins[strings.TrimSuffix(f.Name(), indexSuffix)]; !pinned {
			os.Remove(filepath.Join(r.folder, f.Name())) // if this fails, the next generation does it
		}
	}
}

// in returns the parts of a slot and the pins of all parts.
func (r *Reader) in(s slot) ([]part, map[string]blobs.Pin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parts[s], r.pins
}

// Get returns the thumbnail of the photo with a key and date. The thumbnail is empty
// if the photo cannot be decoded, and nil if the album has none.
func (r *Reader) Get(ctx context.Context, size Size, month Month, day uint8, key Key) ([]byte, error) {
	parts, pins := r.in(slot{size, month})
	var damaged error
	for _, p := range parts {
		if day < p.first || day > p.last {
			continue
		}
		o, err := r.read(ctx, p, pins[p.name])
		if errors.Is(err, blobs.ErrDamaged) || errors.Is(err, blobs.ErrNotFound) {
			damaged = err // Add may have made the thumbnail again, in another part
			continue
		}
		if err != nil {
			return nil, err
		}
		if i, ok := o.find(key); ok {
			return o.image(i), nil
		}
	}
	return nil, damaged
}

// Keys returns the keys of the thumbnails of a size and month. It skips damaged
// parts and parts in `lost`, so that Add makes their thumbnails again. Result gone
// names the parts in `lost`.
func (r *Reader) Keys(ctx context.Context, size Size, month Month, lost map[string]string) (keys map[Key]bool, gone []string, err error) {
	keys = map[Key]bool{}
	parts, _ := r.in(slot{size, month})
	for _, p := range parts {
		if lost[p.name] != "" {
			gone = append(gone, p.name)
			continue
		}
		x, err := r.index(ctx, p)
		if errors.Is(err, blobs.ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, k := range x.keys {
			keys[k] = true
		}
	}
	return keys, gone, nil
}

// Prefetch fetches the parts of whole years, so that the server does not see
// which months the user looks at.
func (r *Reader) Prefetch(ctx context.Context, years []int, tell progress.Func) error {
	var all []part
	r.mu.Lock()
	for s, parts := range r.parts {
		if slices.Contains(years, int(s.month)/12) {
			all = append(all, parts...)
		}
	}
	pins := r.pins
	r.mu.Unlock()
	for i, p := range all {
		tell.Report("fetching thumbnails", i, len(all))
		if _, err := r.fetch(ctx, p, pins[p.name]); err != nil {
			return err
		}
	}
	tell.Report("fetching thumbnails", len(all), len(all))
	return nil
}

// read returns a part from memory, from this device's copy or from the server.
// Concurrent calls for one part share a fetch, which continues even if a call is
// cancelled.
func (r *Reader) read(ctx context.Context, p part, pin blobs.Pin) (*opened, error) {
	if o, ok := r.opened.Get(p.name); ok {
		return o, nil
	}
	done := r.fetches.DoChan(p.name, func() (any, error) {
		b, err := r.fetch(context.WithoutCancel(ctx), p, pin)
		if err != nil {
			return nil, err
		}
		o, err := r.decode(p, b)
		if err == nil {
			r.opened.Add(p.name, o)
		}
		return o, err
	})
	select {
	case got := <-done:
		if got.Err != nil {
			return nil, got.Err
		}
		return got.Val.(*opened), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fetch returns a part's bytes and keeps them on the device.
func (r *Reader) fetch(ctx context.Context, p part, pin blobs.Pin) ([]byte, error) {
	if b, err := os.ReadFile(filepath.Join(r.folder, p.name)); err == nil && pin.Holds(b) {
		return b, nil
	}
	b, err := r.get(ctx, p, -1)
	if err == nil && !pin.Holds(b) {
		err = blobs.Damage(p.name, "is not the one that was stored")
	}
	if err != nil {
		return nil, err
	}
	r.keep(p.name, b)
	return b, nil
}

const indexSuffix = ".index"

// index returns the index of a part. If the device lacks the part, index fetches
// only the index.
func (r *Reader) index(ctx context.Context, p part) (index, error) {
	if o, ok := r.opened.Get(p.name); ok {
		return o.index, nil
	}
	for _, name := range []string{p.name, p.name + indexSuffix} {
		if b, err := os.ReadFile(filepath.Join(r.folder, name)); err == nil {
			if x, err := r.decodeIndex(p, b); err == nil {
				return x, nil
			}
		}
	}
	b, err := r.get(ctx, p, int64(p.pages)*envelope.PageBytes)
	if err != nil {
		return index{}, err
	}
	x, err := r.decodeIndex(p, b)
	if err != nil {
		return x, blobs.Damage(p.name, "is not the one that was stored")
	}
	r.keep(p.name+indexSuffix, b)
	return x, nil
}

func (r *Reader) get(ctx context.Context, p part, length int64) ([]byte, error) {
	b, err := r.store.Get(ctx, p.name, 0, length)
	if errors.Is(err, blobs.ErrNotFound) {
		return nil, blobs.Damage(p.name, "is missing")
	}
	return b, err
}

// keep stores a part or its index on the device. If this fails, the next read
// fetches it again, because an incomplete file is rejected.
func (r *Reader) keep(name string, b []byte) {
	if os.MkdirAll(r.folder, 0o700) == nil {
		_ = os.WriteFile(filepath.Join(r.folder, name), b, 0o600)
	}
}
