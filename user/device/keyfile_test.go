package device

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

// A device remembers which key a file held.
func TestReadKeyRefusesAnotherKey(t *testing.T) {
	dir := t.TempDir()
	d := &Device{State: filepath.Join(dir, "state")}
	path := filepath.Join(dir, "key")
	write := func(key *user.Key) {
		t.Helper()
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := key.WriteFile(path, ""); err != nil {
			t.Fatal(err)
		}
	}
	mine, theirs := user.NewKey(), user.NewKey(cpar.SchemeCAPIA)
	write(mine)
	if _, err := d.ReadKey(path, user.Unlock{}); err != nil {
		t.Fatal(err)
	}
	write(theirs)
	t.Chdir(dir)
	for _, name := range []string{path, "key", filepath.Join("state", "..", "key")} {
		if _, err := d.ReadKey(name, user.Unlock{}); !errors.Is(err, cpar.ErrKey) || !errors.Is(err, ErrOtherKey) || hint.Of(err) == "" {
			t.Errorf("another key at %s: %v; hint %q", name, err, hint.Of(err))
		}
	}
	if _, err := d.SetPolicy(path, user.Unlock{}, user.DefaultPolicy()); !errors.Is(err, ErrOtherKey) {
		t.Errorf("another key, to change its policy: %v", err)
	}
	write(mine)
	if _, err := d.ReadKey(path, user.Unlock{}); err != nil {
		t.Errorf("the key that was there: %v", err)
	}
	write(theirs)
	if err := d.NewKeyFile(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if key, err := d.ReadKey(path, user.Unlock{}); err != nil || key.Fingerprint() != theirs.Fingerprint() {
			t.Errorf("a key that the owner put there: %v", err)
		}
	}
}
