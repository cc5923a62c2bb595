// Package localstore stores private data on the owner's disk, encrypted under
// the key: features, answers, and journals of changes to photos.
//
//	kind, name ─HMAC under the key─▶ file name
//	value      ─AES-256-GCM───────▶ file content
//
//	DIR/ab/cdef…      entries, written by Put and read by Get
//	DIR/logs/ab…      logs of appended records
//
// Files have mode 0600, folders 0700. A reader of the folder learns the number,
// sizes and times of entries. A writer can remove entries and restore old ones
// undetected, so data that must detect rollback is stored elsewhere.
package localstore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"cpar"
	"cpar/internal/seed"
	"cpar/user/internal/aead"
)

// A Store is a folder of encrypted files under one key. It is safe for
// concurrent use, even by several processes.
type Store struct {
	seed.Redacted
	dir    string
	limit  int64
	names  seed.Secret
	box    *aead.Cipher
	source *seed.Source

	mu   sync.Mutex
	used int64 // bytes of entries as known to this process, -1 if unknown
}

// Open opens a folder and creates it if necessary. Above `limit` bytes, the oldest
// entries are removed. 0 means no limit. Errors wrap cpar.ErrInput or cpar.ErrStorage.
func Open(dir string, secret [seed.Size]byte, limit int64) (*Store, error) {
	if dir == "" {
		return nil, fmt.Errorf("opening the local store: %w: no folder was named", cpar.ErrInput)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the local store: %w: %w", cpar.ErrStorage, err)
	}
	s := seed.Secret(secret)
	return &Store{dir: dir, limit: limit, used: -1, names: s.Derive("vault/names"),
		box: aead.New(s.Derive("vault/values")), source: seed.NewSource(s.Derive("vault/nonces"), rand.Reader)}, nil
}

// path returns the path of an entry. The file's name is a keyed digest, which
// hides kind and name.
func (v *Store) path(kind string, name []byte) string {
	d := v.names.Derive(kind, name)
	digits := hex.EncodeToString(d[:])
	return filepath.Join(v.dir, digits[:2], digits[2:])
}

// binding returns kind and name as data to authenticate with the value, so that
// entries cannot be swapped.
func binding(kind string, name []byte) []byte {
	return append([]byte("cpar/vault/"+kind+"\x00"), name...)
}

// seal derives the nonce from binding and value too, so that no nonce is used
// for two bindings or values, even if random numbers repeat.
func (v *Store) seal(plain, binding []byte) []byte {
	contents := sha256.Sum256(slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(binding))), binding, plain))
	return v.box.Seal(nil, seed.New(v.source.Fresh("vault", 0, contents)), plain, binding)
}

// Get returns the value of an entry, or false if there is no entry that this
// key can read.
func (v *Store) Get(kind string, name []byte) (value []byte, ok bool) {
	b, err := os.ReadFile(v.path(kind, name))
	if err != nil {
		return nil, false
	}
	value, err = v.box.Open(b, binding(kind, name))
	return value, err == nil
}

const temporary = "tmp-"

// Put writes an entry atomically. It does not sync, so an entry may be missing
// after a power failure.
func (v *Store) Put(kind string, name, value []byte) error {
	path := v.path(kind, name)
	sealed := v.seal(value, binding(kind, name))
	err := v.makeRoom(int64(len(sealed)))
	if err == nil {
		err = writeFile(path, sealed)
	}
	if err != nil {
		return fmt.Errorf("writing to the local store: %w: %w", cpar.ErrStorage, err)
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
