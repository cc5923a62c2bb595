package user

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func pass(s string) Unlock {
	return Unlock{Passphrase: func() (string, error) { return s, nil }}
}

func gives(s string) func() (string, error) { return func() (string, error) { return s, nil } }

// slottedFile writes a key with slots "first" (open sesame) and "office" (open
// barley).
func slottedFile(t *testing.T, key *Key) string {
	t.Helper()
	path := writeText(t, encryptedText(t, key, "open sesame"), 0o600)
	if _, err := AddSlot(path, pass("open sesame"), "office", gives("open barley")); err != nil {
		t.Fatal(err)
	}
	return path
}

func opens(t *testing.T, path, passphrase string, want *Key) {
	t.Helper()
	if got, err := ReadKeyFile(path, pass(passphrase)); err != nil || *got != *want {
		t.Errorf("with %q: another key, or %v", passphrase, err)
	}
}

func refuses(t *testing.T, path, passphrase string) {
	t.Helper()
	if _, err := ReadKeyFile(path, pass(passphrase)); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("with %q: %v, want ErrKey", passphrase, err)
	}
}

func TestAnySlotOpensTheKey(t *testing.T) {
	key := NewKey()
	path := slottedFile(t, key)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("sealed")) || bytes.Contains(text, []byte("AGE-SECRET")) || bytes.Contains(text, []byte("age1")) {
		t.Errorf("the file shows its policy, or who can write to it:\n%s", text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if names, err := Slots(path); err != nil || !slices.Equal(names, []string{FirstSlot, "office"}) {
		t.Errorf("slots %q, %v", names, err)
	}
	opens(t, path, "open sesame", key)
	opens(t, path, "open barley", key)
	refuses(t, path, "open wheat")

	changed, err := SetPolicy(path, pass("open barley"), testKey().Policy())
	if err != nil {
		t.Fatal(err)
	}
	opens(t, path, "open sesame", changed)
	if _, err := SetPassphrase(path, pass("open barley"), gives("open rye")); err != nil {
		t.Fatal(err)
	}
	opens(t, path, "open rye", changed)
	opens(t, path, "open sesame", changed)
	refuses(t, path, "open barley")

	if _, err := RemoveSlot(path, pass("open rye"), FirstSlot); err != nil {
		t.Fatal(err)
	}
	refuses(t, path, "open sesame")
	opens(t, path, "open rye", changed)
	for name, err := range map[string]error{
		"the last slot":      second(RemoveSlot(path, pass("open rye"), "office")),
		"none of that name":  second(RemoveSlot(path, pass("open rye"), "attic")),
		"a name twice":       second(AddSlot(path, pass("open rye"), "office", gives("x"))),
		"a name with spaces": second(AddSlot(path, pass("open rye"), "my office", gives("x"))),
		"no file":            second(AddSlot(path+"x", pass("open rye"), "a", gives("x"))),
	} {
		if !errors.Is(err, cpar.ErrInput) && (name != "no file" || !errors.Is(err, cpar.ErrKey)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	opens(t, path, "open rye", changed)
	if old := writeText(t, text, 0o600); true { // a copy from before
		opens(t, old, "open sesame", key)
	}
}

func second[T any](_ T, err error) error { return err }

// TestUnlockTriesOnlyTheNamedSlot also checks that a wrong name does not ask
// for a passphrase.
func TestUnlockTriesOnlyTheNamedSlot(t *testing.T) {
	key := NewKey()
	path := slottedFile(t, key)
	how := pass("open barley")
	how.Slot = "office"
	if got, err := ReadKeyFile(path, how); err != nil || *got != *key {
		t.Error(err)
	}
	how.Slot = FirstSlot
	if _, err := ReadKeyFile(path, how); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("the passphrase of another slot: %v", err)
	}
	for _, path := range []string{path, writeText(t, encryptedText(t, key, "open sesame"), 0o600)} {
		asked := 0
		_, err := ReadKeyFile(path, Unlock{Slot: "attic", Passphrase: saying("open sesame", &asked)})
		if !errors.Is(err, cpar.ErrKey) || asked > 0 {
			t.Errorf("no such slot: asked %d times, %v", asked, err)
		}
	}
}

func TestSlotsAreLimited(t *testing.T) {
	path := slottedFile(t, NewKey())
	for i := 2; i < MaxSlots; i++ {
		if _, err := AddSlot(path, pass("open sesame"), "slot-"+string(rune('a'+i)), gives("x")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := AddSlot(path, pass("open sesame"), "one-more", gives("x")); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("one slot more: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	more := bytes.Replace(text, []byte(slotLine+" "+FirstSlot), []byte(slotLine+" zero\n"+pieceOf(text)+slotLine+" "+FirstSlot), 1)
	if _, err := parseSlots(more); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("a file with a slot too many: %v", err)
	}
}

func pieceOf(text []byte) string {
	_, after, _ := strings.Cut(string(text), "-----BEGIN")
	block, _, _ := strings.Cut(after, payloadLine)
	block, _, _ = strings.Cut(block, slotLine)
	return "-----BEGIN" + block
}

func TestTamperedSlotsAreRejected(t *testing.T) {
	key := NewKey()
	path := slottedFile(t, key)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := RemoveSlot(path, pass("open sesame"), "office"); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	office := slotLine + " office\n" + pieceOf([]byte(strings.SplitN(string(before), slotLine+" office\n", 2)[1]))
	payload := func(text []byte) string { // with the digest
		return string(text[bytes.Index(text, []byte(payloadLine)):])
	}
	head := func(text []byte) string { return strings.TrimSuffix(string(text), payload(text)) }
	for name, text := range map[string]string{
		"a slot put back":      head(after) + office + payload(after),
		"the key of before":    head(after) + payload(before),
		"a slot left out":      strings.Replace(string(before), office, "", 1),
		"a slot renamed":       strings.Replace(string(before), slotLine+" office", slotLine+" loft", 1),
		"another id":           strings.Replace(string(after), slottedLine+" ", slottedLine+" 00", 1)[:len(slottedLine)+33] + string(after[len(slottedLine)+33:]),
		"a digest cut":         string(after[:len(after)-3]) + "\n",
		"no digest":            string(after[:bytes.Index(after, []byte(digestLine))]),
		"a remark within":      strings.Replace(string(after), payloadLine, "# mine\n"+payloadLine, 1),
		"a line of a later":    strings.Replace(string(after), payloadLine, "CPAR-SLOT-2 x\n"+payloadLine, 1),
		"a policy behind":      string(after) + allowsLine + " sealed cpar\n",
		"no slot":              slottedLine + string(after[len(slottedLine):len(slottedLine)+33]) + "\n" + payload(after),
		"another key's, whole": slottedLine + " 12\n",
	} {
		if _, err := ReadKeyFile(writeText(t, []byte(text), 0o600), pass("open sesame")); !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%s: %v, want ErrKey", name, err)
		}
	}
	for name, text := range map[string]string{
		"remarks before":  "\ufeff# kept in the safe\n\n" + string(before),
		"other line ends": strings.ReplaceAll(string(before), "\n", "\r\n"),
	} {
		if got, err := ReadKeyFile(writeText(t, []byte(text), 0o600), pass("open barley")); err != nil || *got != *key {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func identityOf(path string, how Unlock) (id, identity string, err error) {
	err = Identity(path, how, func(i, what string) error {
		id, identity = i, what
		return nil
	})
	return id, identity, err
}

// TestStoredIdentityOpensTheKey checks that the stored identity opens the file, and that an
// outdated or foreign one does not prevent the passphrase from opening it.
func TestStoredIdentityOpensTheKey(t *testing.T) {
	key := NewKey()
	path := writeText(t, encryptedText(t, key, "open sesame"), 0o600)
	id, identity, err := identityOf(path, pass("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	if names, err := Slots(path); err != nil || !slices.Equal(names, []string{FirstSlot}) {
		t.Errorf("slots %q, %v", names, err)
	}
	if got, err := FileID(path); err != nil || got != id || len(id) != 32 {
		t.Errorf("the file's id is %q, said %q, %v", got, id, err)
	}
	remembered := Unlock{Identity: func(file string) string {
		if file != id {
			t.Errorf("asked for %s, want %s", file, id)
		}
		return identity
	}}
	if got, err := ReadKeyFile(path, remembered); err != nil || *got != *key {
		t.Errorf("by its identity: %v", err)
	}
	if _, err := SetPolicy(path, remembered, testKey().Policy()); err != nil {
		t.Fatal(err)
	}
	if again, other, err := identityOf(path, remembered); err != nil || again != id || other != identity {
		t.Errorf("remembered twice: %v", err)
	}
	// A keyring does not determine which slot's passphrase to change.
	if _, err := SetPassphrase(path, remembered, gives("x")); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("changing a passphrase without one: %v", err)
	}
	_, stranger, err := identityOf(writeText(t, encryptedText(t, key, "x"), 0o600), pass("x"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"nothing": "", "nonsense": "hello", "another file's": stranger} {
		asked := 0
		_, err := ReadKeyFile(path, Unlock{Identity: func(string) string { return text }, Passphrase: saying("open sesame", &asked)})
		if err != nil || asked != 1 {
			t.Errorf("%s remembered: asked %d times, %v", name, asked, err)
		}
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := key.WriteFile(open, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := identityOf(open, Unlock{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("of a file that is not encrypted: %v", err)
	}
}

func TestSetPassphrase(t *testing.T) {
	key := NewKey()
	open := filepath.Join(t.TempDir(), "open")
	if err := key.WriteFile(open, ""); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"open": open, "encrypted": writeText(t, encryptedText(t, key, "open sesame"), 0o600)} {
		if _, err := SetPassphrase(path, pass("open sesame"), gives("open rye")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		opens(t, path, "open rye", key)
		refuses(t, path, "open sesame")
		if names, err := Slots(path); err != nil || names != nil {
			t.Errorf("%s: slots %q, %v", name, names, err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		if _, err := SetPassphrase(path, pass("open wheat"), saying("x", &asked)); !errors.Is(err, cpar.ErrKey) || asked > 0 {
			t.Errorf("%s: with a wrong passphrase, asked for a new one %d times: %v", name, asked, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: a refused change reached the file: %v", name, err)
		}
	}
}

func TestKeyFilesUseDefaultWorkFactor(t *testing.T) {
	if defaultScryptLogN != 18 || maxWork < defaultScryptLogN {
		t.Errorf("work %d of at most %d", defaultScryptLogN, maxWork)
	}
}

// TestKeyErrorsSayItOnce checks that errors repeat neither path nor cause.
func TestKeyErrorsSayItOnce(t *testing.T) {
	folder := t.TempDir()
	encrypted := writeText(t, encryptedText(t, NewKey(), "open sesame"), 0o600)
	refusing := Unlock{Passphrase: func() (string, error) {
		return "", errors.Join(cpar.ErrKey)
	}}
	for name, c := range map[string]struct {
		path string
		how  Unlock
	}{
		"a folder":         {folder, Unlock{}},
		"none to ask":      {encrypted, Unlock{}},
		"nobody answers":   {encrypted, refusing},
		"wrong passphrase": {encrypted, pass("x")},
		"empty passphrase": {encrypted, pass("")},
		"no such slot":     {encrypted, Unlock{Slot: "attic"}},
	} {
		_, err := ReadKeyFile(c.path, c.how)
		if err == nil || strings.Count(err.Error(), c.path) != 1 || strings.Count(err.Error(), cpar.ErrKey.Error()) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzSlots checks that a parsed file with slots encodes to the same text
// without remarks.
func FuzzSlots(f *testing.F) {
	for _, seed := range []string{
		slottedLine + " " + strings.Repeat("0a", 16) + "\n" + slotLine + " first\n-----BEGIN AGE ENCRYPTED FILE-----\nabcd\n-----END AGE ENCRYPTED FILE-----\n" +
			payloadLine + "\n-----BEGIN AGE ENCRYPTED FILE-----\nabcd\n-----END AGE ENCRYPTED FILE-----\n" + digestLine + " " + strings.Repeat("0b", 32) + "\n",
		slottedLine, "# remark\n" + keyLine + " 00", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !hasSlots(text) {
			return
		}
		s, err := parseSlots(text)
		if err != nil {
			return
		}
		once := s.encode()
		again, err := parseSlots(once)
		if err != nil || !bytes.Equal(again.encode(), once) || !hasSlots(once) {
			t.Errorf("%q is read, and written as %q: %v", text, once, err)
		}
	})
}
