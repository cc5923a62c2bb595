package vocabulary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

func compile(f file) (*Vocabulary, error) {
	v := &Vocabulary{written: map[string]string{}, parents: map[string][]string{}, never: map[string]bool{}}
	var err error
	v.file.Language = strings.ToLower(strings.TrimSpace(f.Language))
	if v.file.Never, err = cleanAll(f.Never); err != nil {
		return nil, err
	}
	if v.file.Synonyms, err = cleanMap(f.Synonyms, clean); err != nil {
		return nil, err
	}
	if v.file.Parents, err = cleanMap(f.Parents, cleanPath); err != nil {
		return nil, err
	}
	for _, language := range slices.Sorted(maps.Keys(f.Translations)) {
		words, err := cleanMap(f.Translations[language], clean)
		if err != nil {
			return nil, err
		}
		if len(words) > 0 {
			if v.file.Translations == nil {
				v.file.Translations = map[string]map[string]string{}
			}
			v.file.Translations[strings.ToLower(language)] = words
		}
	}
	if l := v.file.Language; l != "" && v.file.Translations[l] == nil {
		return nil, hint.Add(fmt.Errorf("%w: language %s has no translations", cpar.ErrInput, sanitize.Text(l)), "add a table [translations.%s], or leave language out", sanitize.Text(l))
	}
	if err := v.mapWords(); err != nil {
		return nil, err
	}
	return v, v.linkParents()
}

func cleanAll(words []string) (out []string, err error) {
	for _, w := range words {
		if w, err = clean(w); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(other string) bool { return fold(other) == fold(w) }) {
			out = append(out, w)
		}
	}
	return out, nil
}

// cleanMap cleans words and values. Two spellings of one word are an error.
func cleanMap(in map[string]string, value func(string) (string, error)) (map[string]string, error) {
	out, seen := map[string]string{}, map[string]bool{}
	for _, w := range slices.Sorted(maps.Keys(in)) {
		to, err := value(in[w])
		if err == nil {
			w, err = clean(w)
		}
		switch {
		case err != nil:
			return nil, err
		case seen[fold(w)]:
			return nil, wordError{fmt.Errorf("%w: two rules of one kind are about %s", cpar.ErrInput, sanitize.Text(w)), w}
		}
		seen[fold(w)], out[w] = true, to
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

func cleanPath(path string) (string, error) {
	parts := strings.Split(path, "/")
	for i := range parts {
		var err error
		if parts[i], err = clean(parts[i]); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, "/"), nil
}

// mapWords computes the words to write for synonyms and translations.
func (v *Vocabulary) mapWords() error {
	base := map[string]string{} // from folded synonyms to their words
	for other, word := range v.file.Synonyms {
		base[fold(other)] = word
	}
	for _, other := range slices.Sorted(maps.Keys(v.file.Synonyms)) { // in order, so that the same text always gives the same error
		word, steps := v.file.Synonyms[other], 0
		for ; base[fold(word)] != "" && steps <= len(base); steps++ {
			word = base[fold(word)]
		}
		if steps > len(base) {
			return wordError{fmt.Errorf("%w: the synonyms of %s lead back to it", cpar.ErrInput, sanitize.Text(other)), other}
		}
		v.written[fold(other)] = word
	}
	v.mapTranslations()
	local := map[string]string{}
	for word, other := range v.file.Translations[v.file.Language] {
		local[fold(word)] = other
	}
	for other, word := range v.written {
		v.written[other] = cmp.Or(local[fold(word)], word)
	}
	for _, w := range v.file.Never {
		v.never[fold(w)] = true
	}
	return nil
}

// mapTranslations maps a word with translations to itself, and each translation
// to its word. It skips a translation that has other rules or belongs to
// several words.
func (v *Vocabulary) mapTranslations() {
	back := map[string][]string{}
	for _, words := range v.file.Translations {
		for word, other := range words {
			if _, synonym := v.written[fold(word)]; !synonym {
				v.written[fold(word)] = word
			}
			if !slices.Contains(back[fold(other)], word) {
				back[fold(other)] = append(back[fold(other)], word)
			}
		}
	}
	for other, words := range back {
		if _, known := v.written[other]; !known && len(words) == 1 {
			v.written[other] = words[0]
		}
	}
}

// linkParents computes the parents of words. Both are in the form to write.
func (v *Vocabulary) linkParents() error {
	for _, word := range slices.Sorted(maps.Keys(v.file.Parents)) {
		of := fold(v.Word(word))
		for part := range strings.SplitSeq(v.file.Parents[word], "/") {
			if p := v.Word(part); !slices.Contains(v.parents[of], p) {
				v.parents[of] = append(v.parents[of], p)
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(v.parents)) {
		if slices.ContainsFunc(v.ancestors(word), func(a string) bool { return fold(a) == word }) {
			return wordError{fmt.Errorf("%w: %s is a parent of itself", cpar.ErrInput, sanitize.Text(word)), word}
		}
	}
	return nil
}

// ancestors returns all words above a folded word in the form to write, direct
// parents first.
func (v *Vocabulary) ancestors(word string) (all []string) {
	todo := []string{word}
	for len(todo) > 0 {
		for _, p := range v.parents[todo[0]] {
			if !slices.Contains(all, p) {
				all, todo = append(all, p), append(todo, fold(p))
			}
		}
		todo = todo[1:]
	}
	return all
}
