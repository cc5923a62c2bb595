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

// Everyday are the words of the project's own list.
func Everyday() []string {
	list, err := ReadList(everyday)
	if err != nil {
		panic(err) // the list is ours, and tested
	}
	return list
}

// What a list of words may have. A word's vector takes a quarter of a second to make, once.
const (
	maxWords     = 5000
	maxWordRunes = 100
)

// ReadList reads words, one a line or several with commas between. What follows a # is for
// people. Words that differ in case alone are one.
func ReadList(text string) ([]string, error) {
	var list []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.Split(line, ",") {
			if word = strings.Join(strings.Fields(word), " "); word == "" {
				continue
			}
			if !utf8.ValidString(word) || utf8.RuneCountInString(word) > maxWordRunes || !strings.ContainsFunc(word, unicode.IsLetter) || strings.ContainsFunc(word, unicode.IsControl) {
				return nil, hint.Add(fmt.Errorf("reading words: %w: %q is none", cpar.ErrInput, sanitize.Text(truncate(word))), "name words with commas between, or one a line in a file")
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

// unique leaves out words that were there before, whatever the case.
func unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(word string) bool {
		fold := metadata.Fold(word)
		twice := seen[fold]
		seen[fold] = true
		return twice
	})
}
