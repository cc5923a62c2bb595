// Package device represents one of the owner's devices. It annotates photos and
// remembers the index generations that the device has seen at clouds.
//
//	Key      key file ─▶ user.Key, restricted to the policy known to this device
//	Open     cloud ─▶ Index: manifest, ledger, and segments held locally
//	Annotate photos ─▶ requests ║─▶ replies ║─▶ keywords
//	Push     folder ─▶ cloud, recorded as seen
//
// The cloud is untrusted. It may offer an older generation, another index of
// the same key, or a scheme that reveals more. The device records the
// generations seen, by the key's fingerprint and the index's origin. The record
// is outside the cache, because users delete the cache:
//
//	STATE/keys/FINGERPRINT     policy, index in use, newest generation of each index
//	STATE/keyfiles/PATH-DIGEST the fingerprint of the key in a file
//	STATE/made/STATE-DIGEST    a generation made here, and its parent
//	STATE/indexes/FINGERPRINT  index names, encrypted
//	CACHE/ledgers/ID           ledgers, encrypted as received
//	CACHE/profiles/ID          profiles, encrypted as received
//	CACHE/held/ID/DIGEST       segments held locally, encrypted as received
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
)

// A Device has a State folder, which must not be lost, and a Cache folder, or
// "" for none.
type Device struct{ State, Cache string }

// This returns a Device for the computer that runs the program.
func This() (*Device, error) {
	state, err := stateFolder()
	if err != nil {
		return nil, hint.Add(fmt.Errorf("finding the state folder: %w: %w", cpar.ErrStorage, err), "set XDG_STATE_HOME to a folder you own")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return &Device{State: state}, nil
	}
	return &Device{State: state, Cache: filepath.Join(cache, "cpar")}, nil
}

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

func (d *Device) cached(names ...string) string {
	if d.Cache == "" {
		return ""
	}
	return filepath.Join(append([]string{d.Cache}, names...)...)
}

func readSmall(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the device's memory: %w: %w", cpar.ErrStorage, err)
	}
	return b, nil
}

func writeSmall(path string, b []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = durable.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the device's memory: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

// locked calls `work` while it holds the lock of the file at `path`.
func locked(path string, work func() error) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err == nil {
		err = lock.Lock() // held only while a small file is written
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w: %w", path, cpar.ErrStorage, err)
	}
	defer lock.Close()
	return work()
}
