package user

import (
	"errors"
	"path/filepath"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

// An attacker who can write to the key's folder can put an unencrypted key
// there. A user who gives a passphrase or a slot expects an encrypted one.
func TestPassphraseRefusesUnencryptedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := NewKey().WriteFile(path, ""); err != nil {
		t.Fatal(err)
	}
	pass := func() (string, error) { return "a passphrase", nil }
	for name, how := range map[string]Unlock{
		"a passphrase": {Passphrase: pass, Encrypted: true},
		"a slot":       {Passphrase: pass, Slot: FirstSlot},
	} {
		if _, err := ReadKeyFile(path, how); !errors.Is(err, cpar.ErrKey) || hint.Of(err) == "" {
			t.Errorf("%s: %v; hint %q", name, err, hint.Of(err))
		}
		if _, err := SetPolicy(path, how, DefaultPolicy()); !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%s, to change the policy: %v", name, err)
		}
	}
	if _, err := ReadKeyFile(path, Unlock{Passphrase: pass}); err != nil {
		t.Errorf("a passphrase that would be asked for: %v", err)
	}
}
