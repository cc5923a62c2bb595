package user

import (
	"strings"

	"cpar"
)

// A Policy is the set of schemes that a key allows. It is checked whenever an
// index is built or opened. A server therefore cannot make an owner use a
// scheme that reveals more.
type Policy uint16 // one bit per scheme

// DefaultPolicy returns the schemes under which the server learns no distances.
func DefaultPolicy() (p Policy) {
	for _, s := range cpar.Schemes() {
		if Hides(s) {
			p = p.With(s)
		}
	}
	return p
}

// ParsePolicy parses scheme names separated by commas or spaces.
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

func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePolicy(string(text))
	return err
}

func (p Policy) Allows(s cpar.Scheme) bool { return p>>s&1 == 1 }

func (p Policy) Schemes() (list []cpar.Scheme) {
	for _, s := range cpar.Schemes() {
		if p.Allows(s) {
			list = append(list, s)
		}
	}
	return list
}

func (p Policy) With(schemes ...cpar.Scheme) Policy {
	for _, s := range schemes {
		p |= 1 << s
	}
	return p
}
