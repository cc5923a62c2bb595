package rank

import (
	"cmp"
	"slices"
)

// A Guess estimates a photo's keywords from its own features, without
// neighbours, by a regression that was learnt with the profile. It stays with
// the owner.
type Guess struct {
	Words map[string]int // index of each word in Share, one map for all photos of a profile
	Share []float32      // estimates, NaN for none
	// Alone marks a guess that needs no neighbours, because its estimates are
	// comparable for the collection's photos and for new photos.
	Alone bool
}

// estimate returns the estimate for a word, 0 … 1, or false if there is none.
func (g *Guess) estimate(word string) (share float64, ok bool) {
	if g == nil {
		return 0, false
	}
	at, ok := g.Words[word]
	if !ok || at >= len(g.Share) || g.Share[at] != g.Share[at] {
		return 0, false
	}
	return min(max(0, float64(g.Share[at])), 1), true
}

// guessed is the number of a guess's best words that are candidates even if no
// neighbour has them.
const guessed = 20

// best returns the words of the largest estimates above 0, the largest first.
func (g *Guess) best() []Keyword {
	if g == nil {
		return nil
	}
	var out []Keyword
	for w := range g.Words {
		if share, ok := g.estimate(w); ok && share > 0 {
			out = append(out, Keyword{Word: w, Weight: share})
		}
	}
	slices.SortFunc(out, func(a, b Keyword) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Word, b.Word))
	})
	return out[:min(guessed, len(out))]
}

// blended returns the vote of a word. `own` is the guess's share.
func blended(vote, guess, own float64) float64 { return (1-own)*vote + own*guess }

const noGuess = -1

// guesses returns the guess for every word of a sample's neighbours, in order
// of first occurrence.
func (n *indexedSamples) guesses(g *Guess, words [][]int) []float32 {
	if g == nil {
		return nil
	}
	var out []float32
	for _, w := range firstOccurrences(words) {
		share, ok := g.estimate(n.names[w])
		if !ok {
			share = noGuess
		}
		out = append(out, float32(share))
	}
	return out
}

func firstOccurrences(words [][]int) (out []int) {
	seen := map[int]bool{}
	for _, list := range words {
		for _, w := range list {
			if !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
	}
	return out
}
