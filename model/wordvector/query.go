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
}

// A Query holds at least one term with a positive weight.
type Query []Term

const maxTerms, maxTermWeight = 32, 100

// syntax is the hint of errors in queries.
const syntax = `words are separated by spaces: dog "old town" beach^2 -party`

// Parse parses a query:
//
//	dog         photos like those with this keyword
//	"old town"  a keyword of several words
//	beach^2     a word with twice the weight
//	-party      a word that is subtracted
//
// Errors wrap cpar.ErrInput.
func Parse(text string) (q Query, err error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("reading the query: %w: it is not UTF-8", cpar.ErrInput)
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		t := Term{Weight: 1}
		if rest, ok := strings.CutPrefix(text, "-"); ok {
			text, t.Weight = rest, -1
		}
		if t.Word, text, err = cutWord(text); err == nil {
			text, err = t.cutWeight(text)
		}
		if err != nil {
			return nil, hint.Add(fmt.Errorf("reading the query: %w", err), "%s", syntax)
		}
		q = append(q, t)
	}
	switch {
	case len(q) > maxTerms:
		err = fmt.Errorf("reading the query: %w: %d words; at most %d are possible", cpar.ErrInput, len(q), maxTerms)
	case !slices.ContainsFunc(q, func(t Term) bool { return t.Weight > 0 }):
		err = hint.Add(fmt.Errorf("reading the query: %w: it names nothing to look for", cpar.ErrInput), "%s", syntax)
	}
	return q, err
}

// cutWord returns the first word of text, without quotes, and the rest.
func cutWord(text string) (word, rest string, err error) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		if word, rest, ok = strings.Cut(quoted, `"`); !ok {
			return "", "", fmt.Errorf("%w: a quotation mark is missing", cpar.ErrInput)
		}
	} else {
		end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '^' })
		if end < 0 {
			end = len(text)
		}
		word, rest = text[:end], text[end:]
	}
	if word = strings.TrimSpace(word); word == "" {
		err = fmt.Errorf("%w: a word is missing", cpar.ErrInput)
	}
	return word, rest, err
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

// Nearest returns at most n known words, those with the smallest edit distance
// from `word`.
func Nearest(word string, known []string, n int) []string {
	word = strings.ToLower(word)
	cost := map[string]int{}
	for _, k := range known {
		cost[k] = edits(word, strings.ToLower(k))
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
