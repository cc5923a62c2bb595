// Package exitcode maps the sentinel errors of package cpar to exit codes for
// scripts and prints errors the same way for every command.
//
//	error ─▶ Of ─▶ code       All: the meaning of each code, for help and documents
package exitcode

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
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
	// Interrupted is the status that a shell reports for a program ended by ^C.
	Interrupted = 130
)

var ErrUsage = errors.New("usage")

// ErrInterrupted marks a command that was told to stop.
var ErrInterrupted = errors.New("interrupted")

// UsageError marks err as a mistake on the command line and keeps its text.
func UsageError(err error) error { return hint.Kind(err, ErrUsage) }

// codes lists the kinds of errors in order of precedence, because an error may
// wrap two: a full disk at the cloud is both ErrStorage and ErrCloud. The cause
// that the user can remove comes first.
var codes = []struct {
	kind error
	code int
}{
	{ErrInterrupted, Interrupted},
	{ErrUsage, Usage},
	{cpar.ErrKey, Key},
	{cpar.ErrVersion, Version},
	{cpar.ErrCorrupt, Corrupt},
	{cpar.ErrStorage, Storage},
	{cpar.ErrInput, Input},
	{cpar.ErrCloud, Cloud},
}

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

// Partly returns a summary of work that is done except for some photos, whose
// failures the caller has printed. The exit code is err's.
func Partly(summary string, err error) error { return partly{summary, err} }

type partly struct {
	summary string
	err     error
}

func (p partly) Error() string { return p.summary }
func (p partly) Unwrap() error { return p.err }

type Code struct {
	Code int
	Name string // a word or two
	Says string // a sentence
}

// All returns the exit codes in order, for help, manual pages and documents.
func All() []Code {
	return []Code{
		{OK, "done", "everything was done, or there was nothing to do"},
		{Other, "another failure", "a failure without a code of its own, such as a bug in the program"},
		{Usage, "usage", "the command line or the configuration file is malformed"},
		{Input, "unusable input", "a photo, a folder or a value cannot be used; if there were several photos, the others were done"},
		{Key, "wrong key", "the key, its passphrase or its file is missing, wrong or damaged"},
		{Corrupt, "damaged data", "an index, a request or a stored file is damaged"},
		{Version, "unknown format version", "the file was written by another version of the program; update cpar, or build the index again"},
		{Cloud, "cloud failure", "the cloud is unreachable, failed, or sent something that it must not send"},
		{Storage, "storage failure", "a disk is full or cannot be written, including the disk of the output"},
		{Interrupted, "interrupted", "the command was stopped by ^C or a signal and left no file half written"},
	}
}

// Line lists the given codes, or all codes, in a sentence.
func Line(only ...int) string {
	line, width := "Exit codes:", len("Exit codes:")
	for _, c := range All() {
		if len(only) > 0 && !slices.Contains(only, c.Code) {
			continue
		}
		for _, word := range strings.Fields(fmt.Sprintf("%d %s,", c.Code, c.Name)) {
			if width+1+len(word) > 80 { // columns of a terminal
				line, width = line+"\n"+word, len(word)
			} else {
				line, width = line+" "+word, width+1+len(word)
			}
		}
	}
	return strings.TrimSuffix(line, ",") + "."
}

// Report prints err as `program: error: …`, with its hint on a second line, and
// returns the exit code. It prints nothing for nil, and leaves out the word error
// if err comes from Partly.
func Report(w io.Writer, program string, err error) int {
	if err != nil {
		// System errors may contain file names with control characters.
		kind := "error: "
		if errors.As(err, new(partly)) {
			kind = ""
		}
		fmt.Fprintf(w, "%s: %s%s\n", program, kind, sanitize.Lines(err.Error()))
		if h := hint.Of(err); h != "" {
			fmt.Fprintf(w, "hint: %s\n", sanitize.Lines(h))
		}
	}
	return Of(err)
}

func Table() string {
	var b strings.Builder
	for _, c := range All() {
		fmt.Fprintf(&b, "  %3d  %s: %s\n", c.Code, c.Name, c.Says)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
