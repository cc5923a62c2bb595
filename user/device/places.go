package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zalando/go-keyring"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/interruptible"
)

// A Place is one kind of data that cpar keeps on this device.
type Place struct {
	Name  string   `json:"name"` // the name by which users select the place
	What  string   `json:"what"`
	Paths []string `json:"paths"`
	Files int      `json:"files"`
	Bytes int64    `json:"bytes"`
}

// Files in keyringPlace only mark entries of the keyring.
const keyringPlace = "keyring"

// Places lists the data that this device keeps, in an order in which they can
// be removed. Key files are not included.
func (d *Device) Places() ([]Place, error) {
	state := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(d.State, name))
		}
		return paths
	}
	out := []Place{
		{Name: "cache", What: "features, ledgers and segments of indexes, which cpar computes or fetches again"},
		{Name: "album", What: "copies of the album's catalogue, indexes and photos, which cpar album fetches again", Paths: state(albumsFolder)},
		{Name: keyringPlace, What: "entries of the system's keyring that open key files", Paths: state("remembered")},
		{Name: "journals", What: "answers, and the data that undo needs", Paths: state(journalsFolder)},
		{Name: "memory", What: "names of indexes, and the generations by which old indexes are refused", Paths: state("keys", "keyfiles", "made", "indexes")},
		{Name: "networks", What: "image networks from cpar model get", Paths: state("models")},
		{Name: "vision", What: "the service key of cpar vision-serve", Paths: state("vision-token")},
		{Name: "watch", What: "the state of each cpar watch, which cpar doctor shows", Paths: state("watch")},
	}
	// List the cache's parts, because the folder may also hold the settings.
	for _, k := range kept {
		if d.Cache != "" {
			out[0].Paths = append(out[0].Paths, d.cached(k.folder))
		}
	}
	for i := range out {
		if err := out[i].Measure(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *Place) Measure() error {
	p.Files, p.Bytes = 0, 0
	for _, path := range p.Paths {
		files, bytes, err := held(path)
		if err != nil {
			return fmt.Errorf("looking at %s: %w: %w", path, cpar.ErrStorage, err)
		}
		p.Files += files
		p.Bytes += bytes
	}
	return nil
}

// Remove removes everything in a place. It also removes the folders of this
// device if they are empty afterwards.
func (d *Device) Remove(ctx context.Context, ring Keyring, p Place) error {
	if p.Name == keyringPlace {
		if err := d.forgetAll(ctx, ring); err != nil {
			return err
		}
	}
	for _, path := range p.Paths {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing %s: %w: %w", path, cpar.ErrStorage, err)
		}
	}
	for _, folder := range []string{d.State, d.Cache} {
		_ = os.Remove(folder) // fails unless the folder is empty
	}
	return nil
}

func (d *Device) forgetAll(ctx context.Context, ring Keyring) error {
	markers, err := os.ReadDir(d.marker(""))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading %s: %w: %w", d.marker(""), cpar.ErrStorage, err)
	}
	for _, m := range markers {
		_, err := interruptible.Answer(ctx, func() (string, error) { return "", ring.Delete(keyringService, m.Name()) })
		if err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return hint.Add(fmt.Errorf("removing an entry: %w: %w: %w", cpar.ErrStorage, errKeyring, err), "remove the entries %q in your system's keyring", keyringService)
		}
	}
	return nil
}
