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

// TestRemember: remembered, a key file opens without a passphrase, and forgotten it does
// not. In the keyring lies neither passphrase nor seed.
func TestRemember(t *testing.T) {
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
	// Another device of the same person, with the same keyring: nobody has asked there.
	other := &Device{State: t.TempDir()}
	if got := other.Recall(t.Context(), ring, nil)(id); got != "" {
		t.Error("looked for what was not remembered here")
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

// TestKeyringFails: without a keyring nothing is remembered, and a passphrase still opens
// what is.
func TestKeyringFails(t *testing.T) {
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
		t.Errorf("nothing was remembered, and the file is another: %v", err)
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
		t.Error("no longer known to be remembered, and it is")
	}
}

// moving is a keyring that takes the key file away while it is asked, and notes what it holds.
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

// TestFileCannotBeWritten: then the keyring has nothing either.
func TestFileCannotBeWritten(t *testing.T) {
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

// waiting is a keyring whose window nobody answers.
type waiting struct{ SystemKeyring }

func (waiting) Get(string, string) (string, error) { select {} }

// TestKeyringWaits: a person who interrupts is not kept waiting by a window.
func TestKeyringWaits(t *testing.T) {
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
