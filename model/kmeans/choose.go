package kmeans

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"cpar/internal/parallel"
)

// Records that nearly belong to a cell far larger than others do not fit into
// its slots. choose therefore takes the best of several divisions, by the
// number of nearest others of sampled rows that are in the cells these rows
// would query.
//
// On Corel-5k, profile `learned`, eight cells with 1.72 slots per record, this
// finds 0.861 of the ten nearest, the most even of eight divisions 0.850.
const (
	// restarts divisions of sampled evenly spaced rows are tried.
	restarts, sampled = 32, 1 << 14
	// A division is evaluated by evalNeighbours nearest others of evalRows rows.
	evalRows, evalNeighbours = 1 << 10, 10
)

func choose(ctx context.Context, rows [][]float32, clusters, size int, seed [32]byte) (best [][]float32, err error) {
	some := spaced(rows, max(sampled, clusters))
	size = min(len(some), (size*len(some)+len(rows)-1)/len(rows))
	near, err := nearestOthers(ctx, some, min(evalRows, len(some)))
	if err != nil {
		return nil, err
	}
	most := -1
	for start := range byte(restarts) {
		lists, err := Fit(ctx, some, Options{Cells: clusters, Seed: sha256.Sum256(append(seed[:], start))})
		if err != nil {
			return nil, err
		}
		c := new(BalancedCells)
		for list := range clusters {
			c.Centroids = append(c.Centroids, mean(func(i int) []float32 { return some[i] }, lists.Members(list)))
		}
		c.fill(some, size)
		if found := c.countFound(some, near); found > most {
			best, most = c.Centroids, found
		}
	}
	return best, nil
}

func spaced(rows [][]float32, n int) [][]float32 {
	n = min(n, len(rows))
	out := make([][]float32, n)
	for i := range out {
		out[i] = rows[spacedIndex(i, n, len(rows))]
	}
	return out
}

func spacedIndex(i, n, all int) int { return i * all / n }

func nearestOthers(ctx context.Context, rows [][]float32, n int) ([][]uint32, error) {
	out := make([][]uint32, n)
	parallel.For(n, func(i int) {
		if ctx.Err() != nil {
			return
		}
		type other struct {
			row  uint32
			away float32
		}
		own := spacedIndex(i, n, len(rows))
		all := make([]other, 0, len(rows))
		for j, row := range rows {
			if j != own {
				all = append(all, other{uint32(j), squaredL2(row, rows[own])})
			}
		}
		slices.SortFunc(all, func(a, b other) int { return cmp.Or(cmp.Compare(a.away, b.away), cmp.Compare(a.row, b.row)) })
		for _, o := range all[:min(evalNeighbours, len(all))] {
			out[i] = append(out[i], o.row)
		}
	})
	return out, ctx.Err()
}

func (c *BalancedCells) countFound(rows [][]float32, near [][]uint32) (n int) {
	for i, others := range near {
		records := c.Records[c.Nearest(rows[spacedIndex(i, len(near), len(rows))])]
		for _, other := range others {
			if _, there := slices.BinarySearch(records, other); there {
				n++
			}
		}
	}
	return n
}
