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

	"filippo.io/age"
	"filippo.io/age/armor"

	"cpar"
	"cpar/internal/durable"
)

// The lines of a key file by their first words: the seed, and the schemes allowed.
// A file without the second allows DefaultPolicy. Lines of neither are remarks, but
// for those that begin like one of ours, in either case: what a later program forbids in one must not
// be passed over.
const (
	keyLine    = "CPAR-SECRET-KEY-1"
	allowsLine = "CPAR-ALLOWS-1"
	ourLines   = "CPAR-"
)

// text is the content of a key file, encrypted where there is a passphrase.
func (k *Key) text(passphrase string) ([]byte, error) {
	text := []byte("# cpar key: whoever holds it can read every index made with it; keep a copy in a safe place\n" +
		keyLine + " " + hex.EncodeToString(k.secret[:]) + "\n" + allowsLine + " " + strings.ReplaceAll(k.allows.String(), ",", "") + "\n")
	if passphrase == "" {
		return text, nil
	}
	text, err := encryptWithPassphrase(text, passphrase, scryptWork)
	if err != nil {
		return nil, fmt.Errorf("encrypting the key: %w", err)
	}
	return text, nil
}

// WriteFile writes k to a new file that only its owner may read. With a
// passphrase the file is encrypted with it (age, scrypt). An existing file is
// never overwritten: a lost key loses every index made with it.
func (k *Key) WriteFile(path, passphrase string) error {
	text, err := k.text(passphrase)
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
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = durable.OS.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		os.Remove(path) // half a key would only mislead
		return fmt.Errorf("writing key file: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

// SetPolicy replaces the key file at path, whole or not at all: the same seed, under
// the same passphrase, with policy p.
func SetPolicy(path string, passphrase func() (string, error), p Policy) (*Key, error) {
	said := ""
	k, err := ReadKeyFile(path, func() (_ string, err error) {
		said, err = passphrase()
		return said, err
	})
	if err != nil {
		return nil, err
	}
	k.allows = p
	text, err := k.text(said)
	if err != nil {
		return nil, err
	}
	// A link stays, and what it names is replaced.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("replacing key file: %w: %w", cpar.ErrStorage, err)
	}
	if err := durable.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("replacing key file: %w: %w", cpar.ErrStorage, err)
	}
	return k, nil
}

// scryptWork is age's own default, about a second: a key file is opened once
// a command.
const scryptWork = 18

func encryptWithPassphrase(text []byte, passphrase string, work int) ([]byte, error) {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	to.SetWorkFactor(work)
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, to)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), armored.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// maxKeyFile bounds what is read of a file said to be a key.
const maxKeyFile = 1 << 16

// ReadKeyFile reads a key. passphrase is asked only for an encrypted file.
func ReadKeyFile(path string, passphrase func() (string, error)) (*Key, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading key file %s: %w: there is no such file; make a key with: cpar init --key %s", path, cpar.ErrKey, path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading key file: %w: %w", cpar.ErrKey, err)
	}
	defer f.Close()
	text, err := readKeyText(f)
	if err != nil {
		return nil, fmt.Errorf("reading key file %s: %w: %w", path, cpar.ErrKey, err)
	}
	k, err := parseKey(text, passphrase)
	if err != nil {
		return nil, fmt.Errorf("reading key file %s: %w", path, err)
	}
	return k, nil
}

// readKeyText reads all of a key file, without the byte order mark that some editors put
// before it. One that is too large is refused: what a policy forbids may stand at the
// end.
func readKeyText(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxKeyFile+1))
	if err == nil && len(text) > maxKeyFile {
		err = fmt.Errorf("it is larger than any key file, %d bytes", maxKeyFile)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

func parseKey(text []byte, passphrase func() (string, error)) (*Key, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte(armor.Header)) {
		pass, err := passphrase()
		if err != nil {
			return nil, fmt.Errorf("%w: the key is protected by a passphrase: %w", cpar.ErrKey, err)
		}
		if text, err = decryptWithPassphrase(text, pass); err != nil {
			return nil, err
		}
	}
	k := &Key{allows: DefaultPolicy()}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if len(first) < len(ourLines) || !strings.EqualFold(first[:len(ourLines)], ourLines) {
			continue
		}
		if seen[first] {
			return nil, fmt.Errorf("%w: it has two lines %s", cpar.ErrKey, first)
		}
		seen[first] = true
		var err error
		switch first {
		case keyLine:
			err = k.parseSeed(strings.TrimSpace(rest))
		case allowsLine:
			if k.allows, err = ParsePolicy(rest); err != nil {
				err = fmt.Errorf("%w: the line of allowed schemes is damaged; use a copy of the file", cpar.ErrKey)
			}
		default: // which may be a damaged seed: it stays out of the error
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

// parseSeed reads the seed. Its digits stay out of the error.
func (k *Key) parseSeed(digits string) error {
	if n, err := hex.Decode(k.secret[:], []byte(digits[:min(len(digits), 64)])); err != nil || n != 32 || len(digits) != 64 {
		return fmt.Errorf("%w: the key line is damaged; use a copy of the file", cpar.ErrKey)
	}
	return nil
}

func decryptWithPassphrase(text []byte, pass string) ([]byte, error) {
	who, err := age.NewScryptIdentity(pass)
	if err != nil {
		return nil, fmt.Errorf("%w: the passphrase is empty", cpar.ErrKey)
	}
	// A hostile file could ask for hours of work.
	who.SetMaxWorkFactor(22)
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader(text)), who)
	var wrong *age.NoIdentityMatchError
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("%w: the passphrase does not fit", cpar.ErrKey)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the encrypted key is damaged: %w", cpar.ErrKey, err)
	}
	out, err := readKeyText(r)
	if err != nil {
		return nil, fmt.Errorf("%w: the encrypted key is damaged: %w", cpar.ErrKey, err)
	}
	return out, nil
}
