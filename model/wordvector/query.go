package wordvector

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// A Term is one word of a query. A negative weight subtracts the word.
type Term struct {
	Word   string
	Weight float64
	// If an argument has several words, Word is the whole argument, which may be a
	// keyword, and split holds its words.
	split Query
}

// A Query holds at least one term with a positive weight.
type Query []Term

const maxTerms, maxTermWeight = 32, 100

const syntax = `words are separated by spaces: dog "old town" beach^2 -party`

// Parse parses the arguments of a query:
//
//	dog         photos that look like those with this keyword
//	dog beach   the keyword "dog beach" if it exists, otherwise two words
//	"old town"  a keyword of several words
//	beach^2     a word with twice the weight
//	-party      a word that is subtracted
//
// Because a shell removes quotes, Resolve decides whether an argument of several
// words is one keyword. Errors wrap cpar.ErrInput.
func Parse(arguments ...string) (q Query, err error) {
	for _, text := range arguments {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("reading the query: %w: it is not UTF-8", cpar.ErrInput)
		}
		text = strings.TrimSpace(text)
		whole, rest, err := cutTerm(text, isWeight)
		isWhole := err == nil && rest == ""
		var split Query
		for ; text != ""; text = strings.TrimSpace(text) {
			var t Term
			if t, text, err = cutTerm(text, endsWord); err != nil {
				return nil, hint.Add(fmt.Errorf("reading the query: %w", err), "%s", syntax)
			}
			split = append(split, t)
		}
		if len(split) > 1 && isWhole {
			whole.split = split
			split = Query{whole}
		}
		q = append(q, split...)
	}
	_, err = q.Resolve(func(string) bool { return false })
	return q, err
}

// Resolve splits arguments of several words that are not known keywords. Errors
// wrap cpar.ErrInput.
func (q Query) Resolve(known func(word string) bool) (resolved Query, err error) {
	for _, t := range q {
		if t.split != nil && !known(t.Word) {
			resolved = append(resolved, t.split...)
			continue
		}
		t.split = nil
		resolved = append(resolved, t)
	}
	switch {
	case len(resolved) > maxTerms:
		err = fmt.Errorf("reading the query: %w: %d words; at most %d are possible", cpar.ErrInput, len(resolved), maxTerms)
	case !slices.ContainsFunc(resolved, func(t Term) bool { return t.Weight > 0 }):
		err = hint.Add(fmt.Errorf("reading the query: %w: it names nothing to look for", cpar.ErrInput), "%s", syntax)
	}
	return resolved, err
}

func isWeight(r rune) bool { return r == '^' }
func endsWord(r rune) bool { return unicode.IsSpace(r) || isWeight(r) }

// cutTerm cuts the first term off text. The term ends before a rune for which
// `ends` returns true, or at a closing quotation mark.
func cutTerm(text string, ends func(rune) bool) (t Term, rest string, err error) {
	t.Weight = 1
	if after, ok := strings.CutPrefix(text, "-"); ok {
		text, t.Weight = after, -1
	}
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		if t.Word, rest, ok = strings.Cut(quoted, `"`); !ok {
			return t, "", fmt.Errorf("%w: a quotation mark is missing", cpar.ErrInput)
		}
	} else {
		end := strings.IndexFunc(text, ends)
		if end < 0 {
			end = len(text)
		}
		t.Word, rest = text[:end], text[end:]
	}
	if t.Word = strings.TrimSpace(t.Word); t.Word == "" {
		return t, "", fmt.Errorf("%w: a word is missing", cpar.ErrInput)
	}
	rest, err = t.cutWeight(rest)
	return t, rest, err
}

// cutWeight multiplies the weight of t by the number after ^, if any.
func (t *Term) cutWeight(text string) (rest string, err error) {
	factor, ok := strings.CutPrefix(text, "^")
	if !ok {
		return text, nil
	}
	end := strings.IndexFunc(factor, unicode.IsSpace)
	if end < 0 {
		end = len(factor)
	}
	w, err := strconv.ParseFloat(factor[:end], 64)
	if err != nil || !(w > 0 && w <= maxTermWeight) {
		return "", fmt.Errorf("%w: the weight %s; it is above 0 and at most %d", cpar.ErrInput, sanitize.Short(factor[:end]), maxTermWeight)
	}
	t.Weight *= w
	return factor[end:], nil
}

// Combine returns the weighted sum of unit vectors, scaled to length 1. Errors
// wrap cpar.ErrInput.
func Combine(vectors [][]float64, weights []float64) ([]float32, error) {
	total := make([]float64, len(vectors[0]))
	for i, v := range vectors {
		for k := range total {
			total[k] += weights[i] * v[k]
		}
	}
	if !normalise(total) {
		return nil, hint.Add(fmt.Errorf("reading the query: %w: its words cancel each other out", cpar.ErrInput), "leave out a word")
	}
	out := make([]float32, len(total))
	for k, v := range total {
		out[k] = float32(v)
	}
	return out, nil
}

// Nearest returns at most n known keywords that contain a word or have a small edit
// distance from it, nearest first.
func Nearest(word string, known []string, n int) []string {
	word = strings.ToLower(word)
	cost := map[string]int{}
	for _, k := range known {
		folded := strings.ToLower(k)
		if !slices.Contains(strings.Fields(folded), word) {
			cost[k] = edits(word, folded)
		}
	}
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return 2*cost[k] > max(utf8.RuneCountInString(word), 2) })
	slices.SortFunc(near, func(a, b string) int {
		if d := cost[a] - cost[b]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return near[:min(n, len(near))]
}

// edits returns the Levenshtein distance of two words.
func edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range y {
			replaced := diagonal
			if r != s {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(y)]
}
