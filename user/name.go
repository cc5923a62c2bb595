package user

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// maxNameBytes bounds the name of an index.
const maxNameBytes = 64

// CheckName refuses (ErrInput) what no index can be called: a name stands where an id
// could, on one line of a terminal.
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
