package attack

import (
	"math/bits"
	"slices"

	simd "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// These attacks guess one keyword per record. A guess is right if the record
// has the keyword. The baseline guesses the most common keyword for every
// record.

// keywordByFrequency lets the known records vote that occur in about as many
// replies. Half of the records are known, which is more than a public
// collection would reveal.
func keywordByFrequency(v *View, keywords [][]string, known []int) []string {
	count := make([]int, v.Records)
	for _, s := range v.Observations {
		for _, r := range s.Returned {
			count[r]++
		}
	}
	bucket := func(r int) int { return bits.Len(uint(count[r])) }
	votes := map[int]map[string]int{}
	for _, r := range known {
		b := bucket(r)
		if votes[b] == nil {
			votes[b] = map[string]int{}
		}
		cast(votes[b], keywords[r])
	}
	fallback := commonest(keywords, known)
	out := make([]string, v.Records)
	for r := range out {
		if out[r] = winner(votes[bucket(r)]); out[r] == "" {
			out[r] = fallback
		}
	}
	return out
}

const votingNeighbours = 5

// keywordBySimilarity lets the known records with the most similar scores vote,
// because such records are close to each other.
func keywordBySimilarity(v *View, keywords [][]string, known []int) []string {
	k := len(v.Observations)
	rows := mat.NewDense(v.Records, k, nil)
	for j, s := range v.Observations {
		rows.SetCol(j, standardised(s.Scores))
	}
	out := make([]string, v.Records)
	for r := range out {
		far, order := make([]float64, len(known)), make([]int, len(known))
		for k, other := range known {
			far[k] = simd.Distance(rows.RawRowView(other), rows.RawRowView(r), 2)
		}
		simd.ArgsortStable(far, order)
		votes := map[string]int{}
		for _, k := range order[:min(len(order), votingNeighbours)] {
			cast(votes, keywords[known[k]])
		}
		out[r] = winner(votes)
	}
	return out
}

func cast(votes map[string]int, words []string) {
	for _, w := range words {
		votes[w]++
	}
}

func winner(votes map[string]int) string {
	best := ""
	for w, n := range votes {
		if best == "" || n > votes[best] || n == votes[best] && w < best {
			best = w
		}
	}
	return best
}

func commonest(keywords [][]string, of []int) string {
	votes := map[string]int{}
	for _, r := range of {
		cast(votes, keywords[r])
	}
	return winner(votes)
}

func judgeKeywords(attack string, v *View, number int, guesses []string, keywords [][]string, known []int) Row {
	common, others := commonest(keywords, known), complement(v.Records, known)
	right := count(len(others), func(i int) bool { return slices.Contains(keywords[others[i]], guesses[others[i]]) })
	base := count(len(others), func(i int) bool { return slices.Contains(keywords[others[i]], common) })
	return proportion(attack, v.Scheme, number, right, len(others), float64(base)/float64(max(len(others), 1)))
}
