package rank

import "math"

// The loudness of a word t is λ_t = ∜(mean of v_t⁴) over photos, where v_t is
// the vote for t. For words without votes, it is estimated from π_t, the share
// of the photos that have t. The fourth power emphasises strong votes over weak
// ones, which rarely make a keyword (docs/quality.md).

// fourthPowers returns Σ v⁴ of every word for every fold, and over all folds.
func (n *indexedSamples) fourthPowers(votes [][]wordVote) (byFold [][]float64, all []float64) {
	all = make([]float64, len(n.share))
	for _, fold := range n.folds {
		sums := make([]float64, len(n.share))
		for _, s := range fold {
			for _, v := range votes[s] {
				square := v.vote * v.vote
				sums[v.word] += square * square
			}
		}
		for w, x := range sums {
			all[w] += x
		}
		byFold = append(byFold, sums)
	}
	return byFold, all
}

// loudness returns λ of every word from its sum of fourth powers over photos,
// and the trend of log λ over log π.
func (n *indexedSamples) loudness(fourths []float64, photos int) (loud []float64, trend [2]float64) {
	loud = make([]float64, len(fourths))
	var sw, sx, sy, sxx, sxy float64
	for w, sum := range fourths {
		if sum > 1e-12 && photos > 0 {
			loud[w] = math.Sqrt(math.Sqrt(sum / float64(photos)))
			x, y := math.Log(n.share[w]), math.Log(loud[w])
			sw, sx, sy, sxx, sxy = sw+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}
	}
	// Fit a line by least squares, or a constant if all shares are equal.
	if d := sw*sxx - sx*sx; d > 1e-9*sw*sw {
		trend[1] = (sw*sxy - sx*sy) / d
	}
	if sw > 0 {
		trend[0] = (sy - trend[1]*sx) / sw
	}
	for w, l := range loud {
		if l == 0 {
			loud[w] = math.Exp(trend[0] + trend[1]*math.Log(n.share[w]))
		}
	}
	return loud, trend
}

// loudnessOutOfFold returns λ of every word for every fold, from the photos of
// the other folds, because a photo's own votes must not influence its test. A
// single fold uses all photos.
func (n *indexedSamples) loudnessOutOfFold(votes [][]wordVote) [][]float64 {
	byFold, all := n.fourthPowers(votes)
	filled := 0
	for _, fold := range n.folds {
		if len(fold) > 0 {
			filled++
		}
	}
	out := make([][]float64, len(byFold))
	for f, sums := range byFold {
		rest, photos := make([]float64, len(all)), len(votes)
		copy(rest, all)
		if filled > 1 {
			photos -= len(n.folds[f])
			for w, x := range sums {
				rest[w] -= x
			}
		}
		out[f], _ = n.loudness(rest, photos)
	}
	return out
}

func (c *Calibrated) setLoudness(n *indexedSamples, votes [][]wordVote) {
	_, all := n.fourthPowers(votes)
	loud, trend := n.loudness(all, len(votes))
	c.trend = trend
	for w, name := range n.names {
		known, ok := c.words[name]
		if !ok { // the word is in a sample's truth but in no photo of the collection
			continue
		}
		known.loudnessRatio = float32(loud[w] / math.Exp(trend[0]+trend[1]*math.Log(n.share[w])))
		c.words[name] = known
	}
}
