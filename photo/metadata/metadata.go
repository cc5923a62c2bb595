// Package metadata reads the keywords in and beside photos. It writes keywords
// in the notations of other programs and keeps all other metadata.
//
//	photo: IPTC, XMP, EXIF ─┐
//	photo.jpg.xmp           ├─▶ ReadFile ─▶ Keywords
//	photo.xmp              ─┘
//	photo + Change ─▶ Plan ─▶ Edit ─▶ Apply ─▶ file      (Undo inverts an Edit)
//	file + words of a run ─▶ Retract ─▶ Edit ─▶ Apply
//
// Programs read different lists, so a keyword is written to all of them:
//
//	dc:subject               flat        all programs
//	lr:hierarchicalSubject   auto|word   Lightroom, darktable
//	digiKam:TagsList         auto/word   digiKam, Immich
//	IPTC 2:25                flat        inside JPEG files only
//
// The root "auto" marks machine keywords (suggestions of CPAR) in hierarchies.
// Flat lists have no roots, so namespace urn:cpar:xmp:1.0/ lists these keywords
// too. Marked words do not enter training data unless a person accepts them.
//
// Package metadata decodes no image. It never writes to a damaged block, but
// reads the other blocks. The file size bounds the memory used, and 32 MiB
// bounds the size of an XMP packet.
//
// Formats: XMP parts 1 and 3 (ISO 16684-1), IPTC-NAA IIM 4.2, Metadata Working
// Group, Guidelines for handling image metadata 2.0, and docs/FORMAT.md,
// "Keywords in files".
package metadata

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Keywords holds the keywords of one photo from all blocks and sidecars. No
// list has duplicates under Fold.
type Keywords struct {
	// Human holds the words of people, including accepted suggestions: the flat
	// lists, then the leaves of hierarchies.
	Human []string
	// Machine holds suggestions of this program that no person has accepted.
	Machine  []string
	Rejected []string
	// People holds names of people from face regions or below a face root. It
	// omits ordinary nouns such as "child".
	People []string
	// Paths holds the paths, from the top, at which people placed words in
	// hierarchies.
	Paths [][]string
	// Run is the run that last wrote Machine, or "".
	Run string
}

// Problem describes a damaged block. Keywords of the other blocks are used.
type Problem struct{ Path, Detail string }

// Where selects the file to write.
type Where string

// Embedded requires a JPEG file. For other files, Plan returns
// ErrNotEmbeddable.
const (
	Sidecar  Where = "sidecar"
	Embedded Where = "embedded"
)

// Style selects the name of a sidecar.
type Style string

const (
	Append Style = "append"          // photo.jpg.xmp, as darktable and digiKam do
	Adobe  Style = "adobe"           // photo.xmp, as Lightroom does
	Follow Style = "follow-existing" // the existing sidecar, otherwise Append
)

type Change struct {
	Suggest        []string // machine keywords
	Accept, Reject []string // a person's verdict on machine keywords
	Add            []string // a person's own keywords
	Run            string   // the run that made the suggestions
}

var (
	// ErrNotEmbeddable reports that keywords cannot be embedded without risk.
	ErrNotEmbeddable = fmt.Errorf("%w: keywords cannot be written into this file", cpar.ErrInput)
	// ErrChanged reports that the file has changed since the edit was planned.
	ErrChanged = fmt.Errorf("%w: the file changed meanwhile", cpar.ErrInput)
	// errDamaged reports a damaged block, which must not be edited.
	errDamaged = fmt.Errorf("%w: its metadata is damaged", cpar.ErrInput)

	errTruncated = errors.New("it is truncated")
)

// Fold returns the form by which words are compared: NFC, case-folded.
func Fold(word string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(strings.TrimSpace(word))))
}

// maxWordBytes is the maximum length of a written word, as in package dataset.
const maxWordBytes = 128

func clean(word string) (string, error) {
	word = strings.TrimSpace(norm.NFC.String(word))
	refuse := func(why string) (string, error) {
		return "", fmt.Errorf("%w: keyword %s %s", cpar.ErrInput, sanitize.Text(word), why)
	}
	switch {
	case !utf8.ValidString(word):
		return refuse("is not UTF-8")
	case word == "":
		return refuse("is empty")
	case len(word) > maxWordBytes:
		return refuse(fmt.Sprintf("is %d bytes long, the limit is %d", len(word), maxWordBytes))
	case strings.ContainsFunc(word, func(r rune) bool { return unicode.IsControl(r) || r == '\ufffe' || r == '\uffff' || r == '\ufeff' }):
		return refuse("contains a control character")
	case strings.ContainsAny(word, ";"):
		return refuse("contains a semicolon, which separates keywords elsewhere")
	}
	return word, nil
}

func (c Change) cleaned() (Change, error) {
	for _, list := range []*[]string{&c.Suggest, &c.Accept, &c.Reject, &c.Add} {
		words := make([]string, 0, len(*list))
		for _, w := range *list {
			w, err := clean(w)
			if err != nil {
				return c, hint.Add(err, "give one keyword of ordinary text at a time")
			}
			words = append(words, w)
		}
		*list = words
	}
	if strings.ContainsFunc(c.Run, func(r rune) bool { return unicode.IsControl(r) || r == '\ufffd' }) {
		return c, fmt.Errorf("%w: the run's name contains a control character", cpar.ErrInput)
	}
	return c, nil
}
