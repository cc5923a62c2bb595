package rank

import (
	"math"
	"reflect"
	"slices"
)

// indexedSamples holds the samples with words as numbers, for speed.
type indexedSamples struct {
	names []string
	dis   [][]float64 // distances of every sample's neighbours
	words [][]int     // different words of every sample's neighbours, in order of first occurrence
	// places are the positions in `words` of the words of the first neighbour,
	// then of the second, and so on. ends[s][i] is the end of neighbour i in
	// places[s].
	places, ends [][]int32
	guessVotes   [][]float32   // guesses for `words`
	candidates   [][]candidate // the guesses' best words
	truth        [][]int
	folds        [][]int   // samples of every fold
	share        []float64 // π of every word, its share of the photos
	alone        bool      // the guesses need no neighbours
}

func (n *indexedSamples) guessed() bool {
	return slices.ContainsFunc(n.guessVotes, func(g []float32) bool { return g != nil })
}

// calibrationPhotos is roughly the number of photos on which a ranker is
// calibrated to validate it on others. It may be exceeded up to twofold.
const calibrationPhotos = 2000

// without returns the samples of all folds except fold `out`, or an evenly
// spaced part of them if there are many.
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

func (c *Calibrated) index(samples []Sample) *indexedSamples {
	n := &indexedSamples{}
	number := map[string]int{}
	// Many neighbours share one slice of keywords, so number it only once.
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
	last, names := (*Guess)(nil), []string(nil) // the previous guess and its words, usually the same for all samples
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
			// Without this photo, a word that only it has would be unknown.
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

// measure annotates every sample with its `keep` best words and returns the mean
// quality of the folds that have samples. loud[f][w] is λ, the loudness of word
// w for fold f (see Calibrated).
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
