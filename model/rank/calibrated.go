package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cpar"
)

// Calibrated is a ranker with a few parameters chosen on a collection.
// Neighbours vote with weights that fall with distance, as in Guillaumin,
// Mensink, Verbeek, Schmid, "TagProp", ICCV 2009. A keyword's vote is compared
// with its frequency. This serves the purpose of the balanced neighbours of
// Verma, Jawahar, "Image annotation using metric learning in semantic
// neighbourhoods" (2PKNN), ECCV 2012. A logistic curve turns the vote into a
// probability. For the k nearest neighbours I at distances Dis_I, and keyword
// t:
//
//	a_I = exp(−Decay·Dis_I/Dis_k) / Σ       over the k nearest, with Σ a_I = 1
//	v_t = (1 − Own)·Σ a_I over the neighbours that have t + Own·g_t, 0 … 1
//	π_t = the share of the collection's photos that have t
//	λ_t = ∜(mean of v_t⁴ over the calibration photos), the loudness of t
//	Weight_t = v_t / λ_t^Rarity
//	Probability_t = σ(c₀ + c₁·log v_t + c₂·v_t + c₃·v_t² + c₄·log π_t + c₅·log v_t·log π_t)
//
//	Score_t = Probability_t + Bonus·Weight_t
//
// Isotonic regression corrects the probability (isotonic.go). Only ratios of
// distances matter. g_t is the estimate of t from the photo's own features
// (Guess), and Own is its share of the vote. Without an estimate, the
// neighbours alone vote. λ_t grows roughly as a power of π_t, and is larger if
// t's photos crowd together in the space of vectors. Dividing by λ_t favours
// rare and isolated words, because precision and recall as means over words
// reward these. Score ranks likely words first, with the largest bonus for rare
// words that costs hardly any right word. All published figures rank by Score.
//
// Candidates are the words of the neighbours and the best words of the guess.
//
// A Calibrated is immutable and safe for concurrent use. It contains keyword
// counts of the collection and stays with the owner.
type Calibrated struct {
	neighbours       int
	decay            float64 // Decay
	guessShare       float64 // Own, the share of the photo's own Guess in a vote
	loudnessExponent float64 // Rarity
	rareBonus        float64 // Bonus, added to the probability for each unit of weight
	onlyNeighbours   bool    // for version 3 of the encoding, without candidates from the guess
	evidence         evidence
	curve            [curveTerms]float64 // c₀ … c₅
	isotonic         []knot              // corrects the curve, ascending
	photos           int
	words            map[string]wordStats
	// trend holds the coefficients of log λ = trend[0] + trend[1]·log π, fitted
	// over the words.
	trend [2]float64
}

type wordStats struct {
	count int // number of photos with the word, 1 … photos
	// loudnessRatio is λ relative to the trend, 1 if unknown.
	loudnessRatio float32
}

const curveTerms = 6

func (c *Calibrated) Kind() Kind { return KindCalibrated }

func (c *Calibrated) Neighbours() int { return c.neighbours }

// Rank ranks the words of the Neighbours() nearest photos in `near` by Score,
// or by Weight if `rare` is set. It returns the first n words, or all if there
// are fewer. It treats ties and non-finite distances like function Keywords.
func (c *Calibrated) Rank(near []Neighbour, guess *Guess, n int, rare bool) []Keyword {
	sorted := nearest(near, c.neighbours)
	words := tally(sorted, appendVotes(nil, distances(sorted), c.decay))
	if c.guessShare > 0 && !c.onlyNeighbours {
		words = withCandidates(words, guess.best(guess.names()))
	}
	for i := range words {
		v := words[i].Weight
		if g, ok := guess.estimate(words[i].Word); ok {
			v = blended(v, g, c.guessShare)
		}
		words[i].Probability = applyIsotonic(sigmoid(dot(c.curve, terms(v, c.share(words[i].Word)))), c.isotonic)
		words[i].Weight = v * math.Pow(c.loudness(words[i].Word), -c.loudnessExponent)
	}
	score := func(k Keyword) float64 {
		if rare {
			return k.Weight
		}
		return k.Probability + c.rareBonus*k.Weight
	}
	slices.SortStableFunc(words, func(a, b Keyword) int { return cmp.Compare(score(b), score(a)) })
	return words[:max(0, min(n, len(words)))]
}

// withCandidates appends `more` except keywords in `words`, with a vote of 0.
func withCandidates(words, more []Keyword) []Keyword {
	n := len(words)
	for _, k := range more {
		if !slices.ContainsFunc(words[:n], func(w Keyword) bool { return w.Word == k.Word }) {
			words = append(words, Keyword{Word: k.Word})
		}
	}
	return words
}

func (c *Calibrated) loudness(w string) float64 {
	// Clamping keeps a weight finite for any decoded trend.
	trend := min(max(math.Exp(c.trend[0]+c.trend[1]*math.Log(c.share(w))), 1e-30), 1e30)
	if known, ok := c.words[w]; ok {
		return trend * float64(known.loudnessRatio)
	}
	return trend
}

// share returns π of a word, or the smallest possible π for an unknown word.
func (c *Calibrated) share(word string) float64 {
	return float64(max(1, c.words[word].count)) / float64(c.photos)
}

func distances(near []Neighbour) []float64 {
	dis := make([]float64, len(near))
	for i := range near {
		dis[i] = max(0, near[i].Dis)
	}
	return dis
}

// appendVotes appends a_I for ascending distances to the empty slice a. If all
// distances are 0, the neighbours vote equally.
func appendVotes(a, dis []float64, decay float64) []float64 {
	sum := 0.0
	for i, d := range dis {
		if last := dis[len(dis)-1]; last > 0 {
			// Subtracting the nearest distance avoids underflow. It cancels in
			// the division below.
			a = append(a, math.Exp(-decay*(d/last-dis[0]/last)))
		} else {
			a = append(a, 1)
		}
		sum += a[i]
	}
	for i := range a {
		a[i] /= sum
	}
	return a
}

// terms returns the linear terms of the logistic curve. The vote's logarithm
// fits the many small votes, and its powers fit the few large ones. A
// negligible vote counts as 10⁻³.
func terms(v, share float64) [curveTerms]float64 {
	v = min(max(v, 1e-3), 1)
	small, common := math.Log(v), math.Log(share)
	return [curveTerms]float64{1, small, v, v * v, common, small * common}
}

func dot(a, b [curveTerms]float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func sigmoid(x float64) float64 {
	// For x beyond ±36, float64 rounds the result to 0 or 1, which a
	// probability must never be.
	return 1 / (1 + math.Exp(-min(max(x, -36), 36)))
}

type Bin struct {
	Predicted float64 `json:"said"`  // mean probability
	Observed  float64 `json:"found"` // share that was right
	Count     int     `json:"count"`
}

// Reliability divides predictions into bins of equal width and returns them
// with the expected calibration error, Σ Count·|Predicted − Observed| / Σ
// Count. Errors wrap cpar.ErrInput.
func Reliability(probability []float64, right []bool, bins int) ([]Bin, float64, error) {
	if len(probability) != len(right) || bins < 1 {
		return nil, 0, fmt.Errorf("measuring reliability: %w: %d probabilities, %d answers, %d bins", cpar.ErrInput, len(probability), len(right), bins)
	}
	out := make([]Bin, bins)
	for i, p := range probability {
		if !(p >= 0 && p <= 1) {
			return nil, 0, fmt.Errorf("measuring reliability: %w: probability %v", cpar.ErrInput, p)
		}
		b := &out[min(int(p*float64(bins)), bins-1)]
		b.Predicted += p
		b.Count++
		if right[i] {
			b.Observed++
		}
	}
	off := 0.0
	for i := range out {
		b := &out[i]
		if b.Count > 0 {
			off += math.Abs(b.Predicted - b.Observed)
			b.Predicted /= float64(b.Count)
			b.Observed /= float64(b.Count)
		}
	}
	return out, off / float64(max(1, len(probability))), nil
}

// WithCounts returns a copy of c for a changed collection. `photos` is its
// size, and `counts` has the number of photos of each word. The loudness of a
// new word is the value of the trend.
func (c *Calibrated) WithCounts(counts map[string]int, photos int) *Calibrated {
	out := *c
	out.photos, out.words = max(1, photos), map[string]wordStats{}
	for w, count := range counts {
		known := wordStats{count: count, loudnessRatio: 1}
		if before, ok := c.words[w]; ok {
			known.loudnessRatio = before.loudnessRatio
		}
		out.words[w] = known
	}
	return &out
}

// Count returns the number of photos that have each word.
func Count(collection [][]string) map[string]int {
	counts := map[string]int{}
	for _, words := range collection {
		for i, w := range words {
			if !slices.Contains(words[:i], w) {
				counts[w]++
			}
		}
	}
	return counts
}
