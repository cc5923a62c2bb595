package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"cpar/internal/exitcode"
	"cpar/internal/sanitize"
	"cpar/photo/dataset"
	"cpar/user"
)

// unlessJSON returns the writer for notes, or nil with --json.
func unlessJSON(cmd *cobra.Command, asJSON bool) io.Writer {
	if asJSON {
		return nil
	}
	return cmd.ErrOrStderr()
}

func next(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "next: "+format+"\n", args...)
}

// again returns a flag for the next command, or "" if the command does not need
// it because a setting has the same value.
func again(flag, value string) string {
	found, err := table.Find("")
	if set := found[flag].Values; value == "" || err == nil && len(set) == 1 && set[0] == value {
		return ""
	}
	return " --" + flag + " " + shellWord(value)
}

// nextPush suggests the push command, with additional flags in `more`. It omits
// --cloud if a setting names the cloud.
func nextPush(cmd *cobra.Command, index, more string) {
	if found, err := table.Find(""); err == nil && len(found["cloud"].Values) == 1 {
		next(cmd, "cpar push %s%s", shellWord(index), more)
		return
	}
	next(cmd, "cpar push %s%s --cloud http://127.0.0.1:8080 (or the address of your cpard)", shellWord(index), more)
}

func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+,=~", r)
	}) && !strings.HasPrefix(s, "~") {
		return s
	}
	return sanitize.Text("'" + strings.ReplaceAll(s, "'", `'\''`) + "'")
}

// output prints v as JSON or, without --json, calls human.
func output(c *cobra.Command, asJSON bool, v any, human func()) error {
	if !asJSON {
		human()
		return nil
	}
	return writeJSON(c.OutOrStdout(), v)
}

func writeJSON(w io.Writer, v any) error { return encode(w, v, "  ") }
func writeLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// tellCollection prints which files were skipped or changed while a collection
// was read. It prints numbers by kind and, with --verbose, names.
func tellCollection(cmd *cobra.Command, c *dataset.Collection) {
	if verbose(cmd) {
		for _, s := range c.Skipped {
			fmt.Fprintln(cmd.ErrOrStderr(), "left out", s)
		}
		for _, w := range c.Warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), w)
		}
	}
	if s := c.Summary(); s != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), s)
	}
	if s := dataset.PeopleLeftOut(c.People); s != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s; --include-people\n", s)
	}
}

func printSkipped(cmd *cobra.Command, skipped []user.Skipped) {
	printSome(cmd, skipped, func(s user.Skipped) string {
		return fmt.Sprintf("left out %s: %s", sanitize.Text(s.Name), sanitize.Text(s.Reason))
	})
}

func printDuplicates(cmd *cobra.Command, copies []user.NamedDuplicate) {
	printSome(cmd, copies, func(c user.NamedDuplicate) string {
		return fmt.Sprintf("duplicate: %s shows the same picture as %s", sanitize.Text(c.Name), sanitize.Text(c.Of))
	})
}

// printSome prints the first ten lines, or all lines with --verbose.
func printSome[T any](cmd *cobra.Command, list []T, line func(T) string) {
	notes := cmd.ErrOrStderr()
	for i, x := range list {
		if i == 10 && !verbose(cmd) {
			fmt.Fprintf(notes, "… and %d more (-v names them)\n", len(list)-i)
			break
		}
		fmt.Fprintln(notes, line(x))
	}
}

func size(n uint64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1_000_000)
}

func photosOf(n int) string { return counted(n, "photo") }

// counted returns a number with its noun in singular or plural, such as "2
// keywords".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

var errPartly = errors.New("some photos failed")

// partly returns an error for the photos that failed, with the exit code of the
// first failure. Unusable photos among others are expected, so their error is a
// summary.
func partly(failed int, all int, first error) error {
	switch {
	case failed == 0:
		return nil
	case failed < all && exitcode.Of(first) == exitcode.Input:
		return exitcode.Partly(fmt.Sprintf("%d of %s could not be used, and the others are done", failed, photosOf(all)), first)
	}
	return fmt.Errorf("%w: %d of %d; the first: %w", errPartly, failed, all, first)
}

// A counts value accounts for every file in a collection's folder. LeftOut and
// Others map reasons to numbers of files.
type counts struct {
	Found   int            `json:"found"`       // photos: used or left out
	Used    int            `json:"used"`        // photos
	LeftOut map[string]int `json:"left_out"`    // photos
	Others  map[string]int `json:"other_files"` // files that are not photos
	listed  int            // photos and other files that a summary names as left out
}

// photoKinds maps kinds of warnings about unused photos to the reasons in
// counts.LeftOut.
var photoKinds = map[dataset.Kind]string{
	dataset.NoKeywords: "without keywords",
	dataset.Missing:    "missing",
	dataset.Unreadable: "unreadable",
	dataset.Ignored:    "not read",
	dataset.Outside:    "outside the collection",
	dataset.Encoding:   "name or row not in UTF-8",
	dataset.Malformed:  "malformed row",
}

func countsOf(c *dataset.Collection, used int, skipped []user.Skipped, duplicates []user.NamedDuplicate) counts {
	n := counts{Used: used, LeftOut: map[string]int{}, Others: map[string]int{}}
	seen := map[string]bool{}
	for _, it := range c.Photos {
		seen[it.Name] = true
	}
	for _, w := range c.Warnings { // count a photo only for its first reason
		if reason, ok := photoKinds[w.Kind]; ok && !seen[w.Name] {
			seen[w.Name] = true
			n.LeftOut[reason]++
		}
	}
	if len(skipped) > 0 {
		n.LeftOut["damaged or of no known kind"] = len(skipped)
	}
	if len(duplicates) > 0 {
		n.LeftOut["duplicate"] = len(duplicates)
	}
	n.listed = n.left()
	for _, s := range c.Skipped {
		n.Others[string(s.Reason)]++
		if !s.Reason.Quiet() {
			n.listed++
		}
	}
	n.Found = used + n.left()
	return n
}

func (n counts) left() (sum int) {
	for _, k := range n.LeftOut {
		sum += k
	}
	return sum
}
