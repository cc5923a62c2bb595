package ivf_test

import (
	"fmt"

	"cpar/ivf"
	"cpar/kdforest"
)

type numbers struct {
	all     []int64
	request int64
}

func (n numbers) Run(first uint32, scores []int64) {
	for i := range scores {
		scores[i] = max(n.all[int(first)+i]-n.request, n.request-n.all[int(first)+i])
	}
}

// Cells are read in the order of their centroids' distance until the visits are
// used up.
func Example() {
	records := numbers{[]int64{11, 12, 13, 52, 53, 54, 91, 92, 93}, 50}
	centroids := numbers{[]int64{12, 53, 92}, 50}
	lists := &ivf.Cells{First: []uint32{0, 3, 6, 9}} // the start of each, and the end
	hits, stats, err := lists.Search(centroids, records, ivf.Options{Visits: 4, L: 2})
	fmt.Println(hits, stats.Cells, "cells read:", err)
	fmt.Println(hits[0] == kdforest.Hit{Record: 3, Score: 2})
	// Output:
	// [{3 2} {4 3}] 2 cells read: <nil>
	// true
}
