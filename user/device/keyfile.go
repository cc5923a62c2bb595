package device

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

var ErrOtherKey = errors.New("it holds another key than before")

// ReadKey reads a key file and restricts the key to the schemes that both the
// file and this device allow. The device stores the resulting policy, so an
// older copy of the file never widens it. ReadKey rejects a file that held
// another key earlier (cpar.ErrKey and ErrOtherKey).
func (d *Device) ReadKey(path string, how user.Unlock) (*user.Key, error) {
	key, err := user.ReadKeyFile(path, how)
	if err == nil {
		err = d.checkKeyFile(path, key)
	}
	if err != nil {
		return nil, err
	}
	err = d.withMemory(key.Fingerprint(), func(m *memory) error {
		if m.Allows != nil {
			key = key.Restricted(*m.Allows)
		}
		p := key.Policy()
		m.Allows = &p
		return nil
	})
	return key, err
}

// SetPolicy changes a key's policy in its file and on this device.
func (d *Device) SetPolicy(path string, how user.Unlock, p user.Policy) (*user.Key, error) {
	key, err := user.SetPolicy(path, how, p)
	if err == nil {
		err = d.checkKeyFile(path, key)
	}
	if err != nil {
		return nil, err
	}
	return key, d.allow(key)
}

// Adopt records a key and its policy after this device wrote the key to a new file.
func (d *Device) Adopt(path string, key *user.Key) error {
	if err := d.NewKeyFile(path); err != nil {
		return err
	}
	if err := d.checkKeyFile(path, key); err != nil {
		return err
	}
	return d.allow(key)
}

func (d *Device) allow(key *user.Key) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		p := key.Policy()
		m.Allows = &p
		return nil
	})
}

// NewKeyFile forgets the key that a file held, so that the owner can replace
// the file.
func (d *Device) NewKeyFile(path string) error {
	seen, err := d.keyFile(path)
	if err == nil {
		err = os.Remove(seen)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forgetting key file %s: %w: %w", path, cpar.ErrStorage, err)
	}
	return nil
}

// checkKeyFile compares the key in a file with the key that this device first
// read from the file. Someone with write access to the folder could have
// substituted their own key.
func (d *Device) checkKeyFile(path string, key *user.Key) error {
	seen, err := d.keyFile(path)
	if err != nil {
		return err
	}
	before, err := readSmall(seen)
	switch {
	case err != nil:
		return err
	case before == nil:
		return writeSmall(seen, []byte(key.Fingerprint()))
	case string(before) == key.Fingerprint():
		return nil
	}
	return hint.Add(fmt.Errorf("reading key file %s: %w: %w (%.8s…, now %.8s…)", path, cpar.ErrKey, ErrOtherKey, before, key.Fingerprint()),
		"someone may have replaced it: use your copy; if you replaced it yourself, pass --new-key once")
}

// keyFile returns the path at which this device records the fingerprint of a
// key file.
func (d *Device) keyFile(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding key file %s: %w: %w", path, cpar.ErrInput, err)
	}
	return filepath.Join(d.State, "keyfiles", fmt.Sprintf("%x", sha256.Sum256([]byte(whole)))), nil
}
