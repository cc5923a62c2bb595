package rank

import (
	"context"
	"math"
	"slices"
)

// chooseGuessShare chooses the guess's share of a vote, and the rarity again
// because its best value depends on that share.
func (c *Calibrated) chooseGuessShare(ctx context.Context, n *indexedSamples, keep int) (best Quality) {
	choices := guessShareChoices
	if n.alone {
		choices = slices.Insert(slices.Clone(choices), 0, 1)
	}
	quality, exponents := make([]Quality, len(choices)), make([]int, len(choices))
	most, from := 0.0, usualExponent
	for i, own := range choices {
		exponents[i], quality[i] = n.bestExponent(ctx, n.vote(c.neighbours, c.decay, own), from, keep)
		most, from = max(most, quality[i].Merit()), exponents[i]
	}
	least := most * (1 - fewSamples/float64(len(n.dis)))
	chosen := slices.IndexFunc(quality, func(q Quality) bool { return q.Merit() >= least })
	c.guessShare, c.loudnessExponent, best = choices[chosen], exponentChoices[exponents[chosen]], quality[chosen]
	voted := n.vote(c.neighbours, c.decay, c.guessShare)
	best.Found = n.measure(voted, n.loudnessOutOfFold(voted), 0, keep).Found
	return best
}

// mostFoundLost is the share of right words that rare words may displace.
const mostFoundLost = 0.03

var rareBonusChoices = []float64{0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5}

// chooseRareBonus chooses Bonus, the factor of Weight in Score (see
// Calibrated). It tries rareBonusChoices divided by the mean weight of the
// first `keep` words. `p` holds the probability of each vote.
func (c *Calibrated) chooseRareBonus(n *indexedSamples, votes [][]wordVote, p []float64, keep int) {
	loud := n.loudnessOutOfFold(votes)
	weights := make([][]wordVote, len(votes))
	mean, count := 0.0, 0.0
	for f, fold := range n.folds {
		due := make([]float64, len(n.share))
		for w, l := range loud[f] {
			due[w] = math.Pow(l, -c.loudnessExponent)
		}
		for _, s := range fold {
			weights[s] = make([]wordVote, len(votes[s]))
			for i, v := range votes[s] {
				weights[s][i] = wordVote{v.word, v.vote * due[v.word]}
			}
			for _, v := range topWords(nil, votes[s], due, keep) {
				mean, count = mean+v.vote, count+1
			}
		}
	}
	mean /= max(1, count)
	var best Quality
	most := 0.0
	scores := make([][]wordVote, len(votes))
	for s := range scores {
		scores[s] = make([]wordVote, len(votes[s]))
	}
	for _, bonus := range rareBonusChoices {
		rest := p
		for s, list := range weights {
			for i, v := range list {
				scores[s][i] = wordVote{v.word, rest[i] + bonus*v.vote/mean}
			}
			rest = rest[len(list):]
		}
		q := n.measure(scores, loud, 0, keep)
		most = max(most, q.Found)
		if bonus == 0 || q.Found >= most*(1-mostFoundLost) && q.Merit() > best.Merit() {
			best, c.rareBonus = q, bonus/mean
		}
	}
}

// bestExponent returns the place of the exponent (Rarity) with the largest
// merit among the choices, and its quality. It starts at place `from`.
func (n *indexedSamples) bestExponent(ctx context.Context, votes [][]wordVote, from, keep int) (int, Quality) {
	loud := n.loudnessOutOfFold(votes)
	return n.climb(ctx, len(exponentChoices), from, func(i int) Quality { return n.measure(votes, loud, exponentChoices[i], keep) })
}

// wholeGrid is the maximum number of samples with which climb tries all
// choices. With more, merit rises and falls smoothly along the choices.
const wholeGrid = 1000

// climb returns the place of the choice with the largest merit, the first among
// equals, and its quality. With many samples, it starts at place `at` and goes
// to the better neighbour until there is none. After ctx has ended, the result
// is meaningless.
func (n *indexedSamples) climb(ctx context.Context, choices, at int, try func(i int) Quality) (int, Quality) {
	reach := 1
	if len(n.dis) <= wholeGrid {
		at, reach = 0, choices
	}
	tried := map[int]Quality{}
	for {
		best := max(0, at-reach)
		for i := best; i <= min(choices-1, at+reach); i++ {
			if ctx.Err() != nil {
				return best, Quality{}
			}
			if _, known := tried[i]; !known {
				tried[i] = try(i)
			}
			if tried[i].Merit() > tried[best].Merit() {
				best = i
			}
		}
		if best == at || reach == choices {
			return best, tried[best]
		}
		at = best
	}
}
