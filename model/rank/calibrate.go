package rank

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"cpar"
	"cpar/internal/parallel"
)

// Sample is a photo with known keywords and its nearest photos. The nearest
// photos exclude the photo itself and every photo from which the distance was
// learnt.
type Sample struct {
	Near  []Neighbour // at least as many as may vote. At most MostNeighbours are used
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

// usualDecay and usualExponent are the places among the choices where climb
// starts.
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
	c, n, err := number(samples, collection, keep, neighbours)
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

// Merit returns the merit with which Calibrate would annotate the samples
// before it chooses the guess's share. The options of a distance are chosen by
// this merit, because a strong guess hides poor neighbours.
func Merit(ctx context.Context, samples []Sample, collection [][]string, keep, neighbours int) (float64, error) {
	c, n, err := number(samples, collection, keep, neighbours)
	if err == nil {
		var quality Quality
		if quality, err = c.chooseVotes(ctx, n, keep, neighbours); err == nil {
			return quality.Merit(), nil
		}
	}
	return 0, fmt.Errorf("trying a ranker: %w", err)
}

// number returns the indexed samples, and a ranker that knows only the counts
// of the collection's keywords.
func number(samples []Sample, collection [][]string, keep, neighbours int) (*Calibrated, *indexedSamples, error) {
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
	return c, c.number(samples), nil
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

func (n *indexedSamples) guessed() bool {
	return slices.ContainsFunc(n.guessVotes, func(g []float32) bool { return g != nil })
}

// indexedSamples holds the samples with words as numbers, for speed.
type indexedSamples struct {
	names []string
	dis   [][]float64 // distances of every sample's neighbours
	words [][]int     // different words of every sample's neighbours, in order of first occurrence
	// places are the positions in `words` of the first neighbour's words, then
	// of the second's. ends[s][i] is the end of neighbour i in places[s].
	places, ends [][]int32
	guessVotes   [][]float32   // guesses for `words`
	candidates   [][]candidate // the guesses' best words
	truth        [][]int
	folds        [][]int   // samples of every fold
	share        []float64 // π of every word, its share of the photos
	alone        bool      // the guesses need no neighbours
}

// calibrationPhotos is the number of photos on which a ranker is calibrated to
// validate it on others, or slightly more.
const calibrationPhotos = 2000

// without returns samples of all folds except fold `out`, all of them unless
// there are many.
func (n *indexedSamples) without(out int) *indexedSamples {
	rest, step := &indexedSamples{names: n.names, share: n.share, alone: n.alone}, max(1, len(n.dis)/calibrationPhotos)
	for f, fold := range n.folds {
		if f == out {
			continue
		}
		rest.folds = append(rest.folds, nil)
		for i := 0; i < len(fold); i += step {
			s, at := fold[i], len(rest.folds)-1
			rest.folds[at] = append(rest.folds[at], len(rest.dis))
			rest.dis, rest.words, rest.truth = append(rest.dis, n.dis[s]), append(rest.words, n.words[s]), append(rest.truth, n.truth[s])
			rest.places, rest.ends = append(rest.places, n.places[s]), append(rest.ends, n.ends[s])
			rest.guessVotes, rest.candidates = append(rest.guessVotes, n.guessVotes[s]), append(rest.candidates, n.candidates[s])
		}
	}
	return rest
}

// A candidate is a word with the guess's vote. Its place in `words` is
// len(words) if no neighbour has it.
type candidate struct {
	wordVote
	place int
}

func (c *Calibrated) number(samples []Sample) *indexedSamples {
	n := &indexedSamples{}
	number := map[string]int{}
	// Many neighbours share one slice of keywords, so number each slice only
	// once.
	type key struct {
		at  *string
		len int
	}
	known := map[key][]int{}
	numbered := func(w string) int {
		id, ok := number[w]
		if !ok {
			id = len(number)
			number[w] = id
			n.share = append(n.share, c.share(w))
			n.names = append(n.names, w)
		}
		return id
	}
	set := func(words []string) []int {
		if len(words) == 0 {
			return nil
		}
		k := key{&words[0], len(words)}
		if got, ok := known[k]; ok {
			return got
		}
		var out []int
		for _, w := range words {
			if id := numbered(w); !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
		known[k] = out
		return out
	}
	last, names := (*Guess)(nil), []string(nil) // of the last guess, and usually of all
	var place []int                             // 1 + position in the sample's words, 0 for other words
	for i, s := range samples {
		for len(n.folds) <= s.Fold {
			n.folds = append(n.folds, nil)
		}
		n.folds[s.Fold] = append(n.folds[s.Fold], i)
		near := nearest(s.Near, MostNeighbours)
		var found []int
		places, ends := make([]int32, 0, 4*len(near)), make([]int32, len(near))
		for i := range near {
			for _, w := range set(near[i].Keywords) {
				place = append(place, make([]int, len(n.names)-len(place))...)
				if place[w] == 0 {
					found = append(found, w)
					place[w] = len(found)
				}
				places = append(places, int32(place[w]-1))
			}
			ends[i] = int32(len(places))
		}
		n.dis, n.words, n.places, n.ends = append(n.dis, distances(near)), append(n.words, found), append(n.places, places), append(n.ends, ends)
		n.guessVotes = append(n.guessVotes, n.guesses(s.Guess, found))
		n.alone = n.alone || s.Guess != nil && s.Guess.Alone
		var more []candidate
		if last == nil || s.Guess != nil && reflect.ValueOf(last.Words).Pointer() != reflect.ValueOf(s.Guess.Words).Pointer() {
			last, names = s.Guess, s.Guess.names()
		}
		for _, k := range s.Guess.best(names) {
			// A word that only this photo has would be unknown without the
			// photo.
			if c.words[k.Word].count > 1 || !slices.Contains(s.Truth, k.Word) {
				w := numbered(k.Word)
				at := len(found)
				if w < len(place) && place[w] > 0 {
					at = place[w] - 1
				}
				more = append(more, candidate{wordVote{w, k.Weight}, at})
			}
		}
		for _, w := range found {
			place[w] = 0
		}
		n.candidates = append(n.candidates, more)
		n.truth = append(n.truth, set(s.Truth))
	}
	return n
}

type wordVote struct {
	word int
	vote float64
}

// votesAtOnce is the number of votes that are allocated at once.
const votesAtOnce = 1 << 14

// vote returns the votes for every sample's words by its k nearest neighbours.
// Words are in order of first occurrence. `own` is the guess's share.
func (n *indexedSamples) vote(k int, decay, own float64) [][]wordVote {
	out := make([][]wordVote, len(n.dis))
	var free []wordVote
	var weights []float64
	for s := range n.dis {
		if most := len(n.words[s]) + len(n.candidates[s]); cap(free) < most {
			free = make([]wordVote, 0, max(most, votesAtOnce))
		}
		list := free[:0]
		weights = appendVotes(weights[:0], n.dis[s][:min(k, len(n.dis[s]))], decay)
		at := int32(0)
		for i, a := range weights {
			end := n.ends[s][i]
			for _, p := range n.places[s][at:end] {
				if int(p) == len(list) {
					list = append(list, wordVote{word: n.words[s][p]})
				}
				list[p].vote += a
			}
			at = end
		}
		near := len(list)
		if own > 0 {
			for _, v := range n.candidates[s] {
				if v.place >= near {
					list = append(list, wordVote{v.word, own * v.vote})
				}
			}
		}
		for i, v := range list[:near] {
			if n.guessVotes[s] != nil && n.guessVotes[s][i] != noGuess {
				list[i].vote = blended(v.vote, float64(n.guessVotes[s][i]), own)
			}
		}
		out[s], free = list[:len(list):len(list)], free[len(list):cap(free)]
	}
	return out
}

// measure annotates every sample with its `keep` best words and skips empty
// folds. Value loud[f][w] is λ (the loudness, see Calibrated) of word w for
// fold f.
func (n *indexedSamples) measure(votes [][]wordVote, loud [][]float64, rarity float64, keep int) Quality {
	due := make([]float64, len(n.share))
	hit, said, real := make([]int, len(due)), make([]int, len(due)), make([]int, len(due))
	var top []wordVote
	var mean Quality
	folds := 0.0
	for f, fold := range n.folds {
		if len(fold) == 0 {
			continue
		}
		for w, l := range loud[f] {
			due[w] = math.Pow(l, -rarity)
		}
		clear(hit)
		clear(said)
		clear(real)
		for _, s := range fold {
			top = topWords(top[:0], votes[s], due, keep)
			for _, v := range top {
				said[v.word]++
				if slices.Contains(n.truth[s], v.word) {
					hit[v.word]++
				}
			}
			for _, w := range n.truth[s] {
				real[w]++
			}
		}
		q := meanOfWords(hit, said, real)
		for _, h := range hit {
			mean.Found += float64(h) / float64(len(n.dis))
		}
		mean.P, mean.R, mean.Nplus, mean.Words = mean.P+q.P, mean.R+q.R, mean.Nplus+q.Nplus, mean.Words+q.Words
		folds++
	}
	mean.P, mean.R, mean.Nplus, mean.Words = mean.P/folds, mean.R/folds, mean.Nplus/folds, mean.Words/folds
	return mean
}
