package user

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/user/localstore"
)

// A Key holds a 32-byte seed, from which the keys of every index derive, and
// the schemes that the key allows. It prints as "cpar key (redacted)".
type Key struct {
	seed.Redacted
	secret seed.Secret
	allows Policy
}

// NewKey generates a random key. It allows schemes that reveal distances to the
// server only if the caller names them. See DefaultPolicy.
func NewKey(allow ...cpar.Scheme) *Key {
	k := &Key{allows: DefaultPolicy().With(allow...)}
	rand.Read(k.secret[:]) // never fails: crypto/rand aborts the program instead
	return k
}

// Fingerprint identifies the key independently of file and passphrase and
// reveals nothing about it.
func (k *Key) Fingerprint() string {
	f := k.secret.Derive("fingerprint")
	return hex.EncodeToString(f[:16])
}

// LocalStore opens a folder of local state encrypted under the key.
func (k *Key) LocalStore(dir string, limit int64) (*localstore.Store, error) {
	return localstore.Open(dir, k.secret.Derive("vault"), limit)
}

func (k *Key) Album() seed.Secret { return k.secret.Derive("album") }

func (k *Key) Policy() Policy { return k.allows }

// Restricted returns the key with its policy narrowed to p.
func (k *Key) Restricted(p Policy) *Key { return &Key{secret: k.secret, allows: k.allows & p} }

var ErrNotAllowed = errors.New("the key does not allow scheme")

// Check rejects a scheme that the key does not allow (ErrInput and ErrNotAllowed).
func (k *Key) Check(s cpar.Scheme) error {
	if k.allows.Allows(s) {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %w %v, which shows the cloud the distances; it allows %v", cpar.ErrInput, ErrNotAllowed, s, k.allows),
		"if you know what that means (SECURITY.md): cpar key allow %v", s)
}
