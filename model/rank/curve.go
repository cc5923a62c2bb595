package rank

import (
	"context"
	"math"
	"slices"
)

// The curve maps votes to probabilities. A few photos leave most of the plane
// of votes and shares unseen, where six unconstrained terms may give any value
// (after 80 photos, a word with a thousandth of the votes got probability
// 0.82). A prior constrains them: additional predictions all over the plane,
// right as often as a one-parameter curve predicts.

// priorWords is the total weight of the prior's predictions: a twentieth of the
// predictions of 80 photos, and a thousandth of those from 4,500. 100 to 1,000
// do as well.
const priorWords = 200

// The prior's predictions form a grid of priorVotes and priorShares shares.
var priorVotes = []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1}

const priorShares = 8

// predictions are votes with the shares of their words, their outcomes (1 for
// right) and weights.
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
	var seen predictions
	for i, list := range lists {
		for _, v := range list {
			right := slices.Contains(n.truth[i], v.word)
			y = append(y, right)
			if right {
				seen.add(v.vote, n.share[v.word], 1, 1)
			} else {
				seen.add(v.vote, n.share[v.word], 0, 1)
			}
		}
	}
	p = make([]float64, len(y))
	seen.addPrior()
	if c.curve, err = logistic(ctx, &seen); err != nil {
		return nil, nil, err
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

func (r *predictions) addPrior() {
	if len(r.x) == 0 {
		return
	}
	// A subset of about 20,000 predictions suffices.
	some := predictions{}
	for i := 0; i < len(r.x); i += 1 + len(r.x)/20000 {
		some.vote, some.share, some.right = append(some.vote, r.vote[i]), append(some.share, r.share[i]), append(some.right, r.right[i])
	}
	trust := some.trust()
	slices.Sort(some.share)
	for k := range priorShares {
		share := some.share[(len(some.share)-1)*k/(priorShares-1)]
		for _, v := range priorVotes {
			r.add(v, share, priorProbability(v, share, trust), priorWords/float64(priorShares*len(priorVotes)))
		}
	}
}

// priorProbability is the prior's curve. With trust 0 a word is as probable as
// it is frequent, with trust 1 its vote is the probability.
func priorProbability(vote, share, trust float64) float64 {
	return clampProbability(share + trust*(min(vote, 1)-share))
}

// trust returns the likeliest trust in votes, in steps of a twentieth.
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

// regularization keeps the coefficients finite if right and wrong are perfectly
// separable. It has the weight of about one prediction.
const regularization = 1e-2

// logistic fits the regression of outcomes on the terms by Newton's method with
// step halving.
func logistic(ctx context.Context, r *predictions) ([curveTerms]float64, error) {
	loss := func(c [curveTerms]float64) float64 {
		sum := regularization / 2 * dot(c, c)
		for i := range r.x {
			z := dot(c, r.x[i])
			sum += r.weights[i] * (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - r.right[i]*z)
		}
		return sum
	}
	var c [curveTerms]float64
	now := loss(c)
	for range 50 {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		step, size := solve(r.slopes(c)), 1.0
		next, then := c, now
		for range 30 {
			for j := range c {
				next[j] = c[j] - size*step[j]
			}
			if then = loss(next); then <= now {
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

func (r *predictions) slopes(c [curveTerms]float64) (h [curveTerms][curveTerms]float64, g [curveTerms]float64) {
	for j := range g {
		g[j] = regularization * c[j]
		h[j][j] = regularization
	}
	for i := range r.x {
		p := sigmoid(dot(c, r.x[i]))
		wrong, bend := r.weights[i]*(p-r.right[i]), r.weights[i]*p*(1-p)
		for j := range g {
			g[j] += wrong * r.x[i][j]
			for k := range g {
				h[j][k] += bend * r.x[i][j] * r.x[i][k]
			}
		}
	}
	return h, g
}

// solve returns h⁻¹g for a positive definite h, by elimination.
func solve(h [curveTerms][curveTerms]float64, g [curveTerms]float64) [curveTerms]float64 {
	for i := range g {
		for j := i + 1; j < curveTerms; j++ {
			f := h[j][i] / h[i][i]
			for k := i; k < curveTerms; k++ {
				h[j][k] -= f * h[i][k]
			}
			g[j] -= f * g[i]
		}
	}
	for i := curveTerms - 1; i >= 0; i-- {
		for k := i + 1; k < curveTerms; k++ {
			g[i] -= h[i][k] * g[k]
		}
		g[i] /= h[i][i]
	}
	return g
}
