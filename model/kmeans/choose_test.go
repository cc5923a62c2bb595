package kmeans

import (
	"cmp"
	"crypto/sha256"
	"math"
	"slices"
	"testing"
)

func TestBestDivisionIsChosen(t *testing.T) {
	const clusters, size = 4, 90
	rows := blobs(testRand(11), 200, 6, 9, 1)
	nearby := make([][]uint32, len(rows))
	for i := range rows {
		for j := range rows {
			if j != i {
				nearby[i] = append(nearby[i], uint32(j))
			}
		}
		slices.SortFunc(nearby[i], func(a, b uint32) int {
			return cmp.Or(cmp.Compare(squaredL2(rows[a], rows[i]), squaredL2(rows[b], rows[i])), cmp.Compare(a, b))
		})
		nearby[i] = nearby[i][:evalNeighbours]
	}
	count := func(c *BalancedCells) (n int) {
		for i, row := range rows {
			for _, other := range nearby[i] {
				if slices.Contains(c.Records[c.Nearest(row)], other) {
					n++
				}
			}
		}
		return n
	}
	seed := [32]byte{3}
	chosen, err := Balance(t.Context(), rows, clusters, size, seed)
	if err != nil {
		t.Fatal(err)
	}
	most, least := 0, math.MaxInt
	for start := range byte(restarts) {
		lists, err := Fit(t.Context(), rows, Options{Cells: clusters, Seed: sha256.Sum256(append(seed[:], start))})
		if err != nil {
			t.Fatal(err)
		}
		c := new(BalancedCells)
		for list := range clusters {
			c.Centroids = append(c.Centroids, mean(func(i int) []float32 { return rows[i] }, lists.Members(list)))
		}
		c.fill(rows, size)
		most, least = max(most, count(c)), min(least, count(c))
	}
	if got := count(chosen); got != most || least == most {
		t.Errorf("%d of the nearest are found, in the best division %d, in the worst %d", got, most, least)
	}
}

func TestBalanceSamplesLargeCollections(t *testing.T) {
	rows := blobs(testRand(12), sampled+500, 4, 5, 1)
	if some := spaced(rows, sampled); len(some) != sampled || &some[0][0] != &rows[0][0] || &some[sampled-1][0] == &rows[sampled-1][0] {
		t.Error("the rows are not spread")
	}
	c := mustBalance(t, rows, 3, len(rows)/2)
	there := make([]bool, len(rows))
	for _, records := range c.Records {
		for _, i := range records {
			there[i] = true
		}
	}
	if slices.Contains(there, false) {
		t.Error("a row has no cell")
	}
}
