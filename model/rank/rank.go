// Package rank turns the nearest annotated photos into a photo's keywords.
//
//	neighbours, each with a distance Dis_I and keywords ─▶ keywords, best first, with weights
//
// It is the last step of the paper. Neighbour I of the k returned has the
// weight W_I = 1 − Dis_I/ΣDis. Keyword t has the weight W_t = Σ W_I over the
// neighbours that have it, and the keywords of largest weight annotate the
// photo. Dis is D_L1 + D_KL in units of normalised features, at least 0.
//
// # Meaning of the weights
//
// If n_t neighbours have t and the sum of their distances is D_t, then W_t is
// n_t − D_t/ΣDis. Since D_t/ΣDis lies in [0, 1], a keyword with more neighbours
// never weighs less than one with fewer. Nearness breaks ties.
//
// # Corrections to the paper
//
// A single neighbour has weight 1, where the printed formula gives 1 − 1 = 0.
// Neighbours that are all at distance 0 have weight 1 − 1/k each, the limit for
// equal distances, where the printed formula is 0/0. The weights are not
// invariant to a shift of the distances, so an unknown offset must be removed
// first. Dis is clamped at 0, because distances from encrypted scores can be
// slightly negative for nearly equal photos.
package rank

import (
	"cmp"
	"math"
	"slices"
)

// Neighbour is a near annotated photo, from a decrypted record of a reply.
type Neighbour struct {
	Record   uint32   `json:"record"`
	Dis      float64  `json:"distance"` // from the new photo, below 0 counts as 0
	Keywords []string `json:"keywords"` // repeated words count once
}

type Keyword struct {
	Word string `json:"word"`
	// Weight orders the words. W_t lies in [0, k] for k neighbours.
	Weight float64 `json:"weight"`
	// Probability is in (0, 1), or 0 if the ranker has none.
	Probability float64 `json:"probability,omitempty"`
}

// Keywords ranks the words in `near` by weight and returns the first n, or all
// if there are fewer. Words of equal weight are in order of first occurrence,
// nearest neighbour first. `near` may be in any order and is not changed.
// Neighbours with a NaN or infinite distance are ignored, because they would
// make every weight meaningless.
func Keywords(near []Neighbour, n int) []Keyword {
	sorted := nearest(near, len(near))
	words := tally(sorted, neighbourWeights(sorted)) // W_t = Σ W_I
	slices.SortStableFunc(words, func(a, b Keyword) int { return cmp.Compare(b.Weight, a.Weight) })
	return words[:max(0, min(n, len(words)))]
}

// nearest returns the k nearest neighbours in `near`, nearest first, ignoring
// non-finite distances. Photos at equal distances keep their order.
func nearest(near []Neighbour, k int) []Neighbour {
	sorted := slices.DeleteFunc(slices.Clone(near), func(i Neighbour) bool {
		return math.IsNaN(i.Dis) || math.IsInf(i.Dis, 0)
	})
	slices.SortStableFunc(sorted, func(a, b Neighbour) int { return cmp.Compare(a.Dis, b.Dis) })
	return sorted[:min(k, len(sorted))]
}

// tally adds up the weights of the neighbours of each word. Words are in order
// of first occurrence. The result is never nil, for JSON.
func tally(near []Neighbour, weights []float64) []Keyword {
	words := []Keyword{}
	place := make(map[string]int)
	for i, neighbour := range near {
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
			words[at].Weight += weights[i]
		}
	}
	return words
}

func neighbourWeights(near []Neighbour) []float64 {
	weights := make([]float64, len(near))
	if len(near) == 1 {
		weights[0] = 1 // the printed formula gives 1 − Dis/Dis = 0
		return weights
	}
	sum := 0.0
	for _, i := range near {
		sum += max(0, i.Dis)
	}
	for i := range near {
		if sum == 0 {
			weights[i] = 1 - 1/float64(len(near)) // the printed formula gives 1 − 0/0
			continue
		}
		weights[i] = 1 - max(0, near[i].Dis)/sum
	}
	return weights
}
