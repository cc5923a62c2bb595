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
	if at, ok := g.Words[word]; ok {
		return g.at(at)
	}
	return 0, false
}

func (g *Guess) at(i int) (share float64, ok bool) {
	if i >= len(g.Share) || g.Share[i] != g.Share[i] {
		return 0, false
	}
	return min(max(0, float64(g.Share[i])), 1), true
}

// guessed is the number of a guess's best words that are candidates even if no
// neighbour has them.
const guessed = 20

// names returns the word of each place in Share.
func (g *Guess) names() []string {
	if g == nil {
		return nil
	}
	names := make([]string, len(g.Words))
	for w, at := range g.Words {
		names[at] = w
	}
	return names
}

// best returns the words with the largest estimates above 0, the largest first.
// `names` is the result of g.names().
func (g *Guess) best(names []string) []Keyword {
	if g == nil {
		return nil
	}
	order := func(a, b Keyword) int { return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Word, b.Word)) }
	out := make([]Keyword, 0, guessed+1)
	for at, w := range names {
		share, ok := g.at(at)
		if !ok || share <= 0 || len(out) == guessed && share < out[guessed-1].Weight {
			continue
		}
		k := Keyword{Word: w, Weight: share}
		place, _ := slices.BinarySearchFunc(out, k, order)
		out = slices.Insert(out, place, k)
		out = out[:min(guessed, len(out))]
	}
	return out
}

// blended returns the vote of a word. `own` is the guess's share.
func blended(vote, guess, own float64) float64 { return (1-own)*vote + own*guess }

const noGuess = -1

func (n *indexedSamples) guesses(g *Guess, words []int) []float32 {
	if g == nil {
		return nil
	}
	out := make([]float32, len(words))
	for i, w := range words {
		share, ok := g.estimate(n.names[w])
		if !ok {
			share = noGuess
		}
		out[i] = float32(share)
	}
	return out
}
