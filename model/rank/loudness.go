package rank

import "math"

// The loudness of words: λ_t = ∜(mean of v_t⁴) over photos, and its trend with π_t. The
// trend stands in for a word that received no votes.
//
// A high norm hears the loudest votes of a word and overhears its murmur, with which it is
// not given anyway. docs/quality.md has what other powers find.

// fourths returns Σ v⁴ of every word for every fold, and over all folds.
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

// loudness returns λ of every word from its sum of fourth powers over a number of photos, and the trend.
func (n *indexedSamples) loudness(fourths []float64, photos int) (loud []float64, trend [2]float64) {
	loud = make([]float64, len(fourths))
	var sw, sx, sy, sxx, sxy float64
	for w, sum := range fourths {
		// A tiny difference of sums is only rounding.
		if sum > 1e-12 && photos > 0 {
			loud[w] = math.Sqrt(math.Sqrt(sum / float64(photos)))
			x, y := math.Log(n.share[w]), math.Log(loud[w])
			sw, sx, sy, sxx, sxy = sw+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}
	}
	// Least squares; a constant if all words have the same share.
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

// loudnessOutOfFold returns λ of every word for every fold, from the photos of the other folds:
// a photo's own votes must not determine how loud its words are. A single fold has no
// others.
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

// setLoudness stores in c how loud words are.
func (c *Calibrated) setLoudness(n *indexedSamples, votes [][]wordVote) {
	_, all := n.fourthPowers(votes)
	loud, trend := n.loudness(all, len(votes))
	c.trend = trend
	for w, name := range n.names {
		known, ok := c.words[name]
		if !ok { // in a sample's truth but in no photo of the collection
			continue
		}
		known.loudnessRatio = float32(loud[w] / math.Exp(trend[0]+trend[1]*math.Log(n.share[w])))
		c.words[name] = known
	}
}
