package measure

import (
	"maps"
	"slices"

	"cpar/model/rank"
)

// StandardKeywords is the number of keywords per image in the standard protocol
// (protocol.go).
const StandardKeywords = 5

type QualityRow struct {
	Scheme string `json:"scheme"`
	// Approx is X of AP-X, which visits X percent of the records. Approx and
	// Search are set only for schemes cpar and ivf.
	Approx     float64 `json:"approx,omitempty"`
	Search     string  `json:"search,omitempty"`
	Neighbours int     `json:"neighbours"`
	Quality
}

func Map[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

func KeywordStrings(list []rank.Keyword) []string {
	return Map(list, func(k rank.Keyword) string { return k.Word })
}

func MeanKeywordsFound(said, truth [][]string) float64 {
	right := 0
	for i, list := range said {
		for _, w := range list {
			if slices.Contains(truth[i], w) {
				right++
			}
		}
	}
	return float64(right) / float64(max(1, len(said)))
}

// Quality is a result by the standard protocol. P and R are precision and
// recall in percent, as means over the keywords of the test set. F1 is their
// harmonic mean. Nplus is the number of keywords found at least once. Tables
// call it N+.
type Quality struct {
	P     float64 `json:"P"`
	R     float64 `json:"R"`
	F1    float64 `json:"F1"`
	Nplus int     `json:"Nplus"`
}

// MeasureQuality compares the predicted keywords of each image with the true
// keywords. A keyword that is never predicted has precision 0.
func MeasureQuality(predicted, truth [][]string) Quality {
	hit, said, real := map[string]int{}, map[string]int{}, map[string]int{}
	for i, words := range predicted {
		for _, w := range words {
			said[w]++
			if slices.Contains(truth[i], w) {
				hit[w]++
			}
		}
		for _, w := range truth[i] {
			real[w]++
		}
	}
	// Sum in a fixed order, because rounding would make the result depend on
	// map iteration.
	words := slices.Sorted(maps.Keys(real))
	var q Quality
	for _, w := range words {
		if said[w] > 0 {
			q.P += float64(hit[w]) / float64(said[w])
		}
		q.R += float64(hit[w]) / float64(real[w])
		if hit[w] > 0 {
			q.Nplus++
		}
	}
	if q.P+q.R > 0 {
		q.F1 = RoundTo(200*q.P*q.R/(q.P+q.R)/float64(len(words)), 2)
	}
	q.P = RoundTo(100*q.P/float64(len(words)), 2)
	q.R = RoundTo(100*q.R/float64(len(words)), 2)
	return q
}

// RecallAt10 returns the share of the true nearest records that were found, at
// any rank.
func RecallAt10(found, truth [][]uint32) float64 {
	hit, all := 0, 0
	for i := range truth {
		for _, r := range truth[i] {
			all++
			if slices.Contains(found[i], r) {
				hit++
			}
		}
	}
	return float64(hit) / float64(all)
}

func KeywordsOf(scored [][]rank.Keyword) [][]string { return Map(scored, KeywordStrings) }

func TopRecords(near [][]rank.Neighbour) [][]uint32 {
	return Map(near, func(list []rank.Neighbour) []uint32 {
		return Map(list[:min(10, len(list))], func(n rank.Neighbour) uint32 { return n.Record })
	})
}
