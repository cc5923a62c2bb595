package eval

import (
	"math/rand/v2"
	"slices"

	"cpar/internal/parallel"
	"cpar/model/rank"
	"cpar/user"
)

// The paper asks 50 requests, "in which each requested image has two or more related
// images in the pre-annotated dataset", and does not say what is related. Two readings
// bound it: an image with one of the request's words, and an image with all of them.
const (
	relatedByOneKeyword = "one word"
	relatedByAllKeywords = "all words"
)

const (
	// fewRequests is how many the paper asks; fewDraws is how often so many are drawn.
	// Fewer requests make a higher recall: a word that was output counts only if one of
	// the requests has it, and the fewer have it the more often all of them were given it.
	fewRequests = 50
	fewDraws    = 1000
)

// A DrawRecall is a search's recall by the paper's protocol.
type DrawRecall struct {
	Search  string `json:"search"`
	Related string `json:"related"` // the reading
	// Admitted is the number of requests that have two related images; All their recall.
	Admitted int     `json:"admitted"`
	All      float64 `json:"recall_all"`
	// Few are the recalls of some requests at a time, the same ones for every search.
	Subsets []float64 `json:"recall_few"`
}

// drawRecalls judges all words of ten neighbours by weights W_t.
func (r *profileRun) drawRecalls(indexed [][]string, draw int) ([]DrawRecall, error) {
	var out []DrawRecall
	for _, related := range []string{relatedByOneKeyword, relatedByAllKeywords} {
		j := newJudge(r.truth, indexed)
		if related == relatedByAllKeywords {
			j.admitted = sharesAllKeywords(r.truth, indexed)
		}
		weights := subsetWeights(j.admitted, draw)
		for _, search := range recallSearches {
			said, err := r.annotate(search, rank.KindPaper, paperNeighbours, user.Ranking{MaxKeywords: allKeywords})
			if err != nil {
				return nil, err
			}
			marked := make([]marks, len(said))
			for i, words := range keywordsOf(said) {
				marked[i] = j.mark(i, words)
			}
			recalls := make([]float64, len(weights))
			parallel.For(len(weights), func(k int) { recalls[k] = RoundTo(j.tally(marked, weights[k], true).recall(true), 2) })
			x := DrawRecall{Search: search, Related: related, All: recalls[0], Subsets: recalls[1:]}
			for _, yes := range j.admitted {
				if yes {
					x.Admitted++
				}
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// allWordsShared says which requests have two images in the index with all their words.
func sharesAllKeywords(truth, indexed [][]string) []bool {
	out := make([]bool, len(truth))
	parallel.For(len(truth), func(i int) {
		n := 0
		for _, words := range indexed {
			if !slices.ContainsFunc(truth[i], func(w string) bool { return !slices.Contains(words, w) }) {
				n++
			}
		}
		out[i] = n >= minRelated
	})
	return out
}

// someRequests gives weight 1 to all admitted requests first, then to a few at a time.
func subsetWeights(admitted []bool, draw int) [][]float64 {
	var from []int
	for i, yes := range admitted {
		if yes {
			from = append(from, i)
		}
	}
	pick := func(some []int) []float64 {
		w := make([]float64, len(admitted))
		for _, k := range some {
			w[k] = 1
		}
		return w
	}
	out := [][]float64{pick(from)}
	rng := rand.New(rand.NewPCG(uint64(draw), 0x666577)) // "few"
	for range fewDraws {
		rng.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		out = append(out, pick(from[:min(fewRequests, len(from))]))
	}
	return out
}
