package kdforest_test

import (
	"fmt"

	"cpar/kdforest"
)

// points is a request among plain rows, scored by squared distance. A cloud's
// space answers the same questions about ciphertexts.
type points struct {
	rows    [][]int
	planes  []kdforest.Plane[int]
	request []int
}

func (p points) Score(records []uint32, scores []int64) {
	for i, r := range records {
		scores[i] = 0
		for j, x := range p.rows[r] {
			scores[i] += int64((x - p.request[j]) * (x - p.request[j]))
		}
	}
}

func (p points) Left(plane uint32) bool { return p.planes[plane].Left(p.request) }

// Beyond is called only by a search that prunes.
func (p points) Beyond(uint32, int64) bool { return false }

func Example() {
	var rows [][]int
	for i := range 100 {
		rows = append(rows, []int{i % 10, i / 10}) // a lattice of ten by ten points
	}
	forest, planes, err := kdforest.Build(rows, kdforest.BuildOptions{Trees: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	hits, stats, err := forest.Search(points{rows, planes, []int{3, 7}}, kdforest.Options{Visits: 50, L: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("visited", stats.Visited, "of", len(rows))
	for _, h := range hits {
		fmt.Println(rows[h.Record], "at squared distance", h.Score)
	}
	// Output:
	// visited 50 of 100
	// [3 7] at squared distance 0
	// [3 6] at squared distance 1
	// [2 7] at squared distance 1
}
