package rank

import "slices"

// Measure compares given keywords with true ones, by the usual protocol of
// image annotation. A word that is never given has precision 0. Fields Found,
// Distances and ECE stay 0.
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
