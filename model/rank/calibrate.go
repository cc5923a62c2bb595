package rank

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/parallel"
)

// Sample is a photo with known keywords and its nearest photos. The nearest
// photos exclude the photo itself and every photo from which the distance was
// learnt.
type Sample struct {
	Near  []Neighbour // at least as many photos as may vote, of which at most MostNeighbours do
	Truth []string
	Guess *Guess // estimate from the photo's own features, learnt without this photo, or nil
	Fold  int    // fold number, from 0. The photos of a fold form one test
	Photo int    // position in the fitted collection
}

// Quality measures keywords that were given to test photos. Calibrate returns
// means over folds. A mean over words depends on the number of test photos,
// because more photos bring more words with only one or two photos.
type Quality struct {
	P     float64 `json:"P"`     // mean over words of precision, 0 … 1
	R     float64 `json:"R"`     // mean over words of recall, 0 … 1
	Nplus float64 `json:"Nplus"` // words found at least once
	Words float64 `json:"words"` // words of the test photos, over which P and R are means
	Found float64 `json:"found"` // mean number of right words per photo
	ECE   float64 `json:"ece"`   // expected calibration error over all words of all neighbours, in ten bins
}

// Merit returns the harmonic mean of P and R (F1), by which parameters are
// chosen. An arithmetic mean would reward trading precision for recall.
func (q Quality) Merit() float64 {
	if q.P+q.R == 0 {
		return 0
	}
	return 2 * q.P * q.R / (q.P + q.R)
}

// MostNeighbours is the maximum number of neighbours that vote.
const MostNeighbours = 80

// maxRarity bounds the exponent Rarity of type Calibrated.
const maxRarity = 2

// defaultGuessShare is the guess's share of a vote while neighbours, decay and
// rarity are chosen.
const defaultGuessShare = 0.5

// fewSamples divided by the number of samples is the share of the merit that a
// larger guess share may cost. With few photos, a guess does better than the
// neighbours, but few samples cannot show this.
const fewSamples = 10

var (
	neighbourChoices  = []int{5, 10, 20, 40, MostNeighbours}
	decayChoices      = []float64{0, 2, 4, 6, 8, 10, 12, 16}
	guessShareChoices = []float64{0.9, 0.8, 0.6, 0.5, 0.4, 0.2, 0}
	exponentChoices   = []float64{0, 0.25, 0.5, 0.7, 0.85, 1, 1.15, 1.3, 1.45, 1.6, 1.8, maxRarity}
)

// usualDecay and usualExponent are the places at which climb starts.
const usualDecay, usualExponent = 4, 5

// nearlyBest is the share of the best merit that suffices for choosing fewer
// neighbours. Fewer neighbours make replies shorter, and a partial search
// misses fewer neighbours.
const nearlyBest = 0.995

// Calibrate chooses the parameters that annotate the samples best, with `keep`
// keywords each, and fits the probabilities. `collection` holds the keywords of
// every photo that will be searched. `neighbours`, unless 0, fixes the number
// of neighbours. Errors wrap cpar.ErrInput or ctx's error.
func Calibrate(ctx context.Context, samples []Sample, collection [][]string, keep, neighbours int) (*Calibrated, Quality, error) {
	c, n, err := indexSamples(samples, collection, keep, neighbours)
	if err == nil {
		var quality Quality
		if quality, err = c.fit(ctx, n, keep, neighbours); err == nil {
			return c, quality, nil
		}
	}
	return nil, Quality{}, fmt.Errorf("calibrating the ranker: %w", err)
}

func (c *Calibrated) fit(ctx context.Context, n *indexedSamples, keep, neighbours int) (quality Quality, err error) {
	if quality, err = c.chooseVotes(ctx, n, keep, neighbours); err != nil {
		return quality, err
	}
	if n.guessed() {
		quality = c.chooseGuessShare(ctx, n, keep)
	}
	voted := n.vote(c.neighbours, c.decay, c.guessShare)
	c.setLoudness(n, voted)
	p, y, err := c.fitCurve(ctx, n, voted)
	if err != nil {
		return quality, err
	}
	if _, quality.ECE, err = Reliability(p, y, 10); err != nil {
		return quality, err
	}
	c.chooseRareBonus(n, voted, p, keep)
	c.evidence.count(len(n.dis), p, y)
	return quality, nil
}

// Merit returns the merit of the parameters that Calibrate chooses first, for a
// guess with the default share. Package learn chooses the options of a distance
// by this merit, because a strong guess hides poor neighbours.
func Merit(ctx context.Context, samples []Sample, collection [][]string, keep, neighbours int) (float64, error) {
	c, n, err := indexSamples(samples, collection, keep, neighbours)
	if err == nil {
		var quality Quality
		if quality, err = c.chooseVotes(ctx, n, keep, neighbours); err == nil {
			return quality.Merit(), nil
		}
	}
	return 0, fmt.Errorf("trying a ranker: %w", err)
}

// indexSamples returns the indexed samples, and a ranker that knows only the
// counts of the collection's keywords.
func indexSamples(samples []Sample, collection [][]string, keep, neighbours int) (*Calibrated, *indexedSamples, error) {
	if len(samples) == 0 || len(collection) == 0 || keep < 1 || neighbours < 0 || neighbours > MostNeighbours {
		return nil, nil, fmt.Errorf("%w: %d samples, %d photos, %d keywords, %d neighbours",
			cpar.ErrInput, len(samples), len(collection), keep, neighbours)
	}
	for _, s := range samples {
		if s.Fold < 0 || s.Fold >= len(samples) {
			return nil, nil, fmt.Errorf("%w: fold %d of %d samples", cpar.ErrInput, s.Fold, len(samples))
		}
	}
	c := &Calibrated{photos: len(collection), words: map[string]wordStats{}}
	for w, count := range Count(collection) {
		c.words[w] = wordStats{count: count, loudnessRatio: 1}
	}
	return c, c.index(samples), nil
}

// chooseVotes chooses neighbours, decay and rarity, with the default share of
// the guess, and returns their quality.
func (c *Calibrated) chooseVotes(ctx context.Context, n *indexedSamples, keep, neighbours int) (Quality, error) {
	ks := neighbourChoices
	if neighbours > 0 {
		ks = []int{neighbours}
	}
	if n.guessed() {
		c.guessShare = defaultGuessShare
	}
	best, decays, exponents := make([]Quality, len(ks)), make([]int, len(ks)), make([]int, len(ks))
	if err := parallel.Until(ctx, len(ks), func() func(int) {
		return func(i int) {
			k := len(ks) - 1 - i // most neighbours first, because they take the longest
			at := make([]int, len(decayChoices))
			from := usualExponent
			decays[k], best[k] = n.climb(ctx, len(decayChoices), usualDecay, func(decay int) (q Quality) {
				at[decay], q = n.bestExponent(ctx, n.vote(ks[k], decayChoices[decay], c.guessShare), from, keep)
				from = at[decay]
				return q
			})
			exponents[k] = at[decays[k]]
		}
	}); err != nil {
		return Quality{}, err
	}
	most := 0.0
	for _, q := range best {
		most = max(most, q.Merit())
	}
	chosen := slices.IndexFunc(best, func(q Quality) bool { return q.Merit() >= nearlyBest*most })
	c.neighbours, c.decay, c.loudnessExponent = ks[chosen], decayChoices[decays[chosen]], exponentChoices[exponents[chosen]]
	return best[chosen], nil
}
