// Package exitcode maps the sentinel errors of package cpar to exit codes, so that
// scripts can act on them, and prints errors in the same way for every command.
//
//	0 done     1 another failure     2 usage
//	3 ErrInput   4 ErrKey   5 ErrCorrupt   6 ErrVersion   7 ErrCloud   8 ErrStorage
package exitcode

import (
	"errors"
	"fmt"
	"io"

	"cpar"
	"cpar/internal/hint"
)

// The exit codes. They are part of the commands' interface and must not change.
const (
	OK      = 0
	Other   = 1
	Usage   = 2
	Input   = 3
	Key     = 4
	Corrupt = 5
	Version = 6
	Cloud   = 7
	Storage = 8
)

// ErrUsage marks a malformed command line.
var ErrUsage = errors.New("usage")

type usage struct{ error }

func (u usage) Is(target error) bool { return target == ErrUsage }
func (u usage) Unwrap() error        { return u.error }

// UsageError marks err as a mistake on the command line; its text is unchanged.
func UsageError(err error) error {
	if err == nil {
		return nil
	}
	return usage{err}
}

// codes is in order of precedence, for errors that wrap two kinds. A cloud that reports a
// full disk is both ErrStorage and ErrCloud: the cause that the user can remove comes
// first.
var codes = []struct {
	kind error
	code int
}{
	{ErrUsage, Usage},
	{cpar.ErrKey, Key},
	{cpar.ErrVersion, Version},
	{cpar.ErrCorrupt, Corrupt},
	{cpar.ErrStorage, Storage},
	{cpar.ErrInput, Input},
	{cpar.ErrCloud, Cloud},
}

// Of returns the exit code for err.
func Of(err error) int {
	if err == nil {
		return OK
	}
	for _, row := range codes {
		if errors.Is(err, row.kind) {
			return row.code
		}
	}
	return Other
}

// Report prints err as `program: error: …`, its hint on a second line, and
// returns the exit code. It prints nothing for nil.
func Report(w io.Writer, program string, err error) int {
	if err != nil {
		fmt.Fprintf(w, "%s: error: %v\n", program, err)
		if h := hint.Of(err); h != "" {
			fmt.Fprintf(w, "hint: %s\n", h)
		}
	}
	return Of(err)
}
