package attack

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Keywords of records, from what is returned and from scores. A guess is one
// keyword a record, and right if the record has it. The baseline names the
// commonest keyword every time.

// byReturns guesses from how often records were returned alone, with public
// statistics: how keywords are distributed among records that are returned so
// often. These are taken from half of the collection, learn, which is more than a
// public collection would tell; the guesses are for the others.
func byReturns(v *View, keywords [][]string, learn []bool) []string {
	count := make([]int, v.Records)
	for _, s := range v.Seen {
		for _, r := range s.Returned {
			count[r]++
		}
	}
	// Never, once, twice, 3–4, 5–8 … times.
	bucket := func(r int) int { return int(math.Ceil(math.Log2(float64(count[r] + 1)))) }
	votes := map[int]map[string]int{}
	for r, known := range learn {
		if !known {
			continue
		}
		b := bucket(r)
		if votes[b] == nil {
			votes[b] = map[string]int{}
		}
		for _, w := range keywords[r] {
			votes[b][w]++
		}
	}
	fallback := commonest(keywords, learn)
	out := make([]string, v.Records)
	for r := range out {
		if out[r] = winner(votes[bucket(r)]); out[r] == "" {
			out[r] = fallback
		}
	}
	return out
}

// neighboursAsked is how many known records vote on the keyword of another.
const neighboursAsked = 5

// byLikeness guesses from the keywords of known records: those whose scores are
// most alike over all requests, hence which lie near, vote.
func byLikeness(v *View, keywords [][]string, known []int) []string {
	k := len(v.Seen)
	rows := mat.NewDense(v.Records, k, nil)
	for j, s := range v.Seen {
		rows.SetCol(j, standardised(s.Scores))
	}
	out := make([]string, v.Records)
	for r := range out {
		type voter struct {
			record int
			off    float64
		}
		var nearest []voter
		mine := rows.RawRowView(r)
		for _, other := range known {
			off := 0.0
			for j, x := range rows.RawRowView(other) {
				off += (x - mine[j]) * (x - mine[j])
			}
			at := len(nearest)
			for at > 0 && off < nearest[at-1].off {
				at--
			}
			if at < neighboursAsked {
				nearest = append(nearest[:at], append([]voter{{other, off}}, nearest[at:]...)...)
				nearest = nearest[:min(len(nearest), neighboursAsked)]
			}
		}
		votes := map[string]int{}
		for _, n := range nearest {
			for _, w := range keywords[n.record] {
				votes[w]++
			}
		}
		out[r] = winner(votes)
	}
	return out
}

// winner has most votes; of several the first in the alphabet.
func winner(votes map[string]int) string {
	best := ""
	for w, n := range votes {
		if best == "" || n > votes[best] || n == votes[best] && w < best {
			best = w
		}
	}
	return best
}

func commonest(keywords [][]string, of []bool) string {
	votes := map[string]int{}
	for r, yes := range of {
		if yes {
			for _, w := range keywords[r] {
				votes[w]++
			}
		}
	}
	return winner(votes)
}

// judgeKeywords judges the guesses for records that were not known.
func judgeKeywords(attack string, v *View, number int, guesses []string, keywords [][]string, known []bool) Row {
	right, base, trials := 0, 0, 0
	common := commonest(keywords, known)
	for r, words := range keywords {
		if known[r] {
			continue
		}
		trials++
		for _, w := range words {
			if w == guesses[r] {
				right++
			}
			if w == common {
				base++
			}
		}
	}
	return proportion(attack, v.Scheme, number, right, trials, float64(base)/float64(max(trials, 1)))
}

// marked has true at the given places.
func marked(n int, at []int) []bool {
	out := make([]bool, n)
	for _, i := range at {
		out[i] = true
	}
	return out
}
