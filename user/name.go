package user

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

const maxNameBytes = 64

// CheckName rejects (ErrInput) strings that cannot name an index. A name must
// be distinguishable from an id and fit on one line of a terminal.
func CheckName(name string) error {
	_, isID := cpar.ParseIndexID(name)
	switch {
	case name == "" || len(name) > maxNameBytes || !utf8.ValidString(name):
		return fmt.Errorf("%w: the name of an index has 1 to %d bytes of UTF-8", cpar.ErrInput, maxNameBytes)
	case name != strings.TrimSpace(name) || sanitize.Text(name) != name:
		return fmt.Errorf("%w: the name of an index begins and ends with no space, and has no control characters", cpar.ErrInput)
	case isID == nil:
		return hint.Add(fmt.Errorf("%w: the name of an index must not look like an id", cpar.ErrInput), "take a word that you will remember")
	}
	return nil
}
