package catalogue

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/seed"
	"cpar/user"
	"cpar/user/album/blobs"
	"cpar/user/album/envelope"
)

type Options struct {
	Store blobs.Store
	Album cpar.IndexID
	// Folder contains this device's newest generation and its segments, encrypted
	// as at the server.
	Folder string
	Secret seed.Secret
	// See compares a generation with those that this device has seen, and records
	// it unless its digest is zero.
	See func(number uint64, digest [sha256.Size]byte, h user.History) error
}

// A Catalogue is a device's copy of the catalogue of an album.
type Catalogue struct {
	Options
	cipher   *envelope.Cipher
	now      *generation // current generation, or nil
	state    *State
	segments []*segment
	sent     int64
	readOnly bool // see Newest
}

// maxMerged bounds the size of a segment that a small commit merges from its changes
// and the newest segments. A higher bound would make it costly to add one photo.
const maxMerged = 64 << 10

// keptGenerations is the number of generations kept at the server for devices
// that are about to read them.
const keptGenerations = 64

// Open opens the device's copy without a request to the server.
func Open(ctx context.Context, o Options) (*Catalogue, error) {
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("opening the catalogue: %w: %w", cpar.ErrStorage, err)
	}
	c := &Catalogue{Options: o, cipher: envelope.New(o.Secret, "catalogue"), state: newState(0, nil)}
	names, err := filepath.Glob(filepath.Join(o.Folder, generationPrefix+"*"))
	if err != nil || len(names) == 0 {
		return c, err
	}
	number, _ := strconv.ParseUint(strings.TrimPrefix(filepath.Base(slices.Max(names)), generationPrefix), 16, 64)
	b, err := os.ReadFile(slices.Max(names))
	if errors.Is(err, fs.ErrNotExist) { // another process has just stored a newer generation
		return Open(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the catalogue: %w: %w", cpar.ErrStorage, err)
	}
	if g, err := c.openGeneration(number, b); err == nil {
		// Sync replaces a copy that is damaged or that another process is changing.
		_ = c.load(ctx, g, func(l listed) ([]byte, error) { return c.local(l) })
	}
	return c, nil
}

// lock locks the folder. No other catalogue of this device, even in another
// process, can then change the folder or record a newer generation, after which
// See would take c's generation for a rollback.
func (c *Catalogue) lock(ctx context.Context) (release func(), err error) {
	l := flock.New(filepath.Join(c.Folder, "lock"), flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, fmt.Errorf("locking the catalogue: %w: %w", cpar.ErrStorage, err)
	}
	return func() { l.Close() }, nil
}

// Newest fetches the newest state and changes neither c nor the folder. Other calls
// may run concurrently.
func (c *Catalogue) Newest(ctx context.Context) (*State, error) {
	look := &Catalogue{Options: c.Options, cipher: c.cipher, state: newState(0, nil), readOnly: true}
	_, err := look.Sync(ctx)
	return look.state, err
}

// State returns the newest state that this device has.
func (c *Catalogue) State() *State { return c.state }

func (c *Catalogue) Sent() int64 { return c.sent }

// Bytes returns the size of all segments at the server.
func (c *Catalogue) Bytes() (n int64) {
	if c.now != nil {
		for _, l := range c.now.segments {
			n += int64(l.bytes)
		}
	}
	return n
}

// Pins returns the pins of all segments. Their times are zero.
func (c *Catalogue) Pins() map[string]blobs.Pin {
	pins := map[string]blobs.Pin{}
	if c.now != nil {
		for _, l := range c.now.segments {
			pins[l.name()] = blobs.Pin{Size: int64(l.bytes), Digest: [16]byte(l.digest[:16])}
		}
	}
	return pins
}

func (c *Catalogue) openGeneration(number uint64, b []byte) (*generation, error) {
	g := &generation{album: c.Album, number: number}
	plain, err := c.cipher.Open(b, g.binding())
	if err != nil {
		return nil, fmt.Errorf("%w: generation %d of the album: %w", blobs.ErrDamaged, number, err)
	}
	got, err := readGeneration(plain)
	if err == nil && (got.number != number || got.album != c.Album) {
		err = fmt.Errorf("%w: generation %d of the album has another number", cpar.ErrCloud, number)
	}
	return got, err
}

func (c *Catalogue) local(l listed) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(c.Folder, l.name()))
	if err == nil && sha256.Sum256(b) != l.digest {
		err = fs.ErrNotExist
	}
	return b, err
}

// load makes g the current generation. It calls function fetch for segments that are
// not in memory.
func (c *Catalogue) load(ctx context.Context, g *generation, fetch func(listed) ([]byte, error)) error {
	held := map[[16]byte]*segment{}
	if c.now != nil {
		for i, l := range c.now.segments {
			held[l.id] = c.segments[i]
		}
	}
	segments := make([]*segment, len(g.segments))
	for i, l := range g.segments {
		if segments[i] = held[l.id]; segments[i] != nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := fetch(l)
		if err == nil {
			segments[i], err = openSegment(c.cipher, b, l.name())
		}
		if err != nil {
			return err
		}
	}
	state := newState(g.number, segments)
	if uint64(len(state.ancestors)/ancestorBytes) != g.number-1 {
		return fmt.Errorf("%w: generation %d of the album has %d ancestors", cpar.ErrCorrupt, g.number, len(state.ancestors)/ancestorBytes)
	}
	c.now, c.segments, c.state = g, segments, state
	return nil
}

// fetch returns a segment's bytes from the device's copy or the server.
func (c *Catalogue) fetch(ctx context.Context, l listed) ([]byte, error) {
	if b, err := c.local(l); err == nil {
		return b, nil
	}
	b, err := c.Store.Get(ctx, l.name(), 0, -1)
	switch {
	case errors.Is(err, blobs.ErrNotFound):
		return nil, blobs.Damage(l.name(), "is missing")
	case err != nil:
		return nil, err
	case sha256.Sum256(b) != l.digest:
		return nil, blobs.Damage(l.name(), "is not the one that was stored")
	}
	return b, c.keep(l.name(), b)
}

func (c *Catalogue) keep(name string, b []byte) error {
	if c.readOnly {
		return nil
	}
	if err := durable.WriteFile(filepath.Join(c.Folder, name), b, 0o600); err != nil {
		return fmt.Errorf("keeping the catalogue: %w", err)
	}
	return nil
}

// Sync updates the device's copy to the newest generation. It returns false if the
// server has no album.
func (c *Catalogue) Sync(ctx context.Context) (bool, error) {
	release, err := c.lock(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	newest := ""
	err = c.Store.List(ctx, generationPrefix, func(b blobs.Blob) error {
		newest = max(newest, b.Name)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("reading the album: %w", err)
	}
	if newest == "" {
		if err := c.See(0, [32]byte{}, nil); err != nil {
			return false, fmt.Errorf("reading the album: %w", err)
		}
		c.now, c.segments, c.state = nil, nil, newState(0, nil)
		return false, nil
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(newest, generationPrefix), 16, 64)
	if err != nil || generationName(number) != newest || number == 0 {
		return false, fmt.Errorf("reading the album: %w: it has a generation named %q", cpar.ErrCloud, newest)
	}
	if err := c.take(ctx, number); err != nil {
		return false, fmt.Errorf("reading the album: %w", err)
	}
	return true, nil
}

// take fetches, checks and keeps a generation.
func (c *Catalogue) take(ctx context.Context, number uint64) error {
	if c.now != nil && number < c.now.number { // See returns the error
		return c.See(number, [32]byte{}, nil)
	}
	sealed, err := c.Store.Get(ctx, generationName(number), 0, -1)
	if errors.Is(err, blobs.ErrNotFound) {
		err = blobs.Damage(generationName(number), "is missing")
	}
	if err != nil {
		return err
	}
	g, err := c.openGeneration(number, sealed)
	if err != nil {
		return err
	}
	if c.now != nil && g.digest == c.now.digest {
		return c.See(g.number, g.digest, c.state.history())
	}
	before := *c
	if err := c.load(ctx, g, func(l listed) ([]byte, error) { return c.fetch(ctx, l) }); err != nil {
		return err
	}
	if err := c.See(g.number, g.digest, c.state.history()); err != nil {
		c.now, c.segments, c.state = before.now, before.segments, before.state
		return err
	}
	return c.settle(sealed)
}

// settle adds the current generation to the device's copy and removes the files
// of older generations.
func (c *Catalogue) settle(sealed []byte) error {
	keep := map[string]bool{generationName(c.now.number): true}
	for _, l := range c.now.segments {
		keep[l.name()] = true
	}
	if err := c.keep(generationName(c.now.number), sealed); err != nil || c.readOnly {
		return err
	}
	names, err := filepath.Glob(filepath.Join(c.Folder, "cpar-*"))
	for _, name := range names {
		if !keep[filepath.Base(name)] {
			os.Remove(name) // if this fails, the next generation tries again
		}
	}
	return err
}
