package device

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zalando/go-keyring"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/interruptible"
	"cpar/user"
)

// A Keyring stores secrets for the logged-in user, never in a file.
type Keyring interface {
	Set(service, name, secret string) error
	Get(service, name string) (string, error)
	Delete(service, name string) error
}

// SystemKeyring uses the Secret Service on Linux, Keychain on macOS and the
// Credential Manager on Windows.
type SystemKeyring struct{}

func (SystemKeyring) Set(service, name, secret string) error {
	return keyring.Set(service, name, secret)
}
func (SystemKeyring) Get(service, name string) (string, error) { return keyring.Get(service, name) }
func (SystemKeyring) Delete(service, name string) error        { return keyring.Delete(service, name) }

const keyringService = "cpar key file"

var errKeyring = errors.New("the system's keyring")

// keyringHint is for systems without a keyring, such as an SSH host.
const keyringHint = "nothing was remembered, and nothing is kept in a file instead; without a keyring pass --passphrase-file FILE, or set passphrase-file in the settings"

// marker returns the path of a file that marks a remembered identity. Without
// the file, the keyring is not queried, because a query may open a window.
func (d *Device) marker(file string) string { return filepath.Join(d.State, "remembered", file) }

// Remember stores in the keyring the identity (private key) that the passphrase
// unlocks (user.Identity), not the passphrase.
func (d *Device) Remember(ctx context.Context, ring Keyring, path string, how user.Unlock) error {
	how.Identity = nil // the user enters the passphrase once more
	kept := ""
	err := user.Identity(path, how, func(id, identity string) error {
		if _, err := interruptible.Answer(ctx, func() (string, error) { return "", ring.Set(keyringService, id, identity) }); err != nil {
			return hint.Add(fmt.Errorf("remembering key file %s: %w: %w: %w", path, cpar.ErrStorage, errKeyring, err), keyringHint)
		}
		kept = id
		return nil
	})
	switch {
	case err == nil:
		return writeSmall(d.marker(kept), nil)
	case kept != "":
		// The key file was not written, so the entry belongs to no file.
		_, _ = interruptible.Answer(ctx, func() (string, error) { return "", ring.Delete(keyringService, kept) })
	}
	return err
}

// Forget removes a key file's identity from the keyring. Result `known`
// reports whether the keyring held the identity.
func (d *Device) Forget(ctx context.Context, ring Keyring, path string) (known bool, err error) {
	id, err := user.FileID(path)
	if err != nil || id == "" || !d.remembers(id) {
		return false, err
	}
	_, err = interruptible.Answer(ctx, func() (string, error) { return "", ring.Delete(keyringService, id) })
	if known = err == nil; !known && !errors.Is(err, keyring.ErrNotFound) {
		return false, hint.Add(fmt.Errorf("forgetting key file %s: %w: %w: %w", path, cpar.ErrStorage, errKeyring, err), "remove the entry %q in your system's keyring", keyringService)
	}
	if err := os.Remove(d.marker(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return known, fmt.Errorf("forgetting key file %s: %w: %w", path, cpar.ErrStorage, err)
	}
	return known, nil
}

// Remembers reports whether this device stored the identity of a key file in
// the keyring.
func (d *Device) Remembers(path string) (bool, error) {
	id, err := user.FileID(path)
	return err == nil && id != "" && d.remembers(id), err
}

func (d *Device) remembers(file string) bool {
	_, err := os.Stat(d.marker(file))
	return err == nil
}

// Recall returns a function for user.Unlock.Identity that reads from a
// keyring. Function `failed`, if not nil, receives failures of the keyring.
func (d *Device) Recall(ctx context.Context, ring Keyring, failed func(error)) func(file string) string {
	return func(file string) string {
		if !d.remembers(file) {
			return ""
		}
		identity, err := interruptible.Answer(ctx, func() (string, error) { return ring.Get(keyringService, file) })
		if err != nil && failed != nil {
			failed(fmt.Errorf("%w: %w", errKeyring, err))
		}
		return identity
	}
}

// ProbeKeyring tests the keyring by requesting an entry that does not exist.
func ProbeKeyring(ctx context.Context, ring Keyring) error {
	_, err := interruptible.Answer(ctx, func() (string, error) { return ring.Get(keyringService, "cpar doctor") })
	if err == nil || errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("%w: %w", errKeyring, err)
}
