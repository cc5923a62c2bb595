package rank

import (
	"fmt"
	"slices"
	"strconv"

	"cpar"
)

// Renamed is a ranker that was calibrated on numbers of words ("0", "1", …) for
// the words themselves. c is unchanged.
func (c *Calibrated) Renamed(words []string) (*Calibrated, error) {
	out := *c
	out.words = make(map[string]word, len(c.words))
	for number, known := range c.words {
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(words) {
			return nil, fmt.Errorf("naming the words of a ranker: %w: no word %q among %d", cpar.ErrInput, number, len(words))
		}
		out.words[words[i]] = known
	}
	return &out, nil
}

// Recounted is c with its parameters for a collection that has changed: how common
// each word is now. How loud a word is follows the trend with that. c is unchanged.
func (c *Calibrated) Recounted(collection [][]string) *Calibrated {
	out := *c
	out.photos, out.words = max(1, len(collection)), map[string]word{}
	for w, count := range countWords(collection) {
		known := word{count: count, louder: 1}
		if before, ok := c.words[w]; ok {
			known.louder = before.louder
		}
		out.words[w] = known
	}
	return &out
}

// countWords counts the photos that have each word.
func countWords(collection [][]string) map[string]int {
	counts := map[string]int{}
	for _, words := range collection {
		for i, w := range words {
			if !slices.Contains(words[:i], w) {
				counts[w]++
			}
		}
	}
	return counts
}
