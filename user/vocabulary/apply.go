package vocabulary

import (
	"slices"
	"strings"

	"cpar/model/rank"
)

// Word returns the word to write in place of `word`.
func (v *Vocabulary) Word(word string) string {
	if v == nil {
		return word
	}
	if w, ok := v.written[fold(word)]; ok {
		return w
	}
	return word
}

// Never reports whether the rules forbid suggesting `word` or its replacement.
func (v *Vocabulary) Never(word string) bool {
	return v != nil && (v.never[fold(word)] || v.never[fold(v.Word(word))])
}

// Apply returns ranked keywords in the owner's words, best first. It merges
// synonyms and leaves out words that are never suggested. After a word it
// inserts the word's parents, with the same probability, because the word
// implies them.
func (v *Vocabulary) Apply(ranked []rank.Keyword) []rank.Keyword {
	if v.Empty() {
		return ranked
	}
	out, at := make([]rank.Keyword, 0, len(ranked)), map[string]int{}
	add := func(word string, k rank.Keyword) {
		if v.never[fold(word)] {
			return
		}
		i, there := at[fold(word)]
		if !there {
			at[fold(word)] = len(out)
			k.Word = word
			out = append(out, k)
			return
		}
		out[i].Probability, out[i].Weight = max(out[i].Probability, k.Probability), max(out[i].Weight, k.Weight)
	}
	for _, k := range ranked {
		if v.Never(k.Word) {
			continue
		}
		word := v.Word(k.Word)
		add(word, k)
		for _, p := range v.ancestors(fold(word)) {
			add(p, k)
		}
	}
	return out
}

// Words returns the distinct words to which Apply would map the given words.
func (v *Vocabulary) Words(words []string) (out []string) {
	if v.Empty() {
		return words
	}
	ranked := make([]rank.Keyword, len(words))
	for i, w := range words {
		ranked[i].Word = w
	}
	for _, k := range v.Apply(ranked) {
		out = append(out, k.Word)
	}
	return out
}

// Related returns the words that a search for the beginning of a word should
// also find: its synonyms and translations, and all words below it.
func (v *Vocabulary) Related(begun string) (words []string) {
	begun = fold(strings.TrimSpace(begun))
	if v.Empty() || begun == "" {
		return nil
	}
	meant := map[string]bool{} // matching words to write, folded
	for _, w := range v.all() {
		if strings.HasPrefix(fold(w), begun) {
			meant[fold(v.Word(w))] = true
		}
	}
	for word := range v.parents {
		if slices.ContainsFunc(v.ancestors(word), func(a string) bool { return meant[fold(a)] }) {
			meant[word] = true
		}
	}
	for _, w := range v.all() {
		if meant[fold(v.Word(w))] && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}

// all returns every word of the rules and every replacement.
func (v *Vocabulary) all() (words []string) {
	for other, word := range v.file.Synonyms {
		words = append(words, other, word)
	}
	for word, path := range v.file.Parents {
		words = append(append(words, word), strings.Split(path, "/")...)
	}
	for _, of := range v.file.Translations {
		for word, other := range of {
			words = append(words, word, other)
		}
	}
	return words
}
