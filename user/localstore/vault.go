// Package vault keeps at home what would tell a thief of the disk about the photos:
// features, what was found for which photo, what was written into which file.
//
//	kind, name ─HMAC under the key─▶ name of a file
//	value      ─AES-256-GCM───────▶ its content
//
//	DIR/ab/cdef…      entries, which Put writes and Get reads
//	DIR/logs/ab…      logs, which grow by whole batches of records
//
// Files are 0600, folders 0700. Whoever reads the folder learns how many entries there
// are, how large, and when they were written, and nothing of names or values. Whoever
// can write to it can remove entries and put old ones back: that is noticed nowhere, so
// nothing that guards against a cloud belongs here.
package localstore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"cpar"
	"cpar/internal/seed"
	"cpar/user/internal/aead"
)

// A Vault is a folder of encrypted files under one key. It may be used by several
// goroutines and processes at once.
type Store struct {
	seed.Redacted
	dir    string
	limit  int64
	names  seed.Secret
	box    *aead.Cipher
	source *seed.Source

	mu   sync.Mutex
	used int64 // bytes of entries, as far as this process knows; -1 before the first look
}

// Open opens a folder, making it where necessary. Entries take at most limit bytes, and
// the oldest go first; with 0 there is no bound. Errors wrap cpar.ErrInput or
// cpar.ErrStorage.
func Open(dir string, secret [seed.Size]byte, limit int64) (*Store, error) {
	if dir == "" {
		return nil, fmt.Errorf("opening what is kept at home: %w: no folder was named", cpar.ErrInput)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening what is kept at home: %w: %w", cpar.ErrStorage, err)
	}
	s := seed.Secret(secret)
	return &Store{dir: dir, limit: limit, used: -1, names: s.Derive("vault/names"),
		box: aead.New(s.Derive("vault/values")), source: seed.NewSource(s.Derive("vault/nonces"), rand.Reader)}, nil
}

// path is where an entry lies: a keyed digest says nothing of kind and name.
func (v *Store) path(kind string, name []byte) string {
	d := v.names.Derive(kind, name)
	digits := hex.EncodeToString(d[:])
	return filepath.Join(v.dir, digits[:2], digits[2:])
}

// binding ties a value to its name: entries cannot be exchanged.
func binding(kind string, name []byte) []byte {
	return append([]byte("cpar/vault/"+kind+"\x00"), name...)
}

func (v *Store) seal(plain, binding []byte) []byte {
	nonces := seed.New(v.source.Fresh("vault", 0, sha256.Sum256(plain)))
	return v.box.Seal(nil, nonces, plain, binding)
}

// Get returns the value of an entry; ok is false where there is none, or none that this
// key can read.
func (v *Store) Get(kind string, name []byte) (value []byte, ok bool) {
	b, err := os.ReadFile(v.path(kind, name))
	if err != nil {
		return nil, false
	}
	value, err = v.box.Open(b, binding(kind, name))
	return value, err == nil
}

// temporary is the beginning of the names of files that are not whole yet.
const temporary = "tmp-"

// Put writes an entry, whole or not at all. It is not synced to disk: after a power
// failure an entry may be missing.
func (v *Store) Put(kind string, name, value []byte) error {
	path := v.path(kind, name)
	sealed := v.seal(value, binding(kind, name))
	if err := v.makeRoom(int64(len(sealed))); err != nil {
		return fmt.Errorf("keeping something at home: %w: %w", cpar.ErrStorage, err)
	}
	if err := writeFile(path, sealed); err != nil {
		return fmt.Errorf("keeping something at home: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

func writeFile(path string, b []byte) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, temporary) // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Delete removes an entry; one that is not there is no error.
func (v *Store) Delete(kind string, name []byte) error {
	if err := os.Remove(v.path(kind, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing something kept at home: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}
