// Package exitcode maps the sentinel errors of package cpar to the exit codes
// of the commands, so that a script can act on them, and prints an error the
// way every command does.
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

// The exit codes. They are part of the commands' interface and do not change.
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

// ErrUsage marks a command line that cannot be understood.
var ErrUsage = errors.New("usage")

type usage struct{ error }

func (u usage) Is(target error) bool { return target == ErrUsage }
func (u usage) Unwrap() error        { return u.error }

// UsageError marks err as a mistake on the command line; its text stays.
func UsageError(err error) error {
	if err == nil {
		return nil
	}
	return usage{err}
}

// table is in order of precedence, for an error that wraps two kinds. A cloud
// that reports a full disk is ErrStorage and ErrCloud at once: the cause that
// a person can remove comes first.
var table = []struct {
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
	for _, row := range table {
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
