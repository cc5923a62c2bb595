package kmeans

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/internal/parallel"
)

// Cells are a collection in clusters that all have the same number of cells, so that
// nothing about the collection follows from their sizes. Every record is in the cluster
// that is its own, and in others that it nearly belongs to, until no cell is empty.
//
//	rows ─▶ KMeans, the best of some (choose.go) ─▶ Centroids ─▶ each cluster takes the records that are
//	                               nearest to being its own ─▶ Records
type BalancedCells struct {
	// Centroids has the centre of each cluster. What is nearest to it belongs to it.
	Centroids [][]float32
	// Records has the records in the cells of each cluster, ascending, none twice.
	Records [][]uint32
}

// Balance divides rows (n×d, read-only) into so many clusters of size cells each, by
// squared L2. There must be a cell for every row, and no cluster can have more cells than
// there are rows. The result depends on the rows and the seed alone. Errors wrap
// cpar.ErrInput.
func Balance(ctx context.Context, rows [][]float32, clusters, size int, seed [32]byte) (*BalancedCells, error) {
	n := len(rows)
	if clusters < 1 || size < 1 || size > n || clusters > n || clusters*size < n {
		return nil, fmt.Errorf("balancing clusters: %w: %d rows in %d clusters of %d", cpar.ErrInput, n, clusters, size)
	}
	centroids, err := choose(ctx, rows, clusters, size, seed)
	if err != nil {
		return nil, err
	}
	c := &BalancedCells{Centroids: centroids}
	c.fill(rows, size)
	return c, nil
}

// fill gives every cluster its records.
func (c *BalancedCells) fill(rows [][]float32, size int) {
	n, clusters := len(rows), len(c.Centroids)
	c.Records = make([][]uint32, clusters)
	// How much farther each record is from a centroid than from its own.
	beyond := make([]float32, n*clusters)
	own := make([]uint32, n)
	parallel.Ranges(n, 0, func(from, to int) {
		for i := from; i < to; i++ {
			row := beyond[i*clusters:][:clusters]
			own[i] = uint32(c.distances(row, rows[i]))
			least := row[own[i]]
			for k := range row {
				row[k] -= least
			}
		}
	})
	c.reassignOverfull(own, beyond, size)
	parallel.Ranges(clusters, 0, func(from, to int) {
		for k := from; k < to; k++ {
			order := make([]uint32, n)
			for i := range order {
				order[i] = uint32(i)
			}
			rank := func(i uint32) float32 {
				if own[i] == uint32(k) {
					return -1
				}
				return beyond[int(i)*clusters+k]
			}
			slices.SortFunc(order, func(a, b uint32) int {
				return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
			})
			c.Records[k] = slices.Clone(order[:size])
			slices.Sort(c.Records[k])
		}
	})
}

// home moves records out of clusters that are the own one of more than there are cells,
// those first that are nearest to a cluster with room.
func (c *BalancedCells) reassignOverfull(own []uint32, beyond []float32, size int) {
	k := len(c.Centroids)
	count := make([]int, k)
	for _, x := range own {
		count[x]++
	}
	for {
		full := slices.IndexFunc(count, func(x int) bool { return x > size })
		if full < 0 {
			return
		}
		type move struct {
			record, to uint32
			cost       float32
		}
		var moves []move
		for i, x := range own {
			if int(x) != full {
				continue
			}
			m := move{record: uint32(i), cost: float32(math.Inf(1))}
			for to, cost := range beyond[i*k:][:k] {
				if count[to] < size && cost < m.cost {
					m.to, m.cost = uint32(to), cost
				}
			}
			moves = append(moves, m)
		}
		slices.SortFunc(moves, func(a, b move) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.record, b.record))
		})
		for _, m := range moves[:count[full]-size] {
			if count[m.to] < size { // else in the next round
				own[m.record] = m.to
				count[m.to]++
				count[full]--
			}
		}
	}
}

// Nearest is the cluster that a row belongs to, the lower of two that are as near.
func (c *BalancedCells) Nearest(row []float32) int {
	return c.distances(make([]float32, len(c.Centroids)), row)
}

// measure writes the squared distance from every centroid and returns the nearest.
func (c *BalancedCells) distances(to []float32, row []float32) (nearest int) {
	for k, centroid := range c.Centroids {
		to[k] = squaredL2(row, centroid)
		if to[k] < to[nearest] {
			nearest = k
		}
	}
	return nearest
}

func mean(rows [][]float32, members []uint32) []float32 {
	sum := make([]float64, len(rows[0]))
	for _, i := range members {
		for j, x := range rows[i] {
			sum[j] += float64(x)
		}
	}
	out := make([]float32, len(sum))
	for j, s := range sum {
		out[j] = float32(s / float64(len(members)))
	}
	return out
}
