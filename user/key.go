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

// A Key is everything secret that an owner has: one 32-byte seed, from which
// the keys of every index are derived with labels (package seed), and the schemes
// that may be used with it. It prints as "cpar key (redacted)" whatever the verb.
type Key struct {
	seed.Redacted
	secret seed.Secret
	allows Policy
}

// NewKey draws a key. Schemes that show the cloud distances must be allowed by
// name (DefaultPolicy).
func NewKey(allow ...cpar.Scheme) *Key {
	k := &Key{allows: DefaultPolicy().With(allow...)}
	rand.Read(k.secret[:]) // never fails: crypto/rand ends the program instead
	return k
}

// Fingerprint names the key, whatever file it lies in and under whatever
// passphrase, and tells nothing else about it.
func (k *Key) Fingerprint() string {
	f := k.secret.Derive("fingerprint")
	return hex.EncodeToString(f[:16])
}

// Vault opens a folder in which something is kept at home, encrypted with the key
// (package vault).
func (k *Key) LocalStore(dir string, limit int64) (*localstore.Store, error) {
	return localstore.Open(dir, k.secret.Derive("vault"), limit)
}

// Policy are the schemes that may be used with the key.
func (k *Key) Policy() Policy { return k.allows }

// Restricted is the key with a policy no wider than p, as this device knows it.
func (k *Key) Restricted(p Policy) *Key { return &Key{secret: k.secret, allows: k.allows & p} }

// ErrNotAllowed is the error of a scheme that may not be used with a key.
var ErrNotAllowed = errors.New("the key does not allow scheme")

// Check refuses a scheme that may not be used with the key (ErrInput and ErrNotAllowed).
func (k *Key) Check(s cpar.Scheme) error {
	if k.allows.Allows(s) {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %w %v, which shows the cloud distances; it allows %v", cpar.ErrInput, ErrNotAllowed, s, k.allows),
		"if you know what that means (SECURITY.md): cpar key allow %v", s)
}
