package user

import (
	"bytes"
	"crypto/rand"
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
	"cpar/user/internal/seed"
)

// A Key is everything secret that an owner has: one 32-byte seed, from which
// the keys of every index are derived with labels (package seed). It prints
// as "cpar key (redacted)" whatever the verb.
type Key struct {
	seed.Redacted
	secret seed.Secret
}

// keyPrefix starts the line of a key file that holds the seed.
const keyPrefix = "CPAR-SECRET-KEY-1 "

// NewKey draws a key.
func NewKey() *Key {
	k := new(Key)
	rand.Read(k.secret[:]) // never fails: crypto/rand ends the program instead
	return k
}

// derive returns the 32-byte secret of one purpose of one index. The random
// index id enters every derivation, so no two indexes share a secret.
func (k *Key) derive(purpose string, id cpar.IndexID) seed.Secret {
	return seed.Derive(k.secret, purpose, id[:])
}

// WriteFile writes k to a new file that only its owner may read. With a
// passphrase the file is encrypted with it (age, scrypt). An existing file is
// never overwritten: a lost key loses every index made with it.
func (k *Key) WriteFile(path, passphrase string) error {
	text := []byte("# cpar key: whoever holds it can read every index made with it; keep a copy in a safe place\n" +
		keyPrefix + hex.EncodeToString(k.secret[:]) + "\n")
	if passphrase != "" {
		var err error
		if text, err = encryptWithPassphrase(text, passphrase, scryptWork); err != nil {
			return fmt.Errorf("encrypting the key: %w", err)
		}
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
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("reading key file: %w: %w", cpar.ErrKey, err)
	}
	k, err := parseKey(text, passphrase)
	if err != nil {
		return nil, fmt.Errorf("reading key file %s: %w", path, err)
	}
	return k, nil
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
	for line := range strings.Lines(string(text)) {
		digits, ok := strings.CutPrefix(strings.TrimSpace(line), keyPrefix)
		if !ok {
			continue
		}
		k := new(Key)
		// The digits stay out of the error.
		if n, err := hex.Decode(k.secret[:], []byte(digits[:min(len(digits), 64)])); err != nil || n != 32 || len(digits) != 64 {
			return nil, fmt.Errorf("%w: the key line is damaged; use a copy of the file", cpar.ErrKey)
		}
		return k, nil
	}
	return nil, fmt.Errorf("%w: it holds no cpar key", cpar.ErrKey)
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
	out, err := io.ReadAll(io.LimitReader(r, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("%w: the encrypted key is damaged: %w", cpar.ErrKey, err)
	}
	return out, nil
}
