package rank

import (
	"context"
	"math"
	"slices"
)

// The curve maps a word's vote, and its share of the photos, to a probability.
// A small collection leaves most of the plane of votes and shares without
// samples. There the curve's six terms may give any value: after 80 photos, a
// word with a thousandth of the votes got probability 0.82. A prior constrains
// the terms by artificial predictions all over the plane, whose outcomes come
// from a simpler curve: aloneCurve for guesses that need no neighbours
// (Guess.Alone), otherwise priorProbability.

// aloneCurve was fitted to collections of 30 and 100 photos that were drawn from
// the training part of Corel-5k.
var aloneCurve = [curveTerms]float64{-2.2830, 0.5254, 4.0708, 0.0075, -0.9865, -0.3952}

// priorWords is the total weight of the prior's predictions. This is a
// twentieth of the number of predictions made for 80 photos, and a thousandth
// of those for 4,500 photos. Weights of 100 to 1,000 work equally well. With
// aloneCurve, the weight is aloneWords divided by the number of photos, because
// even a hundred photos hardly show the shape of a curve.
const priorWords, aloneWords = 200, 900_000

// The prior's predictions form a grid: the votes in priorVotes by priorShares
// quantiles of the words' shares.
var priorVotes = []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1}

const priorShares = 8

// With few photos, the curve should above all fit the `bestVoted` words with a
// photo's largest votes. The other words, which are never shown, have the
// weight restWeight.
const bestVoted, restWeight = 8, 0.1

// predictions holds for each vote the terms x of the curve, the word's share of
// the photos, the outcome (1 for a right word) and a weight.
type predictions struct {
	x                           [][curveTerms]float64
	vote, share, right, weights []float64
}

func (r *predictions) add(vote, share, right, weight float64) {
	r.x = append(r.x, terms(vote, share))
	r.vote, r.share = append(r.vote, vote), append(r.share, share)
	r.right, r.weights = append(r.right, right), append(r.weights, weight)
}

// fitCurve fits the curve and its isotonic correction, and returns the
// corrected probabilities with the outcomes.
func (c *Calibrated) fitCurve(ctx context.Context, n *indexedSamples, lists [][]wordVote) (p []float64, y []bool, err error) {
	seen := c.predictions(n, lists)
	p = make([]float64, len(seen.x))
	for _, right := range seen.right {
		y = append(y, right == 1)
	}
	seen.addPrior(n.alone, c.photos)
	if c.curve, err = logistic(ctx, &seen); err != nil {
		return nil, nil, err
	}
	if n.alone {
		c.discountCommon()
	}
	for i := range p {
		p[i] = sigmoid(dot(c.curve, seen.x[i]))
	}
	c.isotonic = fitIsotonic(p, y)
	for i := range p {
		p[i] = applyIsotonic(p[i], c.isotonic)
	}
	return p, y, nil
}

// predictions returns each vote with its word's share of the other photos.
func (c *Calibrated) predictions(n *indexedSamples, lists [][]wordVote) (seen predictions) {
	total := priorShares * len(priorVotes)
	for _, list := range lists {
		total += len(list)
	}
	seen.x = make([][curveTerms]float64, 0, total)
	for _, s := range []*[]float64{&seen.vote, &seen.share, &seen.right, &seen.weights} {
		*s = make([]float64, 0, total)
	}
	for i, list := range lists {
		least := 0.0
		if n.alone {
			least = leastOfBest(list)
		}
		for _, v := range list {
			right, weight := 0.0, restWeight
			if slices.Contains(n.truth[i], v.word) {
				right = 1
			}
			if v.vote >= least {
				weight = 1
			}
			seen.add(v.vote, c.shareOfOthers(n.share[v.word], right), right, weight)
		}
	}
	return seen
}

// leastOfBest returns the lowest vote among the `bestVoted` best words.
func leastOfBest(list []wordVote) float64 {
	if len(list) <= bestVoted {
		return 0
	}
	votes := make([]float64, len(list))
	for i, v := range list {
		votes[i] = v.vote
	}
	slices.Sort(votes)
	return votes[len(votes)-bestVoted]
}

// shareOfOthers returns a word's share of the photos other than the sample.
// `own` is 1 if the sample has the word, otherwise 0. If the sample counted,
// words of a single photo would always seem wrong.
func (c *Calibrated) shareOfOthers(share, own float64) float64 {
	n := float64(c.photos)
	return max(1, share*n-own) / max(1, n-1)
}

func (r *predictions) addPrior(alone bool, photos int) {
	if len(r.x) == 0 {
		return
	}
	// A subset of about 20,000 predictions suffices.
	some := predictions{}
	for i := 0; i < len(r.x); i += 1 + len(r.x)/20000 {
		some.vote, some.share, some.right = append(some.vote, r.vote[i]), append(some.share, r.share[i]), append(some.right, r.right[i])
	}
	weight, trust := float64(priorWords), some.trust()
	if alone {
		weight = aloneWords / float64(photos)
	}
	slices.Sort(some.share)
	for k := range priorShares {
		share := some.share[(len(some.share)-1)*k/(priorShares-1)]
		for _, v := range priorVotes {
			p := priorProbability(v, share, trust)
			if alone {
				p = sigmoid(dot(aloneCurve, terms(v, share)))
			}
			r.add(v, share, p, weight/float64(priorShares*len(priorVotes)))
		}
	}
}

// priorProbability is the prior's curve. It returns the word's share for trust
// 0, the vote for trust 1, and interpolates between them.
func priorProbability(vote, share, trust float64) float64 {
	return clampProbability(share + trust*(min(vote, 1)-share))
}

// trust returns the maximum-likelihood estimate of the trust in votes, a
// multiple of 1/20.
func (r *predictions) trust() float64 {
	best, at := math.Inf(-1), 0.0
	for k := 1; k < 20; k++ {
		trust, sum := float64(k)/20, 0.0
		for i, v := range r.vote {
			p := priorProbability(v, r.share[i], trust)
			if r.right[i] == 0 {
				p = 1 - p
			}
			sum += math.Log(p)
		}
		if sum > best {
			best, at = sum, trust
		}
	}
	return at
}

// In the collections to which aloneCurve was fitted, usualShare is the share of
// the other photos that have a random keyword of a photo. If the share differs,
// discountCommon lowers a word's log-odds by commonSlope times the logarithm of
// the ratio to usualShare, times the logarithm of the word's number of photos.
// The first logarithm is limited to ±commonByChance/√n for n photos, about two
// standard deviations of chance. The factor commonPhotos/(n+commonPhotos) makes
// the discount fade as n grows.
const usualShare, commonSlope, commonPhotos, commonByChance = 0.062, 0.5, 50, 2.5

// discountCommon corrects the curve for words that are by chance more common in
// a small collection than usual. The samples cannot reveal such words, because
// they are from the same collection. Words of a single photo stay unchanged.
func (c *Calibrated) discountCommon() {
	n, all, pairs := float64(c.photos), 0.0, 0.0
	for _, w := range c.words {
		count := float64(w.count)
		all, pairs = all+count, pairs+count*(count-1)
	}
	if pairs == 0 {
		return
	}
	more, most := math.Log(pairs/all/(n-1)/usualShare), commonByChance/math.Sqrt(n)
	slope := commonSlope * commonPhotos / (n + commonPhotos) * min(max(more, -most), most)
	// The logarithm of a word's number of photos is log π + log n.
	c.curve[4] -= slope
	c.curve[0] -= slope * math.Log(n)
}

// regularization keeps the coefficients finite if right and wrong predictions
// are perfectly separable. It weighs about as much as one prediction.
const regularization = 1e-2

// logistic regresses outcomes on terms by Newton's method with step halving.
func logistic(ctx context.Context, r *predictions) (c [curveTerms]float64, err error) {
	now, h, g := r.loss(c)
	for range 50 {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		Solve(h[:], g[:])
		step, size := g, 1.0
		next, then := c, now
		for range 30 {
			for j := range c {
				next[j] = c[j] - size*step[j]
			}
			if then, h, g = r.loss(next); then <= now {
				break
			}
			size /= 2
		}
		if !(then < now) {
			return c, nil
		}
		done := now-then < 1e-10*now
		c, now = next, then
		if done {
			return c, nil
		}
	}
	return c, nil
}

// loss returns the regularized loss of c with its second and first derivatives.
func (r *predictions) loss(c [curveTerms]float64) (sum float64, h [curveTerms * curveTerms]float64, g [curveTerms]float64) {
	sum = regularization / 2 * dot(c, c)
	for j := range g {
		g[j] = regularization * c[j]
		h[j*curveTerms+j] = regularization
	}
	for i := range r.x {
		x := &r.x[i]
		z := dot(c, *x)
		small := math.Exp(-math.Abs(z))
		p := 1 / (1 + small)
		if z < 0 {
			p = small / (1 + small)
		}
		sum += r.weights[i] * (max(z, 0) + math.Log1p(small) - r.right[i]*z)
		wrong, bend := r.weights[i]*(p-r.right[i]), r.weights[i]*p*(1-p)
		for j := range g {
			g[j] += wrong * x[j]
			for k := range g {
				h[j*curveTerms+k] += bend * x[j] * x[k]
			}
		}
	}
	return sum, h, g
}

// Solve replaces g by h⁻¹g for a positive definite matrix h of len(g) rows, by
// elimination, which overwrites h.
func Solve(h, g []float64) {
	n := len(g)
	for i := range n {
		for j := i + 1; j < n; j++ {
			f := h[j*n+i] / h[i*n+i]
			for k := i; k < n; k++ {
				h[j*n+k] -= f * h[i*n+k]
			}
			g[j] -= f * g[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			g[i] -= h[i*n+k] * g[k]
		}
		g[i] /= h[i*n+i]
	}
}
