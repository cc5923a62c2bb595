package dataset

import (
	"fmt"
	"strings"

	"cpar"
	"cpar/internal/sanitize"
)

type Kind string

const (
	Missing       Kind = "missing-file"       // named but not in the folder
	Duplicate     Kind = "duplicate-path"     // the first row is kept
	Outside       Kind = "outside-collection" // the path leads out, by ../, as an absolute path or by a link
	Malformed     Kind = "malformed-row"      // the row is skipped
	Encoding      Kind = "not-utf8"           // the row is skipped
	NoKeywords    Kind = "no-keywords"        // skipped, because nothing can be learnt
	BadKeyword    Kind = "bad-keyword"        // the keyword is dropped, the photo kept
	TooMany       Kind = "too-many-keywords"  // the first MaxKeywords are kept
	Spelling      Kind = "spellings"          // spellings were merged, nothing was skipped
	Unreadable    Kind = "unreadable-file"    // the file is skipped
	Ignored       Kind = "ignored-file"       // an image or link that this importer does not read
	CutShort      Kind = "cut-short"          // the end of the file is missing, its beginning counts
	SplitMismatch Kind = "split-mismatch"     // split.csv and the collection disagree
	Note          Kind = "note"               // a remark on the whole collection, nothing was skipped
)

var kinds = []struct {
	kind      Kind
	one, many string
	detailed  bool
}{
	{Missing, "file missing", "files missing", false},
	{Outside, "path outside the collection refused", "paths outside the collection refused", false},
	{Malformed, "malformed row skipped", "malformed rows skipped", true},
	{Encoding, "row or name not in UTF-8 skipped", "rows or names not in UTF-8 skipped", false},
	{Duplicate, "duplicate path, the first kept", "duplicate paths, the first of each kept", false},
	{Unreadable, "file unreadable", "files unreadable", true},
	{Ignored, "file or link ignored", "files or links ignored", true},
	{CutShort, "file without its end, the beginning counts", "files without their ends, the beginnings count", false},
	{NoKeywords, "image without keywords", "images without keywords", false},
	{BadKeyword, "unusable keyword dropped", "unusable keywords dropped", true},
	{TooMany, fmt.Sprintf("image with more than %d keywords, of which the first %[1]d count", MaxKeywords),
		fmt.Sprintf("images with more than %d keywords, of which the first %[1]d count", MaxKeywords), false},
	{Spelling, "word written in several ways, taken as one", "words written in several ways, each taken as one", true},
	{SplitMismatch, "name on which " + SplitName + " and the collection disagree", "names on which " + SplitName + " and the collection disagree", false},
	{Note, "note", "notes", true},
}

// lost reports whether w stands for skipped or lost data.
func (w Warning) lost() bool { return w.Kind != Note && w.Kind != Spelling }

// Warning reports one omission or change. Name is spelt as on the disk or in
// the table, so that programs can find the file. String and Summary escape
// control characters in Name. Detail has none.
type Warning struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
}

func (w Warning) String() string {
	if w.Detail == "" {
		return fmt.Sprintf("%s: %s", w.Kind, sanitize.Text(w.Name))
	}
	return fmt.Sprintf("%s: %s: %s", w.Kind, sanitize.Text(w.Name), w.Detail)
}

func newWarning(kind Kind, name, format string, args ...any) *Warning {
	w := &Warning{Kind: kind, Name: name}
	if detail := fmt.Sprintf(format, args...); detail != "" {
		w.Detail = sanitize.Text(detail)
	}
	return w
}

func reason(err error, file string) string {
	text := strings.TrimSuffix(err.Error(), ": "+cpar.ErrInput.Error())
	return strings.Replace(text, file, "it", 1)
}

// Summary counts warnings, one line per kind in a fixed order: "3 files
// missing: a.jpg, b.jpg, c.jpg". It names the first five of each kind. The
// result contains no control characters.
func Summary(warnings []Warning) string {
	const named = 5
	by := map[Kind][]Warning{}
	for _, w := range warnings {
		by[w.Kind] = append(by[w.Kind], w)
	}
	var lines []string
	for _, k := range kinds {
		all := by[k.kind]
		n := len(all)
		if n == 0 {
			continue
		}
		var names []string
		for _, w := range all[:min(n, named)] {
			name := sanitize.Text(w.Name)
			switch {
			case !k.detailed || w.Detail == "":
			case k.kind == Note:
				name += ": " + w.Detail
			default:
				name += " (" + w.Detail + ")"
			}
			names = append(names, name)
		}
		words := k.many
		if n == 1 {
			words = k.one
		}
		line := fmt.Sprintf("%d %s: %s", n, words, strings.Join(names, ", "))
		if n > named {
			line += fmt.Sprintf(" and %d more", n-named)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// StrictError is Open's error if Options.Strict is set. It wraps cpar.ErrInput.
type StrictError struct {
	Dir      string
	Warnings []Warning
}

func (e *StrictError) Error() string {
	return fmt.Sprintf("reading the collection %s strictly: %v\n%s",
		sanitize.Text(e.Dir), cpar.ErrInput, Summary(e.Warnings))
}

func (e *StrictError) Unwrap() error { return cpar.ErrInput }
