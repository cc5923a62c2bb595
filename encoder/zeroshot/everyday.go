package zeroshot

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo/metadata"
)

//go:embed everyday.txt
var everyday string

// Everyday returns the program's own list of everyday keywords.
func Everyday() []string {
	list, err := ReadList(everyday)
	if err != nil {
		panic(err) // the embedded list is tested
	}
	return list
}

// These constants limit a keyword list, because computing the vector of a
// keyword for the first time takes a quarter of a second.
const (
	maxWords     = 5000
	maxWordRunes = 100
)

// ReadList reads keywords separated by commas or line breaks. A # starts a
// comment. It drops duplicates that differ only in case.
func ReadList(text string) ([]string, error) {
	var list []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.Split(line, ",") {
			if word = strings.Join(strings.Fields(word), " "); word == "" {
				continue
			}
			if !utf8.ValidString(word) || utf8.RuneCountInString(word) > maxWordRunes || !strings.ContainsFunc(word, unicode.IsLetter) || strings.ContainsFunc(word, unicode.IsControl) {
				return nil, hint.Add(fmt.Errorf("reading words: %w: %q is not a word", cpar.ErrInput, sanitize.Text(truncate(word))), "separate words by commas, or put one on each line of a file")
			}
			list = append(list, word)
		}
	}
	list = unique(list)
	if len(list) > maxWords {
		return nil, fmt.Errorf("reading words: %w: %d words; %d are accepted", cpar.ErrInput, len(list), maxWords)
	}
	return list, nil
}

// unique drops later duplicates, ignoring case.
func unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(word string) bool {
		fold := metadata.Fold(word)
		twice := seen[fold]
		seen[fold] = true
		return twice
	})
}
