package vocabulary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Rule holds all settings of a vocabulary for one word.
type Rule struct {
	Word string `json:"word"`
	// Synonym is the word to write instead, or "".
	Synonym string `json:"synonym,omitempty"`
	// Parents is the path of words above the word, top first, separated by /.
	Parents      string            `json:"parents,omitempty"`
	Never        bool              `json:"never,omitempty"`
	Translations map[string]string `json:"translations,omitempty"`
}

// Rules returns the rules about all words in alphabetical order.
func (v *Vocabulary) Rules() (list []Rule) {
	f := v.rules()
	by := map[string]*Rule{} // by folded word
	about := func(word string) *Rule {
		r := by[fold(word)]
		if r == nil {
			r = &Rule{Word: word, Translations: map[string]string{}}
			by[fold(word)] = r
		}
		r.Word = min(r.Word, word)
		return r
	}
	for _, word := range f.Never {
		about(word).Never = true
	}
	for word, other := range f.Synonyms {
		about(word).Synonym = other
	}
	for word, path := range f.Parents {
		about(word).Parents = path
	}
	for language, words := range f.Translations {
		for word, other := range words {
			about(word).Translations[language] = other
		}
	}
	for _, word := range slices.Sorted(maps.Keys(by)) {
		list = append(list, *by[word])
	}
	return list
}

// With returns v with rule r in place of the former rule about the same word.
// An empty r removes the former rule.
func (v *Vocabulary) With(r Rule) (*Vocabulary, error) {
	if _, err := clean(r.Word); err != nil {
		return nil, fmt.Errorf("changing the vocabulary: %w", err)
	}
	f := v.copied()
	put := func(in *map[string]string, value string) {
		maps.DeleteFunc(*in, func(word, _ string) bool { return fold(word) == fold(r.Word) })
		if value = strings.TrimSpace(value); value != "" {
			if *in == nil {
				*in = map[string]string{}
			}
			(*in)[r.Word] = value
		}
	}
	f.Never = slices.DeleteFunc(f.Never, func(word string) bool { return fold(word) == fold(r.Word) })
	if r.Never {
		f.Never = append(f.Never, r.Word)
	}
	put(&f.Synonyms, r.Synonym)
	put(&f.Parents, r.Parents)
	translations := map[string]string{}
	for language, other := range r.Translations {
		language = strings.ToLower(strings.TrimSpace(language))
		translations[language] = other
		if f.Translations[language] == nil {
			f.Translations[language] = map[string]string{}
		}
	}
	for language, words := range f.Translations {
		put(&words, translations[language])
	}
	if len(f.Translations[f.Language]) == 0 {
		f.Language = ""
	}
	return changed(f)
}

// In returns a copy of v that writes words in another language or, if `language`
// is "", in the words of the index.
func (v *Vocabulary) In(language string) (*Vocabulary, error) {
	f := v.copied()
	f.Language = language
	return changed(f)
}

// Language returns the language in which words are written, "" for the words
// of the index. Languages returns the languages of all translations.
func (v *Vocabulary) Language() string    { return v.rules().Language }
func (v *Vocabulary) Languages() []string { return slices.Sorted(maps.Keys(v.rules().Translations)) }

// rules returns the rules of a vocabulary, which may be nil.
func (v *Vocabulary) rules() file {
	if v == nil {
		return file{}
	}
	return v.file
}

func (v *Vocabulary) copied() file {
	f := v.rules()
	f.Never, f.Synonyms, f.Parents = slices.Clone(f.Never), maps.Clone(f.Synonyms), maps.Clone(f.Parents)
	translations := map[string]map[string]string{}
	for language, words := range f.Translations {
		translations[language] = maps.Clone(words)
	}
	f.Translations = translations
	return f
}

func changed(f file) (*Vocabulary, error) {
	v, err := compile(f)
	if err != nil {
		return nil, fmt.Errorf("changing the vocabulary: %w", err)
	}
	return v, nil
}
