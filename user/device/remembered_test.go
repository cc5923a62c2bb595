package device

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"cpar"
	"cpar/user"
)

// The keyring holds neither passphrase nor seed.
func TestRememberOpensWithoutPassphrase(t *testing.T) {
	keyring.MockInit()
	d := &Device{State: t.TempDir()}
	path := filepath.Join(t.TempDir(), "key")
	key := user.NewKey()
	if err := key.WriteFile(path, "open sesame"); err != nil {
		t.Fatal(err)
	}
	ring := SystemKeyring{}
	typed := user.Unlock{Passphrase: func() (string, error) { return "open sesame", nil }}
	recalled := user.Unlock{Identity: d.Recall(t.Context(), ring, func(err error) { t.Error(err) })}
	if known, err := d.Forget(t.Context(), ring, path); err != nil || known {
		t.Errorf("before: forgotten %v, %v", known, err)
	}
	if err := d.Remember(t.Context(), ring, path, recalled); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("remembered without a passphrase: %v", err)
	}
	if err := d.Remember(t.Context(), ring, path, typed); err != nil {
		t.Fatal(err)
	}
	if known, err := d.Remembers(path); err != nil || !known {
		t.Errorf("not remembered, %v", err)
	}
	if got, err := d.ReadKey(path, recalled); err != nil || got.Fingerprint() != key.Fingerprint() {
		t.Errorf("from the keyring: %v", err)
	}
	id, err := user.FileID(path)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := ring.Get(keyringService, id)
	if err != nil || !strings.HasPrefix(kept, "AGE-SECRET-KEY-1") || strings.Contains(kept, "sesame") {
		t.Errorf("the keyring has something else: %v", err)
	}
	// Another device with the same keyring.
	other := &Device{State: t.TempDir()}
	if got := other.Recall(t.Context(), ring, nil)(id); got != "" {
		t.Error("queried the keyring for an identity not remembered here")
	}
	if known, err := d.Forget(t.Context(), ring, path); err != nil || !known {
		t.Errorf("forgotten %v, %v", known, err)
	}
	if _, err := d.ReadKey(path, recalled); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("forgotten, it opens: %v", err)
	}
	if _, err := ring.Get(keyringService, id); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring has it still: %v", err)
	}
}

// Without a keyring nothing is remembered, and passphrases still work.
func TestKeyringFailureFallsBackToPassphrase(t *testing.T) {
	d := &Device{State: t.TempDir()}
	path := filepath.Join(t.TempDir(), "key")
	if err := user.NewKey().WriteFile(path, "open sesame"); err != nil {
		t.Fatal(err)
	}
	ring := SystemKeyring{}
	typed := user.Unlock{Passphrase: func() (string, error) { return "open sesame", nil }}
	broken := errors.New("no such bus")
	keyring.MockInitWithError(broken)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remember(t.Context(), ring, path, typed); !errors.Is(err, cpar.ErrStorage) || !errors.Is(err, broken) {
		t.Errorf("remembered: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("nothing was remembered, but the file changed: %v", err)
	}
	if known, err := d.Remembers(path); err != nil || known {
		t.Errorf("counts as remembered, %v", err)
	}
	keyring.MockInit()
	if err := d.Remember(t.Context(), ring, path, typed); err != nil {
		t.Fatal(err)
	}
	keyring.MockInitWithError(broken)
	told := 0
	typed.Identity = d.Recall(t.Context(), ring, func(err error) {
		if told++; !errors.Is(err, broken) {
			t.Errorf("told %v", err)
		}
	})
	if _, err := d.ReadKey(path, typed); err != nil || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
	if _, err := d.Forget(t.Context(), ring, path); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("forgotten: %v", err)
	}
	if known, _ := d.Remembers(path); !known {
		t.Error("still remembered, but no longer known to be")
	}
}

// moving is a keyring that removes the key file when queried and records its
// entries.
type moving struct {
	SystemKeyring
	path string
	held map[string]bool
}

func (m moving) Set(service, name, secret string) error {
	m.held[name] = true
	return os.RemoveAll(filepath.Dir(m.path))
}

func (m moving) Delete(service, name string) error {
	delete(m.held, name)
	return nil
}

func TestRememberLeavesNoEntryForUnwritableFile(t *testing.T) {
	d := &Device{State: t.TempDir()}
	path := filepath.Join(t.TempDir(), "folder", "key")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := user.NewKey().WriteFile(path, "open sesame"); err != nil {
		t.Fatal(err)
	}
	ring := moving{path: path, held: map[string]bool{}}
	typed := user.Unlock{Passphrase: func() (string, error) { return "open sesame", nil }}
	if err := d.Remember(t.Context(), ring, path, typed); !errors.Is(err, cpar.ErrStorage) || len(ring.held) != 0 {
		t.Errorf("%v, and the keyring has %d entries", err, len(ring.held))
	}
}

// waiting is a keyring whose dialog is never answered.
type waiting struct{ SystemKeyring }

func (waiting) Get(string, string) (string, error) { select {} }

func TestInterruptEndsWaitForKeyring(t *testing.T) {
	d := &Device{State: t.TempDir()}
	if err := writeSmall(d.marker("file"), nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var told error
	if got := d.Recall(ctx, waiting{}, func(err error) { told = err })("file"); got != "" || !errors.Is(told, context.Canceled) {
		t.Errorf("recalled %q, told %v", got, told)
	}
}
