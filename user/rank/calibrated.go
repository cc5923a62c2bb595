package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cpar"
)

// Calibrated is a ranker whose few parameters were chosen on a collection. The
// neighbours vote with weights that fall with distance, as in Guillaumin,
// Mensink, Verbeek, Schmid, "TagProp", ICCV 2009; a keyword's vote is held
// against how common it is, the purpose of the balanced neighbours of Verma,
// Jawahar, "Image annotation using metric learning in semantic neighbourhoods"
// (2PKNN), ECCV 2012; and a logistic curve makes a probability of it:
//
//	a_I = exp(−Decay·Dis_I/Dis_k) / Σ       of the k nearest; Σ a_I = 1
//	v_t = Σ a_I over the neighbours that have t, 0 … 1
//	π_t = the share of the collection's photos that have t
//	λ_t = √(mean of v_t² over the photos it was calibrated by): how loud t's votes are
//	Weight_t = v_t / λ_t^Rarity             orders the keywords of Keywords
//	Probability_t = σ(c₀ + c₁·log v_t + c₂·v_t + c₃·v_t² + c₄·log π_t + c₅·log v_t·log π_t)
//
// straightened by a rising line (straighten.go).
// Ratios of distances alone matter, so their unit does not. λ_t grows with π_t, about as
// a power of it, and more where t's photos crowd together in the space of vectors:
// dividing by it gives rare words and lonely ones their due, which precision and
// recall as means over words reward. The order of Weight is not that of the
// probabilities, which Probable has: who wants the words that are most likely right asks
// for those. A Calibrated does not change and serves concurrent callers.
// It counts the collection's keywords: it stays with the owner.
type Calibrated struct {
	neighbours int
	decay      float64
	rarity     float64
	curve      [curveTerms]float64
	line       []knot // corrects what the curve says; rising
	photos     int
	words      map[string]word
	// trend is log λ = trend[0] + trend[1]·log π, fitted over words.
	trend [2]float64
}

// word is what is known of one.
type word struct {
	count int // photos that have it, 1 … photos
	// louder is λ over that of the trend; 1 where nothing is known.
	louder float32
}

// Scored is a keyword with its place and its probability.
type Scored struct {
	Word        string  `json:"word"`
	Weight      float64 `json:"weight"`                // what orders
	Probability float64 `json:"probability,omitempty"` // in (0, 1); 0 from a ranker without
}

// curveTerms is the number of terms of the logistic curve.
const curveTerms = 6

// Neighbours is how many of the nearest photos vote.
func (c *Calibrated) Neighbours() int { return c.neighbours }

// Decay is how fast a vote falls with distance.
func (c *Calibrated) Decay() float64 { return c.decay }

// Rarity is how much rare words are given, 0 to 2: 0 nothing, 1 the inverse of
// their share.
func (c *Calibrated) Rarity() float64 { return c.rarity }

// Keywords ranks the words of the nearest Neighbours() of near by weight, which gives
// rare words their due, and returns the first n, or all if there are fewer. What it
// says of ties, order and distances that are no numbers is as for the function
// Keywords.
func (c *Calibrated) Keywords(near []Neighbour, n int) []Scored {
	return c.ranked(near, n, func(a, b Scored) int { return cmp.Compare(b.Weight, a.Weight) })
}

// Probable is Keywords in the order of probability: the words that are most likely
// right.
func (c *Calibrated) Probable(near []Neighbour, n int) []Scored {
	return c.ranked(near, n, func(a, b Scored) int { return cmp.Compare(b.Probability, a.Probability) })
}

func (c *Calibrated) ranked(near []Neighbour, n int, order func(a, b Scored) int) []Scored {
	sorted := nearest(near, c.neighbours)
	words := []Scored{}
	place := make(map[string]int)
	for i, a := range votes(distances(sorted), c.decay) {
		for j, word := range sorted[i].Keywords {
			if slices.Contains(sorted[i].Keywords[:j], word) {
				continue
			}
			at, known := place[word]
			if !known {
				at = len(words)
				place[word] = at
				words = append(words, Scored{Word: word})
			}
			words[at].Weight += a
		}
	}
	for i := range words {
		v := words[i].Weight
		words[i].Probability = straightened(sigmoid(dot(c.curve, terms(v, c.share(words[i].Word)))), c.line)
		words[i].Weight = v * math.Pow(c.loudness(words[i].Word), -c.rarity)
	}
	slices.SortStableFunc(words, order)
	return words[:max(0, min(n, len(words)))]
}

// loudness is λ of a word; that of the trend where nothing is known of it.
func (c *Calibrated) loudness(w string) float64 {
	// Whatever was decoded, a weight stays finite.
	trend := min(max(math.Exp(c.trend[0]+c.trend[1]*math.Log(c.share(w))), 1e-30), 1e30)
	if known, ok := c.words[w]; ok {
		return trend * float64(known.louder)
	}
	return trend
}

// share is π of a word. One that was not counted, added since, is as the
// rarest could be.
func (c *Calibrated) share(word string) float64 {
	return float64(max(1, c.words[word].count)) / float64(c.photos)
}

// nearest is the k nearest of near in order; those at no distance are left out.
func nearest(near []Neighbour, k int) []Neighbour {
	sorted := slices.DeleteFunc(slices.Clone(near), func(i Neighbour) bool {
		return math.IsNaN(i.Dis) || math.IsInf(i.Dis, 0)
	})
	slices.SortStableFunc(sorted, func(a, b Neighbour) int { return cmp.Compare(a.Dis, b.Dis) })
	return sorted[:min(k, len(sorted))]
}

func distances(near []Neighbour) []float64 {
	dis := make([]float64, len(near))
	for i := range near {
		dis[i] = max(0, near[i].Dis)
	}
	return dis
}

// votes are the a_I of rising distances. All at distance 0 vote alike.
func votes(dis []float64, decay float64) []float64 {
	a := make([]float64, len(dis))
	sum := 0.0
	for i, d := range dis {
		if last := dis[len(dis)-1]; last > 0 {
			// Less the nearest's, which cancels in the quotient.
			a[i] = math.Exp(-decay * (d/last - dis[0]/last))
		} else {
			a[i] = 1
		}
		sum += a[i]
	}
	for i := range a {
		a[i] /= sum
	}
	return a
}

// terms are what the logistic curve is linear in. The vote's logarithm
// fits the many small ones, the powers the few large; a vote too small to tell
// from none counts as 10⁻³.
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
	// Beyond ±36 float64 rounds to 1, and a probability is never quite 0 or 1.
	return 1 / (1 + math.Exp(-min(max(x, -36), 36)))
}

// Bin is a part of a reliability diagram.
type Bin struct {
	Said  float64 `json:"said"`  // mean probability
	Found float64 `json:"found"` // share that were right
	Count int     `json:"count"`
}

// Reliability divides predictions into bins of equal width and returns them
// with the expected calibration error, Σ count·|said − found| / Σ count.
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
		b.Said += p
		b.Count++
		if right[i] {
			b.Found++
		}
	}
	off := 0.0
	for i := range out {
		b := &out[i]
		if b.Count > 0 {
			off += math.Abs(b.Said - b.Found)
			b.Said /= float64(b.Count)
			b.Found /= float64(b.Count)
		}
	}
	return out, off / float64(max(1, len(probability))), nil
}
