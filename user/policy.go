package user

import (
	"strings"

	"cpar"
)

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
