package rank

import "slices"

// Measure compares given keywords with true ones, by the usual protocol of
// image annotation. A word that is never given has precision 0. Fields Found and
// ECE stay 0.
func Measure(given, truth [][]string) Quality {
	number := map[string]int{}
	var hit, said, real []int
	of := func(word string) int {
		i, ok := number[word]
		if !ok {
			i = len(number)
			number[word] = i
			hit, said, real = append(hit, 0), append(said, 0), append(real, 0)
		}
		return i
	}
	for i, words := range given {
		for _, w := range words {
			said[of(w)]++
			if slices.Contains(truth[i], w) {
				hit[of(w)]++
			}
		}
		for j, w := range truth[i] {
			if !slices.Contains(truth[i][:j], w) {
				real[of(w)]++
			}
		}
	}
	return meanOfWords(hit, said, real)
}

// topWords appends to `top`, which is empty, the words with the largest
// products of `vote` and `due`, largest first, and at most `keep` of them.
func topWords(top, list []wordVote, due []float64, keep int) []wordVote {
	for _, v := range list {
		v.vote *= due[v.word]
		at := len(top)
		for at > 0 && top[at-1].vote < v.vote { // insert after equal votes, so that the order is stable
			at--
		}
		if at == keep {
			continue
		}
		if len(top) < keep {
			top = append(top, v)
		}
		copy(top[at+1:], top[at:])
		top[at] = v
	}
	return top
}

func meanOfWords(hit, said, real []int) Quality {
	var q Quality
	for w := range real {
		if real[w] == 0 {
			continue
		}
		q.Words++
		q.R += float64(hit[w]) / float64(real[w])
		if said[w] > 0 {
			q.P += float64(hit[w]) / float64(said[w])
		}
		if hit[w] > 0 {
			q.Nplus++
		}
	}
	q.P /= max(1, q.Words)
	q.R /= max(1, q.Words)
	return q
}
