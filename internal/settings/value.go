package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"
)

type value struct {
	text string
	kind string
	set  func(string) error
}

func (v *value) String() string { return v.text }
func (v *value) Type() string   { return v.kind }

func (v *value) Set(s string) error {
	if err := v.set(s); err != nil {
		return err
	}
	v.text = s
	return nil
}

// Parsed returns a flag whose values, including the default text, are parsed by
// function `set`.
func Parsed(text, kind string, set func(string) error) pflag.Value {
	v := &value{kind: kind, set: set}
	if err := v.Set(text); err != nil {
		panic("settings: an invalid default: " + err.Error())
	}
	return v
}

// Size returns a flag for a number of bytes, such as 512MB (10⁶) or 4GiB (2³⁰).
func Size(bytes *int64, text string) pflag.Value {
	return Parsed(text, "size", func(s string) (err error) {
		*bytes, err = parseSize(s)
		return err
	})
}

func parseSize(s string) (int64, error) {
	// Parse plain digits exactly. The humanize library uses floating point.
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	n, err := humanize.ParseBytes(s)
	if err != nil || s == "" || s[0] < '0' || s[0] > '9' {
		return 0, fmt.Errorf("%q is not a size; write it like 512MB or 4GiB", s)
	}
	if n > math.MaxInt64 {
		return 0, errors.New("that is too large")
	}
	return int64(n), nil
}
