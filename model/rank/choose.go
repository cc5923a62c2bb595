package rank

import (
	"math"
	"slices"
)

// chooseGuessShare chooses the guess's share and again the rarity (see
// Calibrated).
func (c *Calibrated) chooseGuessShare(n *indexedSamples, keep int) (best Quality) {
	choices := guessShareChoices
	if n.alone {
		choices = slices.Insert(slices.Clone(choices), 0, 1)
	}
	quality := make([]Quality, len(choices))
	most := 0.0
	for i, own := range choices {
		quality[i], _ = n.bestExponent(n.vote(c.neighbours, c.decay, own), keep)
		most = max(most, quality[i].Merit())
	}
	least := most * (1 - fewSamples/float64(len(n.dis)))
	chosen := slices.IndexFunc(quality, func(q Quality) bool { return q.Merit() >= least })
	c.guessShare = choices[chosen]
	best, c.loudnessExponent = n.bestExponent(n.vote(c.neighbours, c.decay, c.guessShare), keep)
	return best
}

// mostFoundLost is the maximum share of the right words that rare words may
// displace.
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

// bestExponent returns the exponent (Rarity) with the largest merit, and its
// quality. Its field Found is taken from exponent 0.
func (n *indexedSamples) bestExponent(votes [][]wordVote, keep int) (best Quality, exponent float64) {
	loud := n.loudnessOutOfFold(votes)
	found := 0.0
	for i, e := range exponentChoices {
		q := n.measure(votes, loud, e, keep)
		if i == 0 {
			found = q.Found
		}
		if i == 0 || q.Merit() > best.Merit() {
			best, exponent = q, e
		}
	}
	best.Found = found
	return best, exponent
}
