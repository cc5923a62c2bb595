// Package device is one device of the owner's: what it has seen of the indexes at
// clouds, and the walk of a photo.
//
//	Key      a key file ─▶ user.Key, no wider than this device knows it
//	Open     a cloud ─▶ Index: manifest, ledger, what must be at home
//	Annotate photos ─▶ requests ║─▶ replies ║─▶ keywords
//	Push     a folder ─▶ the cloud; remembered as seen
//
// A cloud is not believed: it may offer an older state of an index, another index
// of the same key, or one of a scheme that shows it more. What was seen lies in the
// state folder by the key's fingerprint and the index's origin, never by the
// cloud's address, and not in the cache, which people clean:
//
//	STATE/keys/FINGERPRINT     the policy, the index in use, the newest state of each
//	STATE/made/STATE-DIGEST    a state that was made here, and from which other
//	STATE/indexes/FINGERPRINT  names of indexes, encrypted
//	CACHE/ledgers/ID           ledgers, encrypted as they came
//	CACHE/profiles/ID          profiles, likewise
//	CACHE/held/ID/DIGEST       what must be at home, encrypted as it came
package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/user"
)

// A Device has a folder of what it remembers, which must not be lost, and one of
// what it can fetch again, which may be "".
type Device struct{ State, Cache string }

// This is the device that the program runs on.
func This() (*Device, error) {
	state, err := stateFolder()
	if err != nil {
		return nil, hint.Add(fmt.Errorf("finding the folder that remembers what was seen: %w: %w", cpar.ErrStorage, err), "set XDG_STATE_HOME to a folder of yours")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return &Device{State: state}, nil
	}
	return &Device{State: state, Cache: filepath.Join(cache, "cpar")}, nil
}

// stateFolder is where programs of this system keep what they must not forget.
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "cpar"), nil
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "cpar", "state"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state", "cpar"), err
}

// cached is where something is kept that can be fetched again, "" if nowhere.
func (d *Device) cached(names ...string) string {
	if d.Cache == "" {
		return ""
	}
	return filepath.Join(append([]string{d.Cache}, names...)...)
}

// ReadKey reads a key file. What may be used with the key is what the file and this
// device both allow, and the device takes over what the file no longer does: an
// older copy of the file never widens it.
func (d *Device) ReadKey(path string, how user.Unlock) (*user.Key, error) {
	key, err := user.ReadKeyFile(path, how)
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

// SetPolicy changes what may be used with a key, in its file and on this device.
func (d *Device) SetPolicy(path string, how user.Unlock, p user.Policy) (*user.Key, error) {
	key, err := user.SetPolicy(path, how, p)
	if err != nil {
		return nil, err
	}
	return key, d.Allow(key)
}

// Allow has this device take over the policy of a key that was made or changed here.
func (d *Device) Allow(key *user.Key) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		p := key.Policy()
		m.Allows = &p
		return nil
	})
}

// readSmall is what a small file says, nil where there is none.
func readSmall(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was seen before: %w: %w", cpar.ErrStorage, err)
	}
	return b, nil
}

// writeSmall writes a small file, whole or not at all.
func writeSmall(path string, b []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = durable.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remembering what was seen: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

// locked works on a file while no other command does.
func locked(path string, work func() error) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err == nil {
		err = lock.Lock() // held for as long as a small file takes to write
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w: %w", path, cpar.ErrStorage, err)
	}
	defer lock.Close()
	return work()
}
