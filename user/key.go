package user

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/internal/seed"
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

// Policy are the schemes that may be used with the key.
func (k *Key) Policy() Policy { return k.allows }

// Restricted is the key with a policy no wider than p, as this device knows it.
func (k *Key) Restricted(p Policy) *Key { return &Key{secret: k.secret, allows: k.allows & p} }

// A Policy is the schemes that may ever be used with a key. It is asked wherever an
// index is built or opened, so that a cloud cannot have an owner ask in a scheme
// that shows it more.
type Policy uint16 // a bit for each scheme

// DefaultPolicy are the schemes under which the cloud reads no distance.
func DefaultPolicy() (p Policy) {
	for _, s := range cpar.Schemes() {
		if Hides(s) {
			p = p.With(s)
		}
	}
	return p
}

// ParsePolicy reads names of schemes between commas or spaces.
func ParsePolicy(names string) (p Policy, err error) {
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		s, err := cpar.ParseScheme(name)
		if err != nil {
			return 0, err
		}
		p = p.With(s)
	}
	return p, nil
}

func (p Policy) String() string {
	var names []string
	for _, s := range p.Schemes() {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

// MarshalText writes a policy in JSON as String does.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePolicy.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePolicy(string(text))
	return err
}

// Allows reports whether a scheme may be used.
func (p Policy) Allows(s cpar.Scheme) bool { return p>>s&1 == 1 }

// Schemes lists the schemes that are allowed.
func (p Policy) Schemes() (list []cpar.Scheme) {
	for _, s := range cpar.Schemes() {
		if p.Allows(s) {
			list = append(list, s)
		}
	}
	return list
}

// With is p and more schemes.
func (p Policy) With(schemes ...cpar.Scheme) Policy {
	for _, s := range schemes {
		p |= 1 << s
	}
	return p
}

// Check refuses a scheme that the key does not allow (ErrInput).
func (k *Key) Check(s cpar.Scheme) error {
	if k.allows.Allows(s) {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: the key does not allow scheme %v, which shows the cloud distances; it allows %v", cpar.ErrInput, s, k.allows),
		"if you know what that means (SECURITY.md): cpar key allow %v", s)
}
