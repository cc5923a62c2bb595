package rank

import (
	"fmt"
	"strconv"

	"cpar"
)

// Renamed is a ranker that was calibrated on numbers of words ("0", "1", …) for
// the words themselves. c is unchanged.
func (c *Calibrated) Renamed(words []string) (*Calibrated, error) {
	out := *c
	out.counts = make(map[string]int, len(c.counts))
	for number, count := range c.counts {
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(words) {
			return nil, fmt.Errorf("naming the words of a ranker: %w: no word %q among %d", cpar.ErrInput, number, len(words))
		}
		out.counts[words[i]] += count
	}
	return &out, nil
}

// Recounted is c with its parameters for a collection that has changed: how common
// each word is now. c is unchanged.
func (c *Calibrated) Recounted(collection [][]string) *Calibrated {
	out := *c
	out.photos, out.counts = max(1, len(collection)), map[string]int{}
	for _, words := range collection {
		seen := map[string]bool{}
		for _, w := range words {
			if !seen[w] {
				out.counts[w]++
			}
			seen[w] = true
		}
	}
	return &out
}
