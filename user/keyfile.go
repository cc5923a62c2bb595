package user

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age/armor"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/photo"
)

// The significant lines of a key file start with one of these words. Other
// lines are remarks, except that an unknown word that starts with ourLines, in
// upper or lower case, is rejected, because a later version of CPAR may use the
// word to forbid something. A file without allowsLine allows DefaultPolicy.
const (
	keyLine    = "CPAR-SECRET-KEY-1"
	allowsLine = "CPAR-ALLOWS-1"
	ourLines   = "CPAR-"
)

// Unlock controls how an encrypted key file is opened.
type Unlock struct {
	// Passphrase is called, at most once, if Identity does not open the file.
	Passphrase func() (string, error)
	// Encrypted, if set, rejects a file that is not encrypted. Slot does the
	// same. Callers set it when the user gave a passphrase, because someone
	// may have replaced the file.
	Encrypted bool
	// Slot names the slot that the passphrase belongs to. If it is "", all
	// slots are tried, at about one second each.
	Slot string
	// Identity, if set, returns the identity (a private key) stored in a
	// keyring for a file's id, or "".
	Identity func(file string) string
}

type keyFile struct {
	path       string
	key        *Key
	passphrase string    // passphrase of a file without slots, "" if not encrypted
	slots      *slotFile // nil without slots
}

func (k *Key) text() []byte {
	return []byte("# cpar key: whoever holds it can read every index made with it; keep a copy in a safe place\n" +
		keyLine + " " + hex.EncodeToString(k.secret[:]) + "\n" + allowsLine + " " + strings.ReplaceAll(k.allows.String(), ",", "") + "\n")
}

func (f *keyFile) encode() (text []byte, err error) {
	text = f.key.text()
	switch {
	case f.slots != nil:
		text, err = f.slots.seal(text)
	case f.passphrase != "":
		text, err = encryptWithPassphrase(text, f.passphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("encrypting the key: %w", err)
	}
	return text, nil
}

// WriteFile writes k to a new file that only its owner may read. With a
// passphrase, the file is encrypted by age and scrypt. An existing file is
// never overwritten, because a lost key loses every index made with it.
func (k *Key) WriteFile(path, passphrase string) error {
	text, err := (&keyFile{key: k, passphrase: passphrase}).encode()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("writing key file %s: %w: it exists, and a key is never overwritten; move it away or choose another name", path, cpar.ErrInput)
	}
	if err != nil {
		return fmt.Errorf("writing key file: %w: %w", cpar.ErrStorage, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = durable.OS.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		os.Remove(path) // a partial key file would mislead
		return fmt.Errorf("writing key file: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

func (f *keyFile) replace() error {
	text, err := f.encode()
	if err != nil {
		return err
	}
	// A symbolic link stays, and its target is replaced.
	path, err := filepath.EvalSymlinks(f.path)
	if err == nil {
		err = durable.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("replacing key file: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

const maxKeyFile = 1 << 16

func ReadKeyFile(path string, how Unlock) (*Key, error) {
	f, err := openKeyFile(path, how)
	if err != nil {
		return nil, err
	}
	return f.key, nil
}

func openKeyFile(path string, how Unlock) (*keyFile, error) {
	text, err := readKeyText(path)
	if err != nil {
		return nil, err
	}
	f := &keyFile{path: path}
	if err := f.open(text, how); err != nil {
		return nil, fmt.Errorf("reading key file %s: %w", path, err)
	}
	return f, nil
}

func readKeyText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		// A new key opens no existing index, so the hint mentions it last.
		return nil, hint.Add(hint.Kind(fmt.Errorf("reading key file %s: there is no such file", path), cpar.ErrKey),
			"copy your key file there, name another with --key, restore it with cpar init --from-phrase, or, on your first device only, make one with cpar init")
	}
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = limited(f); err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("reading key file %s: %w: %w", path, cpar.ErrKey, photo.Cause(err))
}

// limited reads a key file and removes a byte order mark. It rejects long files
// rather than truncating them, because the policy may be at the end.
func limited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxKeyFile+1))
	if err == nil && len(text) > maxKeyFile {
		err = fmt.Errorf("it is larger than any key file, %d bytes", maxKeyFile)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

func (f *keyFile) open(text []byte, how Unlock) (err error) {
	encrypted := true
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte(armor.Header)):
		if how.Slot != "" {
			return fmt.Errorf("%w: it has no slots, and so none called %s", cpar.ErrKey, how.Slot)
		}
		if f.passphrase, err = how.ask(); err != nil {
			return err
		}
		text, err = decryptWithPassphrase(text, f.passphrase)
	case hasSlots(text):
		if f.slots, err = parseSlots(text); err == nil {
			text, err = f.slots.open(how)
		}
	default:
		encrypted = false
	}
	if err == nil {
		f.key, err = parseKey(text)
	}
	if err == nil && !encrypted && (how.Encrypted || how.Slot != "") {
		err = hint.Add(fmt.Errorf("%w: it is not encrypted, although a passphrase was given", cpar.ErrKey),
			"someone may have replaced it: compare it with your copy; if it has no passphrase, leave out --passphrase-file and --slot")
	}
	return err
}

func (u Unlock) ask() (string, error) {
	if u.Passphrase == nil {
		return "", fmt.Errorf("%w: the key is protected by a passphrase", cpar.ErrKey)
	}
	pass, err := u.Passphrase()
	if err != nil {
		return "", fmt.Errorf("the key is protected by a passphrase: %w", err)
	}
	return pass, nil
}

func parseKey(text []byte) (*Key, error) {
	k := &Key{allows: DefaultPolicy()}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !isOurs(first) {
			continue
		}
		if seen[first] {
			return nil, fmt.Errorf("%w: it has two lines %s", cpar.ErrKey, first)
		}
		seen[first] = true
		var err error
		switch first {
		case keyLine:
			digits := strings.TrimSpace(rest)
			if n, wrong := hex.Decode(k.secret[:], []byte(digits[:min(len(digits), 64)])); wrong != nil || n != 32 || len(digits) != 64 {
				err = fmt.Errorf("%w: the key line is damaged; use a copy of the file", cpar.ErrKey)
			}
		case allowsLine:
			if k.allows, err = ParsePolicy(rest); err != nil {
				err = fmt.Errorf("%w: the line of allowed schemes is damaged; use a copy of the file", cpar.ErrKey)
			}
		default: // the line may be a damaged seed, so the error omits it
			err = fmt.Errorf("%w: it has a line that this program does not know; it was written by a later one, or is damaged", cpar.ErrKey)
		}
		if err != nil {
			return nil, err
		}
	}
	if !seen[keyLine] {
		return nil, fmt.Errorf("%w: it holds no cpar key", cpar.ErrKey)
	}
	return k, nil
}

func isOurs(first string) bool {
	return len(first) >= len(ourLines) && strings.EqualFold(first[:len(ourLines)], ourLines)
}
