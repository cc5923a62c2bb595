// Package vocabulary holds the owner's rules for words: synonyms, translations,
// parents and words that are never suggested.
//
//	vocabulary.toml ─▶ Parse ─▶ Vocabulary ─▶ Apply:   ranked keywords, in the owner's words
//	keyword lists   ─▶ FromLists┘           ─▶ Related: further words that a search finds
//
// A vocabulary is part of an index: package user stores its Text in the
// encrypted ledger. Words are compared without regard to case.
package vocabulary

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/unicode/norm"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo/dataset"
	"cpar/photo/metadata"
)

const MaxBytes = 1 << 20

// A Vocabulary is immutable. The zero value changes no word.
type Vocabulary struct {
	file file

	written map[string]string   // maps a folded word to the word to write
	parents map[string][]string // maps a folded word to write to its parents
	never   map[string]bool     // folded words that are never suggested
}

type file struct {
	// Language is the language of words with a known translation, or "" to keep
	// the words of the index.
	Language     string                       `toml:"language,omitempty" comment:"write words in this language, if a translation is known"`
	Never        []string                     `toml:"never,omitempty" comment:"words that are never suggested"`
	Synonyms     map[string]string            `toml:"synonyms,omitempty" comment:"other word = word to write"`
	Parents      map[string]string            `toml:"parents,omitempty" comment:"word = the words above it, from the top, separated by /"`
	Translations map[string]map[string]string `toml:"translations,omitempty" comment:"in a table for each language: word = its translation"`
}

// Parse reads and checks a vocabulary. Errors wrap cpar.ErrInput.
func Parse(text []byte) (*Vocabulary, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("reading the vocabulary: %w: it has more than %d bytes", cpar.ErrInput, MaxBytes)
	}
	var f file
	d := toml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\uFEFF")))).DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, hint.Add(fmt.Errorf("reading the vocabulary: %w: %s", cpar.ErrInput, explain(err)), "cpar words --help shows an example")
	}
	v, err := compile(f)
	if err != nil {
		return nil, fmt.Errorf("reading the vocabulary: %s%w", lineOf(text, err), err)
	}
	return v, nil
}

// A wordError is an error in a rule about a word.
type wordError struct {
	error
	word string
}

func (e wordError) Unwrap() error { return e.error }

// lineOf returns "line n: " for the first line with the word of an error.
func lineOf(text []byte, err error) string {
	of := wordError{}
	if !errors.As(err, &of) {
		return ""
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("\"'=[],/\r\n", r) })
		if slices.ContainsFunc(words, func(w string) bool { return of.word != "" && fold(w) == fold(of.word) }) ||
			of.word == "" && slices.ContainsFunc([]string{`""`, "''", "//"}, func(none string) bool { return strings.Contains(line, none) }) {
			return fmt.Sprintf("line %d: ", n)
		}
	}
	return ""
}

func explain(err error) string {
	if strict := (*toml.StrictMissingError)(nil); errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return sanitize.Text(fmt.Sprintf("line %d: there is no %s", row, strings.Join(strict.Errors[0].Key(), ".")))
	}
	if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
		row, _ := at.Position()
		return sanitize.Text(fmt.Sprintf("line %d: %s", row, strings.TrimPrefix(at.Error(), "toml: ")))
	}
	return sanitize.Text(err.Error())
}

// Text returns the vocabulary as TOML. Equal vocabularies have equal texts.
func (v *Vocabulary) Text() []byte {
	if v.Empty() {
		return nil
	}
	text, err := toml.Marshal(v.file)
	if err != nil {
		panic("vocabulary: " + err.Error()) // strings can always be encoded
	}
	return text
}

func (v *Vocabulary) Empty() bool {
	return v == nil || len(v.file.Never)+len(v.file.Synonyms)+len(v.file.Parents)+len(v.file.Translations) == 0
}

type Counts struct {
	Synonyms     int `json:"synonyms"`
	Translations int `json:"translations"`
	Parents      int `json:"parents"`
	Never        int `json:"never"`
}

func (v *Vocabulary) Counts() (c Counts) {
	if v == nil {
		return c
	}
	for _, words := range v.file.Translations {
		c.Translations += len(words)
	}
	c.Synonyms, c.Parents, c.Never = len(v.file.Synonyms), len(v.file.Parents), len(v.file.Never)
	return c
}

// Subjects returns the sorted words to which rules apply, for comparison with
// the keywords of an index.
func (v *Vocabulary) Subjects() (words []string) {
	if v == nil {
		return nil
	}
	words = slices.Concat(v.file.Never, slices.Collect(maps.Values(v.file.Synonyms)), slices.Collect(maps.Keys(v.file.Parents)))
	for _, of := range v.file.Translations {
		words = slices.AppendSeq(words, maps.Keys(of))
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func fold(word string) string { return metadata.Fold(word) }

// clean normalises a word and rejects a word that cannot be a keyword.
func clean(word string) (string, error) {
	word = strings.TrimSpace(norm.NFC.String(word))
	var err error
	switch {
	case word == "":
		err = fmt.Errorf("%w: an empty word", cpar.ErrInput)
	case len(word) > dataset.MaxKeywordBytes:
		err = fmt.Errorf("%w: the word %s has more than %d bytes", cpar.ErrInput, sanitize.Short(word), dataset.MaxKeywordBytes)
	case sanitize.Text(word) != word || strings.Contains(word, ";"):
		err = fmt.Errorf("%w: the word %s contains a control character or a semicolon", cpar.ErrInput, sanitize.Text(word))
	default:
		return word, nil
	}
	return "", wordError{err, word}
}
