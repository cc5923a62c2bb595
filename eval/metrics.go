package eval

import "slices"

// Quality is the standard protocol of image annotation: precision and recall of each word
// of the test set, averaged over those words, in percent, and how many of the words were
// found at least once. F1 combines the two averages.
type Quality struct {
	P     float64 `json:"P"`
	R     float64 `json:"R"`
	F1    float64 `json:"F1"`
	Nplus int     `json:"Nplus"`
}

// Measure compares the predicted keywords of each image with the true ones. A word that
// is never predicted has precision 0.
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
	// Sum in a fixed order: the last bit of a figure must not depend on the iteration
	// order of a map.
	var words []string
	for w := range real {
		words = append(words, w)
	}
	slices.Sort(words)
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

// agreement is the share of ranks at which two rankings have the same record.
func agreement(a, b [][]uint32) float64 {
	same, all := 0, 0
	for i := range a {
		for j := range max(len(a[i]), len(b[i])) {
			all++
			if j < len(a[i]) && j < len(b[i]) && a[i][j] == b[i][j] {
				same++
			}
		}
	}
	return float64(same) / float64(all)
}

// recall is the share of the true nearest records that were found, at any rank.
func recall(found, truth [][]uint32) float64 {
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
