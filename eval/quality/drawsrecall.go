package quality

import (
	"math/rand/v2"
	"slices"

	"cpar/eval/measure"
	"cpar/internal/parallel"
	"cpar/model/rank"
	"cpar/user"
)

// The paper sends 50 requests, "in which each requested image has two or more
// related images in the pre-annotated dataset", and leaves "related" undefined.
// Two extreme readings are measured: a related image shares at least one of the
// request's keywords, or it has all of them.
const (
	relatedByOneKeyword  = "one word"
	relatedByAllKeywords = "all words"
)

const (
	// fewRequests is the paper's number of requests. Recall rises with fewer
	// requests: a keyword counts only if a request has it, and is more often
	// found for all such requests if they are few.
	fewRequests = 50
	// fewDraws is the number of random subsets of fewRequests requests.
	fewDraws = 1000
)

// A DrawRecall is the recall of one search by the paper's protocol, in percent.
type DrawRecall struct {
	Search  string `json:"search"`
	Related string `json:"related"` // relatedByOneKeyword or relatedByAllKeywords
	// Admitted is the number of requests with at least two related images.
	Admitted int `json:"admitted"`
	// All is the recall over all admitted requests.
	All float64 `json:"recall_all"`
	// Subsets holds the recall of each random subset of admitted requests. The
	// subsets are the same for every search.
	Subsets []float64 `json:"recall_few"`
}

// drawRecalls measures every search by the paper's protocol, with all keywords
// of ten neighbours. The paper's ranker orders them by weight W_t.
func (r *profileRun) drawRecalls(indexed [][]string, draw int) ([]DrawRecall, error) {
	var out []DrawRecall
	for _, related := range []string{relatedByOneKeyword, relatedByAllKeywords} {
		j := measure.NewJudge(r.truth, indexed)
		if related == relatedByAllKeywords {
			j.Admitted = sharesAllKeywords(r.truth, indexed)
		}
		weights := subsetWeights(j.Admitted, draw)
		for _, search := range recallSearches {
			said, err := r.annotate(search, rank.KindPaper, paperNeighbours, user.Ranking{MaxKeywords: measure.AllKeywords})
			if err != nil {
				return nil, err
			}
			marked := make([]measure.Marks, len(said))
			for i, words := range measure.KeywordsOf(said) {
				marked[i] = j.Mark(i, words)
			}
			recalls := make([]float64, len(weights))
			parallel.For(len(weights), func(k int) { recalls[k] = measure.RoundTo(j.Tally(marked, weights[k], true).Recall(true), 2) })
			x := DrawRecall{Search: search, Related: related, All: recalls[0], Subsets: recalls[1:]}
			for _, yes := range j.Admitted {
				if yes {
					x.Admitted++
				}
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// sharesAllKeywords marks the requests whose keywords all occur together in at
// least two indexed images.
func sharesAllKeywords(truth, indexed [][]string) []bool {
	out := make([]bool, len(truth))
	parallel.For(len(truth), func(i int) {
		n := 0
		for _, words := range indexed {
			if !slices.ContainsFunc(truth[i], func(w string) bool { return !slices.Contains(words, w) }) {
				n++
			}
		}
		out[i] = n >= measure.MinRelated
	})
	return out
}

// subsetWeights returns lists of weights by request. The first list gives
// weight 1 to all admitted requests. Each further list gives weight 1 to a
// random subset.
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
