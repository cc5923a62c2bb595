// Package metadata reads the keywords in and beside photos, and writes keywords there
// such that other programs find them and nothing of theirs is lost.
//
//	photo: IPTC, XMP, EXIF ─┐
//	photo.jpg.xmp           ├─▶ ReadFile ─▶ Words: of people, of machines, refused, names
//	photo.xmp              ─┘
//	photo + Change ─▶ Plan ─▶ Edit ─▶ Apply ─▶ file            (Undo gives the Edit back)
//	file + a run's words ─▶ Retract ─▶ Edit ─▶ Apply
//
// Programs look in different places, so a keyword is written to all of them:
//
//	dc:subject               flat        everybody
//	lr:hierarchicalSubject   auto|word   Lightroom, darktable
//	digiKam:TagsList         auto/word   digiKam, Immich
//	IPTC 2:25                flat        inside JPEG files only
//
// A flat list has no root to tell a machine's words by, so they are also listed in a
// namespace of our own, urn:cpar:xmp:1.0/. A reader takes both marks away again: what
// this program suggested is never learnt from, unless a person accepted it.
//
// Nothing here decodes a picture. A damaged block hides no other when reading, and is
// never written to. What is read is bounded by the file, and an XMP packet by 32 MiB.
//
// Formats: XMP parts 1 and 3 (ISO 16684-1); IPTC-NAA IIM 4.2; Metadata Working Group,
// Guidelines for handling image metadata 2.0; docs/FORMAT.md, "Keywords in files".
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

// Words are the keywords of one photo, from all its places. No list has a word twice,
// whatever the case.
type Keywords struct {
	// Human are what people gave: the flat lists, then the leaves of hierarchies. Words
	// that this program suggested and a person accepted are among them.
	Human []string
	// Machine are what this program suggested and nobody has accepted.
	Machine []string
	// Rejected are what a person refused.
	Rejected []string
	// People are names: what stands below a root for faces, or beside a marked face.
	People []string
	// Run is the run that wrote Machine last, or "".
	Run string
}

// Problem is a damaged block. What the others say still counts.
type Problem struct{ Path, Detail string }

// Where says which file of a photo is written.
type Where string

// Embedded is for JPEG files; Plan refuses others with ErrNotEmbeddable.
const (
	Sidecar  Where = "sidecar"
	Embedded Where = "embedded"
)

// Style says how a sidecar is named.
type Style string

// Follow takes the sidecar that exists, and Append if there is none.
const (
	Append Style = "append"          // photo.jpg.xmp, as darktable and digiKam do
	Adobe  Style = "adobe"           // photo.xmp, as Lightroom does
	Follow Style = "follow-existing" // whichever exists
)

// Change is what shall become of the keywords of one photo.
type Change struct {
	Suggest        []string // words of a machine
	Accept, Reject []string // a person's judgement of such words
	Add            []string // a person's own words
	Run            string   // the run that suggests
}

var (
	// ErrNotEmbeddable: keywords cannot be written into this file without risk.
	ErrNotEmbeddable = fmt.Errorf("%w: keywords cannot be written into this file", cpar.ErrInput)
	// ErrChanged: the file is no longer what the edit was planned for.
	ErrChanged = fmt.Errorf("%w: the file changed meanwhile", cpar.ErrInput)
	// errDamaged: a block that cannot be read is not written to.
	errDamaged = fmt.Errorf("%w: its metadata is damaged", cpar.ErrInput)

	errTruncated = errors.New("it ends too early")
)

// Fold returns what makes two spellings one word: Unicode NFC, case folded.
func Fold(word string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(strings.TrimSpace(word))))
}

// maxWordBytes is the limit of a word that is written, as collections have it.
const maxWordBytes = 128

// clean returns a word as it is written, or why it is not.
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

// cleaned is the change with its words as they are written.
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
