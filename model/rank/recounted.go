package rank

import (
	"slices"
)

// WithCounts returns a copy of c for a changed collection of photos with counts
// photos per word. The loudness of a new word follows the trend.
func (c *Calibrated) WithCounts(counts map[string]int, photos int) *Calibrated {
	out := *c
	out.photos, out.words = max(1, photos), map[string]wordStats{}
	for w, count := range counts {
		known := wordStats{count: count, loudnessRatio: 1}
		if before, ok := c.words[w]; ok {
			known.loudnessRatio = before.loudnessRatio
		}
		out.words[w] = known
	}
	return &out
}

// Count returns the number of photos that have each word.
func Count(collection [][]string) map[string]int {
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
