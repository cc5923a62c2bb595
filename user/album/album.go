// Package album stores photos encrypted at a server that cannot see them.
//
//	photo, sidecars ─▶ repository ─▶ packs ────────┐
//	photo ─▶ thumbnails ─▶ parts by month ─────────┤
//	metadata ─▶ row ─▶ catalogue ─▶ generation ║─▶ blob store
//	query ─▶ catalogue on the device ─▶ rows ─▶ repository ─▶ files
//
// The device fetches the whole catalogue and searches it locally, so the server
// sees nothing of a search. Each version of the catalogue is a generation. Add
// sends a photo's bytes before it commits the generation with the photo's row.
package album

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/user"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
	"cpar/user/album/repository"
	"cpar/user/album/thumbs"
	"cpar/user/device"
)

// Options select an album and the device that opens it.
type Options struct {
	Store  blobs.Store
	Key    *user.Key
	Device *device.Device
	// Others, if not nil, returns the number of albums that the owner has at the
	// server under other keys.
	Others func(ctx context.Context) (int, error)
	// Now defaults to time.Now.
	Now func() time.Time
}

// An Album is this device's copy of the album of a key.
type Album struct {
	seed.Redacted
	o         Options
	secret    seed.Secret
	folder    string
	catalogue *catalogue.Catalogue
	thumbs    *thumbs.Reader
}

// ID returns the id under which the server knows a key's album.
func ID(key *user.Key) (id cpar.IndexID) {
	d := seed.Secret(key.Album()).Derive("id")
	copy(id[:], d[:])
	return id
}

// Open opens the device's copy of the album, without a request to the server.
func Open(ctx context.Context, o Options) (*Album, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Album{o: o, secret: o.Key.Album(), folder: o.Device.AlbumFolder(o.Key)}
	var err error
	a.catalogue, err = catalogue.Open(ctx, catalogue.Options{
		Store: o.Store, Album: ID(o.Key), Folder: filepath.Join(a.folder, "catalogue"), Secret: a.secret,
		See: func(number uint64, digest [sha256.Size]byte, h user.History) error {
			err := o.Device.SeeAlbum(o.Key, generation(o.Key, number, digest), h)
			if errors.Is(err, cpar.ErrCloud) {
				return refused{err}
			}
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	a.thumbs = thumbs.NewReader(o.Store, filepath.Join(a.folder, "thumbs"), a.secret)
	return a, a.tidy()
}

// Known reports whether this device has a copy of the catalogue.
func (a *Album) Known() bool { return a.catalogue.State().Number > 0 }

// Sync fetches the newest generation. It fails if the server has no album of this key.
func (a *Album) Sync(ctx context.Context) error {
	there, err := a.sync(ctx)
	if err == nil && !there {
		err = hint.Add(fmt.Errorf("reading the album: %w: the server has no album of this key", cpar.ErrInput), "make one: cpar album add PHOTOS")
	}
	return err
}

// sync is like Sync, but returns false if the server has no album of this key.
func (a *Album) sync(ctx context.Context) (bool, error) {
	there, err := a.catalogue.Sync(ctx)
	return there, a.compared(ctx, err)
}

// lock keeps other processes of this device from writing to the album.
func (a *Album) lock() (release func(), err error) { return a.lockFile("lock", "writing to it") }

// lockFile locks a file in the album's folder. If another process has locked the
// file, the error names the activity `doing`.
func (a *Album) lockFile(name, doing string) (release func(), err error) {
	if err := os.MkdirAll(a.folder, 0o700); err != nil {
		return nil, fmt.Errorf("opening the album: %w: %w", cpar.ErrStorage, err)
	}
	l := flock.New(filepath.Join(a.folder, name), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("locking the album: %w: %w", cpar.ErrStorage, err)
	case !ok:
		return nil, hint.Add(fmt.Errorf("locking the album: %w: another cpar is %s", cpar.ErrStorage, doing), "wait until it has ended")
	}
	return func() { l.Close() }, nil
}

func (a *Album) repository(ctx context.Context, strict bool) (*repository.Repository, error) {
	return a.repositoryOf(ctx, a.catalogue.State().Pins, strict)
}

func (a *Album) repositoryOf(ctx context.Context, pins map[string]blobs.Pin, strict bool) (*repository.Repository, error) {
	return repository.Open(ctx, repository.Options{Strict: strict, Store: a.o.Store, Folder: filepath.Join(a.folder, "kopia"),
		Secret: a.secret, Pins: pins, Newest: a.newestPins, Now: a.o.Now})
}

// newestPins fetches the pins of the newest generation and leaves the current
// state unchanged.
func (a *Album) newestPins(ctx context.Context) (map[string]blobs.Pin, error) {
	s, err := a.catalogue.Newest(ctx)
	return s.Pins, a.compared(ctx, err)
}

// commit commits the change that function create returns. If r is not nil, commit also
// pins the blobs that r has added, unpins those that r has removed, and adopts
// the packs that an interrupted run has entered in kopia's indexes.
func (a *Album) commit(ctx context.Context, r *repository.Repository, create func(*catalogue.State) (*catalogue.Change, error)) error {
	if r != nil {
		if err := r.Adopt(ctx); err != nil {
			return err
		}
	}
	err := a.catalogue.Commit(ctx, func(s *catalogue.State) (*catalogue.Change, error) {
		c, err := create(s)
		if err != nil || r == nil {
			return c, err
		}
		if err := r.Fresh(); err != nil {
			return nil, fmt.Errorf("committing to the album: %w", err)
		}
		var removed []string
		c.Pins, removed = r.Changes()
		maps.DeleteFunc(c.Pins, func(name string, p blobs.Pin) bool { return s.Pins[name] == p })
		for _, name := range removed {
			if _, has := s.Pins[name]; has {
				c.Unpinned = append(c.Unpinned, name)
			}
		}
		return c, nil
	})
	if r != nil && (err == nil || errors.Is(err, catalogue.ErrCommitted)) {
		if after := r.Committed(ctx, a.catalogue.State().Pins); after != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", catalogue.ErrCommitted, after))
		}
	}
	return a.compared(ctx, err)
}

// edit commits a change that only affects rows, and returns their number.
func (a *Album) edit(ctx context.Context, create func(*catalogue.State) *catalogue.Change) (n int, err error) {
	release, err := a.lock()
	if err != nil {
		return 0, err
	}
	defer release()
	if err := a.Sync(ctx); err != nil {
		return 0, err
	}
	err = a.commit(ctx, nil, func(s *catalogue.State) (*catalogue.Change, error) {
		c := create(s)
		n = cmp.Or(len(c.Put), len(c.Remove))
		return c, nil
	})
	return n, err
}

// Find returns the photos that match a query, in the trash or outside it.
func (a *Album) Find(q query.Query, trash bool) []*catalogue.Photo {
	return find(a.catalogue.State(), q, trash)
}

func find(s *catalogue.State, q query.Query, trash bool) []*catalogue.Photo {
	return query.NewIndex(s.Photos(), func(p *catalogue.Photo) bool { return (p.Trashed != 0) == trash }).Find(q)
}

// Remove moves the photos that match a query to the trash.
func (a *Album) Remove(ctx context.Context, q query.Query) (int, error) {
	return a.edit(ctx, func(s *catalogue.State) *catalogue.Change {
		c := &catalogue.Change{}
		for _, p := range find(s, q, false) {
			a.trash(c, p)
		}
		return c
	})
}

// trash makes change c move photo p to the trash.
func (a *Album) trash(c *catalogue.Change, p *catalogue.Photo) {
	moved := *p
	moved.Trashed = a.o.Now().UnixNano()
	c.Put, c.Remove = append(c.Put, &moved), append(c.Remove, p.Key())
}

// Suggest adds the suggestions in `words`, a map by path, to photos without keywords.
func (a *Album) Suggest(ctx context.Context, words map[string][]catalogue.Keyword) error {
	_, err := a.edit(ctx, func(s *catalogue.State) *catalogue.Change {
		c := &catalogue.Change{}
		for path, list := range words {
			if p := s.Photo(path); p != nil && len(p.Keywords) == 0 {
				now := *p
				now.Keywords = list
				c.Put = append(c.Put, &now)
			}
		}
		return c
	})
	return err
}

// Restore takes the newest matching version of each path out of the trash, and
// moves the photo that has the path until then into the trash.
func (a *Album) Restore(ctx context.Context, q query.Query) (n int, err error) {
	_, err = a.edit(ctx, func(s *catalogue.State) *catalogue.Change {
		c, newest := &catalogue.Change{}, map[string]*catalogue.Photo{}
		for _, p := range find(s, q, true) { // sorted by time within a path
			newest[p.Path()] = p
		}
		for path, p := range newest {
			if now := s.Photo(path); now != nil {
				moved := *now
				moved.Trashed = a.o.Now().UnixNano()
				c.Put = append(c.Put, &moved)
			}
			back := *p
			back.Trashed = 0
			c.Put, c.Remove = append(c.Put, &back), append(c.Remove, p.Key())
		}
		n = len(newest)
		return c
	})
	return n, err
}

// Empty permanently removes the photos in the trash that match a query. Maintain
// frees their bytes, but not before a day has passed.
func (a *Album) Empty(ctx context.Context, q query.Query) (int, error) {
	return a.edit(ctx, func(s *catalogue.State) *catalogue.Change {
		c := &catalogue.Change{}
		for _, p := range find(s, q, true) {
			c.Remove = append(c.Remove, p.Key())
		}
		return c
	})
}

// Usage counts the photos of an album and its bytes at the server.
type Usage struct {
	Photos    int   `json:"photos"`
	Bytes     int64 `json:"bytes"`
	Trash     int   `json:"trash"`
	TrashSize int64 `json:"trash_bytes"`
	Stored    int64 `json:"stored_bytes"` // size of all pinned blobs
	Blobs     int   `json:"blobs"`
	Catalogue int64 `json:"catalogue_bytes"`
}

// Usage counts the photos in the device's copy.
func (a *Album) Usage() (u Usage) {
	s := a.catalogue.State()
	for _, p := range s.Photos() {
		if p.Trashed != 0 {
			u.Trash++
			u.TrashSize += p.Size()
		} else {
			u.Photos++
			u.Bytes += p.Size()
		}
	}
	for _, p := range s.Pins {
		u.Stored += p.Size
	}
	u.Blobs, u.Catalogue = len(s.Pins), a.catalogue.Bytes()
	return u
}
