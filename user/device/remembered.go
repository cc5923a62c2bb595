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

// A Keyring keeps secrets for the person who is logged in. There is none in a file: where
// the system has no keyring, nothing is remembered.
type Keyring interface {
	Set(service, name, secret string) error
	Get(service, name string) (string, error)
	Delete(service, name string) error
}

// SystemKeyring is the Secret Service on Linux, Keychain on macOS and the Credential
// Manager on Windows.
type SystemKeyring struct{}

func (SystemKeyring) Set(service, name, secret string) error {
	return keyring.Set(service, name, secret)
}
func (SystemKeyring) Get(service, name string) (string, error) { return keyring.Get(service, name) }
func (SystemKeyring) Delete(service, name string) error        { return keyring.Delete(service, name) }

// keyringService is the name under which keyrings show what is ours.
const keyringService = "cpar key file"

var errKeyring = errors.New("the system's keyring")

// keyringHint is for systems without one, such as a machine that is reached by ssh.
const keyringHint = "nothing was remembered, and nothing is ever kept in a file instead; the passphrase is asked for as before"

// marker says that a file's identity was remembered here, so that no other file's is ever
// looked for: to ask a keyring may show a window.
func (d *Device) marker(file string) string { return filepath.Join(d.State, "remembered", file) }

// Remember puts what opens a key file into the keyring: not the passphrase, but the
// identity that the passphrase opens (user.Identity).
func (d *Device) Remember(ctx context.Context, ring Keyring, path string, how user.Unlock) error {
	how.Identity = nil // the person shows once more that the key is theirs
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
		// The file could not be written, so that no file has this id: the entry opens nothing.
		_, _ = interruptible.Answer(ctx, func() (string, error) { return "", ring.Delete(keyringService, kept) })
	}
	return err
}

// Forget takes what opens a key file out of the keyring. known is whether it was there.
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

// Remembers is whether the identity of a key file was put into the keyring here.
func (d *Device) Remembers(path string) (bool, error) {
	id, err := user.FileID(path)
	return err == nil && id != "" && d.remembers(id), err
}

func (d *Device) remembers(file string) bool {
	_, err := os.Stat(d.marker(file))
	return err == nil
}

// Recall is user.Unlock.Identity from a keyring. Of a keyring that cannot be asked, failed
// is told, if it is not nil; the passphrase is then asked for.
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

// ProbeKeyring finds out whether there is a keyring that answers, by asking for what it does
// not have.
func ProbeKeyring(ctx context.Context, ring Keyring) error {
	_, err := interruptible.Answer(ctx, func() (string, error) { return ring.Get(keyringService, "cpar doctor") })
	if err == nil || errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("%w: %w", errKeyring, err)
}
