// Package repository stores files in kopia's repository format on an untrusted
// blob store.
//
//	file ─▶ splitter ─▶ deduplication ─▶ AEAD ─▶ packs ║─▶ blob store
//	object ─▶ index ─▶ ranges of packs ║─▶ file
//
// kopia's libraries (v0.23.1) do the work, so an unmodified kopia can read an
// Export. kopia trusts its storage for the names, sizes and times of blobs. This
// package takes them from pins, the owner's own records, instead.
//
// kopia gets a configuration without secrets and no folder for caches, because its
// index cache is not encrypted and its content cache is slow. This package caches
// index blobs itself, encrypted as at the server.
package repository

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
	"github.com/kopia/kopia/repo/object"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/seed"
	"cpar/user/album/blobs"
)

// Options describe a repository and this device's folder for it.
type Options struct {
	Store blobs.Store
	// Folder is a private folder for index blobs and, while Open runs, kopia's
	// configuration.
	Folder string
	// Secret is the album's secret. kopia's password and keys derive from it.
	Secret seed.Secret
	// Pins are the pins of the catalogue's newest generation, by blob.
	Pins map[string]blobs.Pin
	// Newest, if not nil, returns the pins of the newest generation at the server. If
	// another device has unpinned a missing blob, nothing is damaged.
	Newest func(context.Context) (map[string]blobs.Pin, error)
	// Now defaults to time.Now.
	Now func() time.Time
	// Strict hides unpinned index blobs, which a killed run may have left, and
	// reads every blob from the server.
	Strict bool
}

// A Repository is an open repository. Put, Open and Packs are safe for
// concurrent use.
type Repository struct {
	storage *storage
	rep     repo.DirectRepository
	writer  repo.DirectRepositoryWriter
	config  string
	fatal   error
	whole   bool // whether this process has listed all blobs
	lost    map[string]string
	mending sync.Mutex
	there   map[string]bool // pinned packs that the server has
	close   func()
}

// Password returns the password with which kopia opens the repository.
func Password(secret seed.Secret) string {
	p := secret.Derive("kopia password")
	return fmt.Sprintf("%x", p[:])
}

// storageType is the type of storage in kopia's configuration, which refers to an
// open storage by number and so contains no address or token.
const storageType = "cpar"

type connection struct {
	Number int `json:"number"`
}

var open struct {
	sync.Mutex
	last     int
	storages map[int]*storage
}

func init() {
	open.storages = map[int]*storage{}
	blob.AddSupportedStorage(storageType, connection{}, func(_ context.Context, c *connection, _ bool) (blob.Storage, error) {
		open.Lock()
		defer open.Unlock()
		if s := open.storages[c.Number]; s != nil {
			return s, nil
		}
		return nil, errors.New("the storage is not open")
	})
}

// Open opens the repository, and creates it if the store has none.
func Open(ctx context.Context, o Options) (*Repository, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("opening the repository: %w: %w", cpar.ErrStorage, err)
	}
	strays, err := readStrays(filepath.Join(o.Folder, "strays"), o.Now)
	if err != nil {
		return nil, fmt.Errorf("opening the repository: %w: %w", cpar.ErrStorage, err)
	}
	if o.Pins == nil {
		o.Pins = map[string]blobs.Pin{}
	}
	s := &storage{store: o.Store, newest: o.Newest, now: o.Now, strays: strays, strict: o.Strict, pins: o.Pins, added: map[string]blobs.Pin{}, removed: map[string]bool{}, found: map[string]blobs.Pin{}, cancels: map[int]context.CancelCauseFunc{}}
	if !o.Strict {
		s.cache = filepath.Join(o.Folder, "cache")
		if err := s.openCache(); err != nil {
			return nil, fmt.Errorf("opening the repository: %w: %w", cpar.ErrStorage, err)
		}
	}
	r := &Repository{storage: s, there: map[string]bool{}}
	if err := r.create(ctx, o.Secret); err != nil {
		return nil, r.Failed("creating the repository", err)
	}
	open.Lock()
	open.last++
	number := open.last
	open.storages[number] = s
	open.Unlock()
	r.config = filepath.Join(o.Folder, fmt.Sprintf("kopia-%d-%d.config", os.Getpid(), number))
	r.close = func() {
		open.Lock()
		delete(open.storages, number)
		open.Unlock()
		os.Remove(r.config + ".mlock")
	}
	if err := r.connect(ctx, o, number); err != nil {
		r.close()
		return nil, r.Failed("opening the repository", err)
	}
	return r, nil
}

// create initializes the repository if the store has none. All secrets derive from the
// album's secret, so two devices that run create at once create the same repository.
func (r *Repository) create(ctx context.Context, secret seed.Secret) error {
	ctx, done := r.storage.guard(ctx)
	defer done()
	if _, pinned := r.storage.pin("kopia.repository"); pinned {
		return nil
	}
	switch _, err := r.storage.store.Stat(ctx, "kopia.repository"); {
	case err == nil:
		return r.adoptFormat(ctx)
	case !errors.Is(err, blobs.ErrNotFound):
		return err
	}
	id, mac, master := secret.Derive("kopia id"), secret.Derive("kopia mac"), secret.Derive("kopia master key")
	o := &repo.NewRepositoryOptions{UniqueID: id[:], BlockFormat: format.ContentFormat{
		HMACSecret: mac[:], MasterKey: master[:], EnablePasswordChange: true,
	}}
	r.storage.creating = true
	defer func() { r.storage.creating = false }()
	if err := repo.Initialize(ctx, r.storage, o, Password(secret)); err != nil {
		return err
	}
	return r.adoptFormat(ctx)
}

// adoptFormat pins the blobs of the format, which another device or an
// interrupted creation may have written.
func (r *Repository) adoptFormat(ctx context.Context) error {
	for _, name := range []string{"kopia.repository", "kopia.blobcfg"} {
		b, err := r.storage.store.Get(ctx, name, 0, -1)
		if err != nil {
			return err
		}
		r.storage.added[name] = blobs.PinOf(b, r.storage.now())
	}
	return nil
}

// connect opens kopia's repository with a configuration for this process only.
func (r *Repository) connect(ctx context.Context, o Options, number int) error {
	ctx, done := r.storage.guard(ctx)
	defer done()
	device, err := deviceName(o.Folder)
	if err != nil {
		return err
	}
	b, err := json.Marshal(repo.LocalConfig{
		Storage: &blob.ConnectionInfo{Type: storageType, Config: &connection{number}},
		// Without options for caches, the environment cannot turn them on.
		ClientOptions: repo.ClientOptions{
			Hostname: device, Username: "cpar", Description: "album", FormatBlobCacheDuration: 15 * time.Minute,
		},
	})
	if err == nil {
		err = os.WriteFile(r.config, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	rep, err := repo.Open(ctx, r.config, Password(o.Secret), &repo.Options{
		TimeNowFunc: o.Now, DisableRepositoryLog: true, DoNotWaitForUpgrade: true,
		OnFatalError: func(err error) { r.fatal = err },
	})
	os.Remove(r.config) // kopia has read it
	if err != nil {
		return err
	}
	r.rep = rep.(repo.DirectRepository)
	_, r.writer, err = r.rep.NewDirectWriter(ctx, repo.WriteSessionOptions{Purpose: "album"})
	if err != nil {
		rep.Close(ctx)
	}
	return err
}

// deviceName returns the random name under which this device owns maintenance.
func deviceName(folder string) (string, error) {
	file := filepath.Join(folder, "device")
	b, err := os.ReadFile(file)
	if err == nil && len(b) > 0 {
		return string(b), nil
	}
	name := "device-" + strings.ToLower(rand.Text())
	return name, durable.WriteFile(file, []byte(name), 0o600)
}

// Failed wraps an error of kopia. If the storage has noticed damage, Failed wraps
// that error instead, because kopia obscures it.
func (r *Repository) Failed(what string, err error) error {
	r.storage.mu.Lock()
	damage := r.storage.damage
	r.storage.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case damage != nil:
		return fmt.Errorf("%s: %w", what, damage)
	case errors.Is(err, repo.ErrInvalidPassword):
		return fmt.Errorf("%s: %w: another key encrypted it", what, cpar.ErrKey)
	case errors.Is(err, context.Canceled), errors.Is(err, cpar.ErrCloud), errors.Is(err, cpar.ErrStorage), errors.Is(err, cpar.ErrInput):
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, blobs.ErrDamaged, err) // kopia cannot decrypt or find something
}

// Close closes the repository without flushing it.
func (r *Repository) Close(ctx context.Context) error {
	defer r.close()
	err := errors.Join(r.writer.Close(ctx), r.rep.Close(ctx))
	return errors.Join(err, r.storage.strays.write(r.whole))
}

// Put stores a file and returns the id of its object. It does not resend contents
// that the repository has. Flush makes the object durable.
func (r *Repository) Put(ctx context.Context, file io.Reader) (id string, size int64, err error) {
	ctx, done := r.storage.guard(ctx)
	defer done()
	w := r.writer.NewObjectWriter(ctx, object.WriterOptions{})
	defer w.Close()
	if size, err = io.Copy(w, file); err != nil {
		return "", size, r.Failed("storing a file", err)
	}
	o, err := w.Result()
	if err != nil {
		return "", size, r.Failed("storing a file", err)
	}
	return o.String(), size, nil
}

// Flush sends the data that Put has buffered.
func (r *Repository) Flush(ctx context.Context) error {
	ctx, done := r.storage.guard(ctx)
	defer done()
	return r.Failed("sending to the album", errors.Join(r.writer.Flush(ctx), r.fatal))
}

func (r *Repository) Sent() int64 {
	r.storage.mu.Lock()
	defer r.storage.mu.Unlock()
	return r.storage.sent
}

// Store stores a blob that kopia does not use. The next generation pins it.
func (r *Repository) Store(ctx context.Context, name string, b []byte) error {
	if err := r.storage.store.Put(ctx, name, b); err != nil {
		return fmt.Errorf("sending to the album: %w", err)
	}
	r.storage.mu.Lock()
	defer r.storage.mu.Unlock()
	r.storage.added[name] = blobs.PinOf(b, r.storage.now())
	r.storage.sent += int64(len(b))
	return nil
}

// Drop deletes a blob that Store has sent, after the commit of a generation
// without it.
func (r *Repository) Drop(ctx context.Context, name string) error {
	return r.storage.DeleteBlob(ctx, blob.ID(name))
}

// Changes returns the blobs that the next generation must pin and unpin.
func (r *Repository) Changes() (added map[string]blobs.Pin, removed []string) {
	return r.storage.changes()
}

// maxUnpinned is the longest time between writing and pinning a blob. Maintenance
// deletes blobs that the maintaining device has seen unpinned for a day.
const maxUnpinned = 20 * time.Hour

// Fresh returns ErrBusy if this process wrote an unpinned blob so long ago, for
// example before the computer slept, that another device may have deleted it.
func (r *Repository) Fresh() error {
	r.storage.mu.Lock()
	defer r.storage.mu.Unlock()
	for _, p := range r.storage.added {
		if r.storage.now().Sub(time.Unix(p.Time, 0)) > maxUnpinned {
			return errBusy()
		}
	}
	return nil
}

// Since returns the time when this device first saw an unpinned blob.
func (r *Repository) Since(name string) time.Time { return r.storage.strays.since(name) }

// Committed adopts the pins of a committed generation, and deletes removed blobs
// that the generation does not pin.
func (r *Repository) Committed(ctx context.Context, pins map[string]blobs.Pin) error {
	return r.Failed("deleting blobs", r.storage.committed(ctx, pins))
}

// Open opens an object for reading at any offset.
func (r *Repository) Open(ctx context.Context, id string) (io.ReadSeekCloser, error) {
	o, err := object.ParseID(id)
	if err != nil {
		return nil, fmt.Errorf("opening an object: %w: %w", cpar.ErrCorrupt, err)
	}
	ctx, done := r.storage.guard(ctx)
	f, err := r.rep.OpenObject(ctx, o)
	if err != nil {
		done()
		return nil, r.Failed("opening an object", err)
	}
	return &opened{f, done}, nil
}

// An opened object ends its guard (see storage.guard) when it is closed.
type opened struct {
	object.Reader
	done func()
}

func (o *opened) Close() error {
	defer o.done()
	return o.Reader.Close()
}
