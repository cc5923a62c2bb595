package dataset

import (
	"fmt"
	"strings"

	"cpar"
	"cpar/internal/untrusted"
)

// Kind is the kind of a warning.
type Kind string

const (
	Missing    Kind = "missing-file"       // in the manifest but not in the folder
	Duplicate  Kind = "duplicate-path"     // the first row is kept
	Outside    Kind = "outside-collection" // by ../, an absolute path or a link
	Malformed  Kind = "malformed-row"      // skipped
	Encoding   Kind = "not-utf8"           // skipped
	NoKeywords Kind = "no-keywords"        // skipped: nothing to learn from it
	BadKeyword Kind = "bad-keyword"        // the keyword is dropped, the image kept
	TooMany    Kind = "too-many-keywords"  // the first MaxKeywords are kept
	Unreadable Kind = "unreadable-file"    // skipped
	Ignored    Kind = "ignored-file"       // an image or link this importer does not read
	SplitGap   Kind = "split-mismatch"     // split.csv and the collection disagree
	Note       Kind = "note"               // how the whole was read; nothing was skipped
)

// kinds has the order of the summary and the words for one and for several.
var kinds = []struct {
	kind      Kind
	one, many string
}{
	{Missing, "file missing", "files missing"},
	{Outside, "path outside the collection refused", "paths outside the collection refused"},
	{Malformed, "malformed row skipped", "malformed rows skipped"},
	{Encoding, "row or name not in UTF-8 skipped", "rows or names not in UTF-8 skipped"},
	{Duplicate, "duplicate path, the first kept", "duplicate paths, the first of each kept"},
	{Unreadable, "file unreadable", "files unreadable"},
	{Ignored, "file or link ignored", "files or links ignored"},
	{NoKeywords, "image without keywords", "images without keywords"},
	{BadKeyword, "unusable keyword dropped", "unusable keywords dropped"},
	{TooMany, "image with too many keywords", "images with too many keywords"},
	{SplitGap, "name on which " + SplitName + " and the collection disagree", "names on which " + SplitName + " and the collection disagree"},
	{Note, "note", "notes"},
}

// Warning reports one thing that was skipped or changed. Name and Detail are safe to
// print: valid UTF-8 without control characters.
type Warning struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
}

func (w Warning) String() string {
	if w.Detail == "" {
		return fmt.Sprintf("%s: %s", w.Kind, w.Name)
	}
	return fmt.Sprintf("%s: %s: %s", w.Kind, w.Name, w.Detail)
}

func newWarning(kind Kind, name, format string, args ...any) *Warning {
	return &Warning{Kind: kind, Name: untrusted.Text(name), Detail: untrusted.Text(fmt.Sprintf(format, args...))}
}

// Summary groups and counts warnings, one line per kind in a fixed order: "3 files
// missing: a.jpg, b.jpg, c.jpg". It names the first five of each kind, and quotes notes,
// of which the name says nothing.
func Summary(warnings []Warning) string {
	const named = 5
	names := map[Kind][]string{}
	count := map[Kind]int{}
	for _, w := range warnings {
		count[w.Kind]++
		if len(names[w.Kind]) < named {
			name := w.Name
			if w.Kind == Note {
				name += ": " + w.Detail
			}
			names[w.Kind] = append(names[w.Kind], name)
		}
	}
	var lines []string
	for _, k := range kinds {
		n := count[k.kind]
		if n == 0 {
			continue
		}
		words := k.many
		if n == 1 {
			words = k.one
		}
		line := fmt.Sprintf("%d %s: %s", n, words, strings.Join(names[k.kind], ", "))
		if n > named {
			line += fmt.Sprintf(" and %d more", n-named)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// StrictError is Open's error under Options.Strict. It wraps cpar.ErrInput.
type StrictError struct {
	Dir      string
	Warnings []Warning
}

func (e *StrictError) Error() string {
	return fmt.Sprintf("reading the collection %s strictly: %v\n%s",
		untrusted.Text(e.Dir), cpar.ErrInput, Summary(e.Warnings))
}

func (e *StrictError) Unwrap() error { return cpar.ErrInput }
