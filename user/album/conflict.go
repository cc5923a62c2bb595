package album

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/user"
	"cpar/user/album/catalogue"
	"cpar/user/device"
)

// A Conflict reports that the server's state does not descend from the newest
// state that this device has seen. The server has rolled back or forked the album.
type Conflict struct {
	error
	Difference
	unknown error // why Difference is empty
}

// refused marks an error that compared turns into a Conflict.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// A Difference lists, by path, the photos of this device's copy of the catalogue
// that another state lacks (Vanished) or has in another form (Changed): with other
// files or keywords, or moved to or from the trash.
type Difference struct {
	Vanished []string `json:"vanished"`
	Changed  []string `json:"changed"`
}

func (c *Conflict) Unwrap() error { return c.error }

func (c *Conflict) Error() string {
	if c.unknown != nil {
		return fmt.Sprintf("%v; the photos affected are unknown: %v", c.error, c.unknown)
	}
	return fmt.Sprintf("%v; %d photos vanish, and %d are different", c.error, len(c.Vanished), len(c.Changed))
}

func generation(key *user.Key, number uint64, digest [sha256.Size]byte) device.IndexGeneration {
	return device.IndexGeneration{Origin: ID(key), ID: ID(key), Generation: number, Digest: digest}
}

// compared turns a refused error into a Conflict, which contains the difference
// between this device's copy of the catalogue and the server's state.
func (a *Album) compared(ctx context.Context, err error) error {
	if !errors.As(err, &refused{}) || errors.As(err, new(*Conflict)) {
		return err
	}
	c := &Conflict{error: err}
	if !a.Known() {
		c.unknown = errors.New("this device has no copy of the catalogue")
		return c
	}
	folder, err := os.MkdirTemp("", "cpar-album-")
	if err != nil {
		c.unknown = err
		return c
	}
	defer os.RemoveAll(folder)
	var shown *catalogue.Catalogue
	if shown, _, c.unknown = a.fetchState(ctx, folder); c.unknown == nil {
		c.Difference = difference(a.catalogue.State(), shown.State())
	}
	return c
}

// fetchState fetches the server's state into a folder, without comparing it with
// states that this device has seen.
func (a *Album) fetchState(ctx context.Context, folder string) (c *catalogue.Catalogue, newest device.IndexGeneration, err error) {
	o := a.catalogue.Options
	o.Folder = folder
	o.See = func(number uint64, digest [sha256.Size]byte, _ user.History) error {
		newest = generation(a.o.Key, number, digest)
		return nil
	}
	if c, err = catalogue.Open(ctx, o); err == nil {
		_, err = c.Sync(ctx)
	}
	return c, newest, err
}

func difference(old, now *catalogue.State) Difference {
	d := Difference{Vanished: []string{}, Changed: []string{}}
	paths, rows := map[string]bool{}, map[catalogue.Key]*catalogue.Photo{}
	for _, p := range now.Photos() {
		paths[p.Path()], rows[p.Key()] = true, p
	}
	for _, p := range old.Photos() {
		q := rows[p.Key()]
		switch {
		case !paths[p.Path()]:
			d.Vanished = append(d.Vanished, p.Path())
		case q == nil || !p.SameFiles(q) || !slices.Equal(p.Keywords, q.Keywords):
			d.Changed = append(d.Changed, p.Path())
		}
	}
	d.Vanished, d.Changed = slices.Compact(d.Vanished), slices.Compact(d.Changed)
	return d
}

// Trust makes the device accept the server's state, for example after the
// operator has restored a backup. It returns the album in this state and the
// difference from this device's copy of the catalogue, whose folder it renames to
// `kept`. Without a Conflict, Trust changes nothing.
func (a *Album) Trust(ctx context.Context) (now *Album, d Difference, kept string, err error) {
	release, err := a.lock()
	if err != nil {
		return nil, d, "", err
	}
	defer release()
	if _, err := a.sync(ctx); !errors.As(err, new(*Conflict)) {
		return a, d, "", err
	}
	folder, next := a.catalogue.Folder, a.catalogue.Folder+".new"
	if err := os.RemoveAll(next); err != nil {
		return nil, d, "", fmt.Errorf("fetching the catalogue: %w: %w", cpar.ErrStorage, err)
	}
	shown, newest, err := a.fetchState(ctx, next)
	if err != nil {
		return nil, d, "", err
	}
	d = difference(a.catalogue.State(), shown.State())
	if err := a.o.Device.TrustAlbum(a.o.Key, newest); err != nil {
		return nil, d, "", err
	}
	kept = fmt.Sprintf("%s-%d-%s", folder, a.catalogue.State().Number, a.o.Now().UTC().Format("20060102T150405.000Z"))
	if err := errors.Join(os.Rename(folder, kept), os.Rename(next, folder)); err != nil {
		return nil, d, "", fmt.Errorf("keeping the catalogue: %w: %w", cpar.ErrStorage, err)
	}
	kept, err = filepath.Abs(kept)
	if err == nil {
		now, err = Open(ctx, a.o)
	}
	return now, d, kept, err
}
