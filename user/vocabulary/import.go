package vocabulary

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cpar"
	"cpar/photo/metadata"
)

// A List is a keyword list exported by a photo program.
type List struct {
	// Paths are the hierarchies, each from the top to a word.
	Paths    [][]string
	Synonyms map[string]string
}

// ReadList reads a keyword list in one of two forms: Lightroom's export,
// indented by tabs with synonyms in braces and categories in brackets, or one
// hierarchy per line, separated by / (digiKam) or | (Lightroom).
func ReadList(text []byte) (*List, error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	switch {
	case len(text) > 16*MaxBytes:
		return nil, fmt.Errorf("reading a keyword list: %w: it has more than %d bytes", cpar.ErrInput, 16*MaxBytes)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("reading a keyword list: %w: it is not in UTF-8", cpar.ErrInput)
	}
	l := &List{Synonyms: map[string]string{}}
	var above []string // "" for a category that is not a keyword
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n \t")
		word := strings.TrimLeft(line, "\t")
		depth := len(line) - len(word)
		switch {
		case word == "":
			continue
		case enclosed(word, "{", "}"):
			if depth > 0 && depth <= len(above) && above[depth-1] != "" {
				l.Synonyms[word[1:len(word)-1]] = above[depth-1]
			}
			continue
		case depth > len(above):
			return nil, fmt.Errorf("reading a keyword list: %w: a line is indented by %d tabs below a line with %d", cpar.ErrInput, depth, len(above)-1)
		}
		parts := split(word)
		if enclosed(word, "[", "]") {
			parts = []string{""}
			if metadata.IsFaceRoot(word[1 : len(word)-1]) {
				parts = []string{word[1 : len(word)-1]}
			}
		}
		above = append(above[:depth:depth], parts...)[:depth+len(parts)]
		if parts[0] != "" {
			l.Paths = append(l.Paths, slices.DeleteFunc(slices.Clone(above), func(s string) bool { return s == "" }))
		}
	}
	return l, nil
}

func enclosed(word, before, after string) bool {
	return len(word) > 2 && strings.HasPrefix(word, before) && strings.HasSuffix(word, after)
}

// split splits a line at | or, for digiKam's format, at /.
func split(line string) []string {
	sep := "/"
	if strings.Contains(line, "|") {
		sep = "|"
	}
	var parts []string
	for part := range strings.SplitSeq(line, sep) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// FromLists returns a vocabulary with the parents and synonyms of lists.
// Result leftOut lists unusable words, names of people, and words already
// placed under another path.
func FromLists(lists ...*List) (v *Vocabulary, leftOut []string, err error) {
	f := file{Parents: map[string]string{}, Synonyms: map[string]string{}}
	placed := map[string]string{} // from folded words to paths
	for _, l := range lists {
		for _, path := range l.Paths {
			word := path[len(path)-1]
			if len(path) < 2 {
				continue
			}
			if metadata.IsFaceRoot(path[0]) {
				if !metadata.IsPersonNoun(word) {
					leftOut = append(leftOut, strings.Join(path, "/"))
				}
				continue
			}
			above, err := cleanPath(strings.Join(path[:len(path)-1], "/"))
			if word, err2 := clean(word); err == nil && err2 == nil && !slices.ContainsFunc(path[:len(path)-1], func(a string) bool { return fold(a) == fold(word) }) {
				if before, known := placed[fold(word)]; known && before != fold(above) {
					leftOut = append(leftOut, strings.Join(path, "/"))
				} else if !known {
					placed[fold(word)], f.Parents[word] = fold(above), above
				}
				continue
			}
			leftOut = append(leftOut, strings.Join(path, "/"))
		}
		for other, word := range l.Synonyms {
			if _, err := clean(other); err != nil || fold(other) == fold(word) {
				leftOut = append(leftOut, other)
				continue
			}
			f.Synonyms[other] = word
		}
	}
	slices.Sort(leftOut)
	leftOut = slices.Compact(leftOut)
	if v, err = compile(f); err == nil {
		v, err = Parse(v.Text())
	}
	if err != nil {
		return nil, leftOut, fmt.Errorf("importing keyword lists: %w", err)
	}
	return v, leftOut, nil
}
