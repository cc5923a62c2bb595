package user

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
)

// Tests open many files, so opening one takes only a tenth of a millisecond.
func init() { scryptLogN = 4 }

// saying returns a function that returns a passphrase and counts its calls.
func saying(s string, asked *int) func() (string, error) {
	return func() (string, error) { *asked++; return s, nil }
}

func encryptedText(t *testing.T, key *Key, passphrase string) []byte {
	t.Helper()
	plain := key.text()
	text, err := encryptWithPassphrase(plain, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeText(t *testing.T, text []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeyFile(t *testing.T) {
	key := NewKey(cpar.SchemeCAPIA)
	open := filepath.Join(t.TempDir(), "open")
	if err := key.WriteFile(open, ""); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(open); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := key.WriteFile(open, ""); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("overwriting: %v", err)
	}
	text := encryptedText(t, key, "open sesame")
	if bytes.Contains(text, []byte("capia")) {
		t.Error("an encrypted key file shows its policy")
	}
	asked := 0
	for name, path := range map[string]string{"open": open, "encrypted": writeText(t, text, 0o600)} {
		got, err := ReadKeyFile(path, Unlock{Passphrase: saying("open sesame", &asked)})
		if err != nil || *got != *key || got.Fingerprint() != key.Fingerprint() {
			t.Errorf("%s: read another key, or %v", name, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked for a passphrase %d times, want once, for the encrypted file", asked)
	}
	damaged := append(bytes.Clone(text[:len(text)/2]), text[len(text)/2+9:]...)
	digits := hex.EncodeToString(key.secret[:])
	for name, c := range map[string]struct {
		text []byte
		pass string
	}{
		"wrong passphrase": {text, "open barley"},
		"empty passphrase": {text, ""},
		"damaged":          {damaged, "open sesame"},
		"empty file":       {nil, ""},
		"no key":           {[]byte("hello\n"), ""},
		"half a key":       {[]byte(keyLine + " " + "abcd\n"), ""},
		"not hexadecimal":  {[]byte(keyLine + " " + strings.Repeat("zz", 32) + "\n"), ""},
		"too long":         {[]byte(keyLine + " " + strings.Repeat("ab", 40) + "\n"), ""},
		"no seed":          {[]byte(keyLine + " " + "\n"), ""},
		"a policy alone":   {[]byte(allowsLine + " " + "sealed\n"), ""},
		"two seeds":        {[]byte(keyLine + " " + digits + "\n" + keyLine + " " + digits + "\n"), ""},
	} {
		_, err := ReadKeyFile(writeText(t, c.text, 0o600), Unlock{Passphrase: saying(c.pass, &asked)})
		if !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%s: %v, want ErrKey", name, err)
		}
		if err != nil && strings.Contains(err.Error(), digits[:8]) {
			t.Errorf("%s: the error reveals the seed: %v", name, err)
		}
	}
	if _, err := ReadKeyFile(filepath.Join(t.TempDir(), "absent"), Unlock{}); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("absent: %v", err)
	}
}

// TestKeyFilePolicy checks that a file without a policy has the default, and
// that an unreadable policy line is an error.
func TestKeyFilePolicy(t *testing.T) {
	seed := keyLine + " " + strings.Repeat("ab", 32) + "\n"
	for name, c := range map[string]struct {
		text string
		want Policy
	}{
		"none":              {seed, DefaultPolicy()},
		"remarks":           {"# cpar key\n\n" + seed + "kept in the safe since 2024\n", DefaultPolicy()},
		"one more":          {seed + "CPAR-ALLOWS-1 cpar sealed local\n", DefaultPolicy().With(cpar.SchemeCPAR)},
		"before the seed":   {"CPAR-ALLOWS-1 capia\r\n" + seed, Policy(0).With(cpar.SchemeCAPIA)},
		"with commas":       {seed + "  CPAR-ALLOWS-1 local, sealed  ", DefaultPolicy()},
		"less than default": {seed + "CPAR-ALLOWS-1 local\n", Policy(0).With(cpar.SchemeLocal)},
		"nothing":           {seed + "CPAR-ALLOWS-1 \n", 0},
		"nothing, no space": {seed + "CPAR-ALLOWS-1", 0},
		"a byte order mark": {"\ufeffCPAR-ALLOWS-1 local\r\n" + seed, Policy(0).With(cpar.SchemeLocal)},
	} {
		key, err := ReadKeyFile(writeText(t, []byte(c.text), 0o600), Unlock{})
		if err != nil || key.Policy() != c.want {
			t.Errorf("%s: %v allows %q, want %q", name, err, policyOf(key), c.want)
		}
	}
	for name, text := range map[string]string{
		"no such scheme":       seed + "CPAR-ALLOWS-1 sealed plain\n",
		"a policy twice":       seed + "CPAR-ALLOWS-1 sealed\nCPAR-ALLOWS-1 sealed cpar\n",
		"a later version":      seed + "CPAR-ALLOWS-2 nothing\n",
		"another line of ours": seed + "CPAR-DENIES-1 local\n",
		"run together":         seed + "CPAR-ALLOWS-1local\n",
		"small letters":        seed + "cpar-allows-1 local\n",
		"past the limit":       seed + strings.Repeat("#", maxKeyFile) + "\nCPAR-ALLOWS-1 local\n",
	} {
		if key, err := ReadKeyFile(writeText(t, []byte(text), 0o600), Unlock{}); !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%s: %v, allows %q", name, err, policyOf(key))
		}
	}
	for p := range Policy(1 << 5) {
		key := NewKey()
		key.allows = p & testKey().Policy()
		text := key.text()
		if got, err := ReadKeyFile(writeText(t, text, 0o600), Unlock{}); err != nil || got.Policy() != key.allows {
			t.Errorf("%q is read as %q, %v", key.allows, policyOf(got), err)
		}
	}
}

func policyOf(k *Key) Policy {
	if k == nil {
		return 0
	}
	return k.Policy()
}

// TestSetPolicy checks that seed and passphrase stay and the file is replaced
// atomically.
func TestSetPolicy(t *testing.T) {
	key := NewKey()
	all := testKey().Policy()
	for name, passphrase := range map[string]string{"open": "", "encrypted": "open sesame"} {
		text := key.text()
		policies := []Policy{all, 0, DefaultPolicy()}
		if passphrase != "" {
			text = encryptedText(t, key, passphrase)
		}
		path := writeText(t, text, 0o600)
		asked := 0
		for _, p := range policies {
			got, err := SetPolicy(path, Unlock{Passphrase: saying(passphrase, &asked)}, p)
			if err != nil || got.Policy() != p || got.secret != key.secret {
				t.Fatalf("%s: %v", name, err)
			}
			now, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if encrypted := bytes.HasPrefix(now, []byte("-----BEGIN AGE")); encrypted != (passphrase != "") {
				t.Errorf("%s: encrypted afterwards: %v", name, encrypted)
			}
			again, err := ReadKeyFile(path, Unlock{Passphrase: saying(passphrase, &asked)})
			if err != nil || *again != *got || again.Fingerprint() != key.Fingerprint() {
				t.Errorf("%s: read again: %q, %v", name, policyOf(again), err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
			}
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// A failure loses nothing.
		if passphrase != "" {
			if _, err := SetPolicy(path, Unlock{Passphrase: saying("open barley", &asked)}, all); !errors.Is(err, cpar.ErrKey) {
				t.Errorf("%s, a wrong passphrase: %v", name, err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s: a refused change reached the file: %v", name, err)
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: left beside the key: %v, %v", name, entries, err)
		}
	}
	if _, err := SetPolicy(filepath.Join(t.TempDir(), "absent"), Unlock{}, all); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("absent: %v", err)
	}
}

// TestSetPolicyNarrowsTheFile checks that rewriting never widens the file's
// permissions.
func TestSetPolicyNarrowsTheFile(t *testing.T) {
	text := NewKey().text()
	path := writeText(t, text, 0o644)
	if _, err := SetPolicy(path, Unlock{}, DefaultPolicy()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestSetPolicyFollowsLinks(t *testing.T) {
	text := testKey().text()
	path := writeText(t, text, 0o600)
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err) // this system has no symbolic links
	}
	if _, err := SetPolicy(link, Unlock{}, DefaultPolicy()); err != nil {
		t.Fatal(err)
	}
	if key, err := ReadKeyFile(path, Unlock{}); err != nil || key.Policy() != DefaultPolicy() {
		t.Errorf("the file allows %v: %v", policyOf(key), err)
	}
}

// TestSetPolicyReplacesTheFile checks that the old file is not written to, so
// that a complete key exists at all times.
func TestSetPolicyReplacesTheFile(t *testing.T) {
	text := NewKey().text()
	path := writeText(t, text, 0o600)
	old := path + ".old"
	if err := os.Link(path, old); err != nil {
		t.Skip("no links here: ", err)
	}
	if _, err := SetPolicy(path, Unlock{}, testKey().Policy()); err != nil {
		t.Fatal(err)
	}
	if was, err := os.ReadFile(old); err != nil || !bytes.Equal(was, text) {
		t.Errorf("the old file was written to: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || bytes.Equal(now, text) {
		t.Errorf("the new file has the old policy: %v", err)
	}
}
