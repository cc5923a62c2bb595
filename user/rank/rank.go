// Package rank turns the nearest annotated photos into keywords for a new one.
//
//	neighbours: distance Dis_I and keywords each ─▶ keywords, best first, with weights
//
// It is the last step of the paper: neighbour I of the k returned ones gets
// the weight W_I = 1 − Dis_I/ΣDis, keyword t the weight W_t = Σ W_I over the
// neighbours that have it, and the keywords of greatest weight annotate the
// photo. Dis is D_L1 + D_KL in units of normalised features, at least 0.
//
// # What the weights mean
//
// With n_t neighbours that have t and D_t the sum of their distances, W_t is
// n_t − D_t/ΣDis. As D_t/ΣDis lies in [0, 1], a keyword of more neighbours
// never weighs less than one of fewer: the number of neighbours ranks first,
// nearness among equal numbers.
//
// # Where it corrects the paper
//
// A single neighbour has weight 1, where the printed formula gives 1 − 1 = 0.
// Neighbours that are all at distance 0 have weight 1 − 1/k each, the limit of
// equal distances, where the printed formula is 0/0. The weights are not
// invariant to a shift of the distances, so an unknown offset must be removed
// before they are formed, and Dis is clamped at 0: distances from encrypted
// scores come out slightly negative for photos that are nearly equal.
package rank

import (
	"cmp"
	"math"
	"slices"
)

// Neighbour is one of the nearest annotated photos.
type Neighbour struct {
	Dis      float64  // distance to the new photo; below 0 counts as 0
	Keywords []string // a word that occurs twice counts once
}

// Keyword is a word for the new photo. Weights lie in [0, k] for k neighbours.
type Keyword struct {
	Word   string  `json:"word"`
	Weight float64 `json:"weight"`
}

// Keywords ranks the words of near by weight and returns the first n of them,
// or all if there are fewer. Words of equal weight come in order of first
// occurrence, nearest neighbour first; near may be in any order and is not
// changed. A neighbour whose distance is NaN or infinite is left out, as though
// it had not been returned: it says nothing, and would make every weight
// say nothing.
func Keywords(near []Neighbour, n int) []Keyword {
	sorted := make([]Neighbour, 0, len(near))
	for _, i := range near {
		if !math.IsNaN(i.Dis) && !math.IsInf(i.Dis, 0) {
			sorted = append(sorted, i)
		}
	}
	// Stable: photos at equal distances stay in the order given.
	slices.SortStableFunc(sorted, func(a, b Neighbour) int { return cmp.Compare(a.Dis, b.Dis) })
	weights := neighbourWeights(sorted)

	words := []Keyword{} // in order of first occurrence; empty, not null, in JSON
	place := make(map[string]int)
	for i, neighbour := range sorted {
		for j, word := range neighbour.Keywords {
			if slices.Contains(neighbour.Keywords[:j], word) {
				continue
			}
			at, known := place[word]
			if !known {
				at = len(words)
				place[word] = at
				words = append(words, Keyword{Word: word})
			}
			words[at].Weight += weights[i] // W_t = Σ W_I
		}
	}
	slices.SortStableFunc(words, func(a, b Keyword) int { return cmp.Compare(b.Weight, a.Weight) })
	return words[:max(0, min(n, len(words)))]
}

// neighbourWeights is W_I of every neighbour.
func neighbourWeights(near []Neighbour) []float64 {
	weights := make([]float64, len(near))
	if len(near) == 1 {
		weights[0] = 1 // printed: 1 − Dis/Dis = 0
		return weights
	}
	sum := 0.0
	for _, i := range near {
		sum += max(0, i.Dis)
	}
	for i := range near {
		if sum == 0 {
			weights[i] = 1 - 1/float64(len(near)) // printed: 1 − 0/0
			continue
		}
		weights[i] = 1 - max(0, near[i].Dis)/sum
	}
	return weights
}
