package catalogue

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
)

// This file holds the device's copy of a catalogue. Other catalogues may share its
// folder, in this process (a page) and in others (a command).

// lock keeps other catalogues, also those of other processes, from reading or
// changing the folder.
func (c *Catalogue) lock() (release func(), err error) {
	l := flock.New(filepath.Join(c.Folder, "lock"), flock.SetPermissions(0o600))
	if err := l.Lock(); err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	return func() { l.Close() }, nil
}

// kept returns the name of the newest generation in the folder, or "".
func (c *Catalogue) kept() (string, error) {
	names, err := filepath.Glob(filepath.Join(c.Folder, generationPrefix+"*"))
	if err != nil || len(names) == 0 {
		return "", err
	}
	return filepath.Base(slices.Max(names)), nil
}

func (c *Catalogue) local(l listed) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(c.Folder, l.name()))
	if err == nil && sha256.Sum256(b) != l.digest {
		err = fs.ErrNotExist
	}
	return b, err
}

// settle adds the current generation and its new segments to the copy, and removes
// the files of older generations. If another catalogue has added a newer
// generation, settle leaves the copy as it is.
func (c *Catalogue) settle(sealed []byte, segments map[string][]byte) error {
	if c.looking {
		return nil
	}
	release, err := c.lock()
	if err != nil {
		return fmt.Errorf("keeping the catalogue: %w", err)
	}
	defer release()
	generation := generationName(c.now.number)
	if newest, err := c.kept(); err != nil || newest > generation {
		return err
	}
	write := func(name string, b []byte) {
		if err == nil {
			err = durable.WriteFile(filepath.Join(c.Folder, name), b, 0o600)
		}
	}
	keep := map[string]bool{generation: true}
	for _, l := range c.now.segments {
		keep[l.name()] = true
		if b, ok := segments[l.name()]; ok {
			write(l.name(), b)
		}
	}
	if write(generation, sealed); err != nil {
		return fmt.Errorf("keeping the catalogue: %w", err)
	}
	names, err := filepath.Glob(filepath.Join(c.Folder, "cpar-*"))
	for _, name := range names {
		if !keep[filepath.Base(name)] {
			os.Remove(name) // if this fails, the file stays until the next commit
		}
	}
	return err
}

// Newest fetches the newest state, and changes neither c nor the folder. It may run
// beside other calls.
func (c *Catalogue) Newest(ctx context.Context) (*State, error) {
	look := &Catalogue{Options: c.Options, cipher: c.cipher, state: newState(0, nil), looking: true}
	_, err := look.Sync(ctx)
	return look.state, err
}
