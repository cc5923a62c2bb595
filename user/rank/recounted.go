package rank

import (
	"slices"
)

// Recounted returns c for a collection that has changed, with word counts updated. The
// loudness of a word follows the trend. c is unchanged.
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
