package kmeans

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"cpar"
	"cpar/internal/parallel"
	"cpar/internal/wire"
)

// BalancedCells is a division of a collection into cells with equal numbers of
// slots, each for one record, so that cell sizes reveal nothing. Every record
// is in its own cell, usually the one with the nearest centroid. The remaining
// slots of a cell hold records that are nearly as close to this cell as to
// their own.
//
//	rows ─▶ the best of several Fits (choose) ─▶ Centroids
//	     ─▶ each cell takes its own records and those closest to joining it ─▶ Records
type BalancedCells struct {
	// Centroids has the cells' centres. A row belongs to the nearest one.
	Centroids [][]float32
	// Records has the records of each cell, ascending, without duplicates.
	Records [][]uint32
}

// Balance divides rows (n×d, read-only) into cells by squared L2 distance.
// `clusters` is the number of cells, and `size` is the number of slots of each.
// There must be at least n slots in all and at most n per cell. The result
// depends only on rows and seed. Errors wrap cpar.ErrInput.
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

func (c *BalancedCells) fill(rows [][]float32, size int) {
	n, clusters := len(rows), len(c.Centroids)
	c.Records = make([][]uint32, clusters)
	// beyond[i·clusters+k] is the squared distance of record i from centroid k
	// minus its squared distance from the nearest centroid.
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

// reassignOverfull moves records out of cells with more records than slots. It
// first moves the records whose distance grows least.
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
			if count[m.to] < size { // otherwise move it in the next round
				own[m.record] = m.to
				count[m.to]++
				count[full]--
			}
		}
	}
}

// Nearest returns the cell whose centroid is nearest to `row`, the lowest in a
// tie.
func (c *BalancedCells) Nearest(row []float32) int {
	return c.distances(make([]float32, len(c.Centroids)), row)
}

// Order returns the cells in the order of their centroids' distances from row.
func (c *BalancedCells) Order(row []float32) []int {
	to, order := make([]float32, len(c.Centroids)), make([]int, len(c.Centroids))
	c.distances(to, row)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(to[a], to[b]) })
	return order
}

// distances fills `to` with the squared distances of `row` from all centroids,
// and returns the nearest cell.
func (c *BalancedCells) distances(to []float32, row []float32) (nearest int) {
	for k, centroid := range c.Centroids {
		to[k] = squaredL2(row, centroid)
		if to[k] < to[nearest] {
			nearest = k
		}
	}
	return nearest
}

// The encoding of BalancedCells takes one bit per record and cell. At a million
// records, that is a quarter of the size of lists of record numbers. Numbers
// are little-endian. The length depends only on the four counts.
//
//	records (4)  cells (4)  slots of a cell (4)  d (4)
//	centroids, d float32 each
//	for each cell ⌈records/8⌉ bytes: bit i mod 8 of byte i/8 is set if record i is in the cell

// AppendBinary appends the canonical encoding of c for n records.
func (c *BalancedCells) AppendBinary(b []byte, n int) []byte {
	for _, x := range []int{n, len(c.Records), len(c.Records[0]), len(c.Centroids[0])} {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	for _, centroid := range c.Centroids {
		b, _ = binary.Append(b, binary.LittleEndian, centroid) // a slice of numbers has no error
	}
	for _, records := range c.Records {
		set := make([]byte, (n+7)/8)
		for _, i := range records {
			set[i/8] |= 1 << (i % 8)
		}
		b = append(b, set...)
	}
	return b
}

// maxCells and maxWidth bound the allocations of ReadBalancedCells.
const maxCells, maxWidth = 1 << 8, 1 << 16

// ReadBalancedCells reads the encoding of AppendBinary and rejects cells that
// Balance cannot produce for n records of d numbers. It returns r's error.
func ReadBalancedCells(r *wire.Reader, n, d int) (*BalancedCells, error) {
	records, clusters, size, width := int(r.U32("records")), int(r.U32("clusters")), int(r.U32("cells")), int(r.U32("dimension"))
	if r.Err() == nil && (records != n || width != d || d > maxWidth || clusters < 1 || clusters > maxCells) {
		r.Fail("cells of %d records of %d numbers in %d clusters", records, width, clusters)
	}
	c := new(BalancedCells)
	for k := 0; k < clusters && r.Err() == nil; k++ {
		packed := r.Bytes(4*d, "centroid")
		centroid := make([]float32, len(packed)/4)
		for j := range centroid {
			centroid[j] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*j:]))
			if x := float64(centroid[j]); math.IsNaN(x) || math.IsInf(x, 0) {
				r.Fail("centroid %d is not finite", k)
			}
		}
		c.Centroids = append(c.Centroids, centroid)
	}
	found := make([]byte, (n+7)/8)
	for k := 0; k < clusters && r.Err() == nil; k++ {
		var members []uint32
		for at, x := range r.Bytes(len(found), "cells of a cluster") {
			found[at] |= x
			for ; x != 0; x &= x - 1 {
				members = append(members, uint32(8*at+bits.TrailingZeros8(x)))
			}
		}
		if r.Err() == nil && (len(members) != size || size > 0 && int(members[size-1]) >= n) {
			r.Fail("%d cells in cluster %d of %d", len(members), k, size)
		}
		c.Records = append(c.Records, members)
	}
	missing := func(x byte) bool { return x != 0xff }
	if at := slices.IndexFunc(found, missing); r.Err() == nil && at >= 0 && (at < n/8 || bits.OnesCount8(found[at]) != n%8) {
		r.Fail("record %d or a later one has no cell", 8*at)
	}
	return c, r.Err()
}

// In an uneven division, a large cell's own records fill its slots and leave no
// room for their neighbours in other cells. Function choose therefore
// tries several divisions. For sampled rows, choose counts the nearest
// neighbours in the cell that a search for the row selects. It returns the
// division with the largest count.
//
// On Corel-5k (profile "learned", eight cells, 1.72 slots per record), the
// chosen division finds 0.861 of the ten nearest neighbours. The most even of
// eight divisions finds 0.850.
const (
	// restarts is the number of divisions tried. Each is fitted to `sampled`
	// rows, evenly spaced in the collection.
	restarts, sampled = 32, 1 << 14
	// A division is judged by the evalNeighbours nearest neighbours of each of
	// evalRows rows.
	evalRows, evalNeighbours = 1 << 10, 10
)

// Enough returns the smallest number of cells, nearest first, that hold the
// given share of the `neighbours` nearest rows of a query, on average. It
// samples rows and queries, and looks for proportionally fewer neighbours among
// the sampled rows. A query that is one of the rows is not its own neighbour.
func (c *BalancedCells) Enough(ctx context.Context, rows, queries [][]float32, neighbours int, share float64) (int, error) {
	some, queries := spaced(rows, max(sampled, len(c.Centroids))), spaced(queries, evalRows)
	near, err := nearest(ctx, some, queries, scaled(neighbours, len(some), len(rows)))
	if err != nil {
		return 0, err
	}
	sample := &BalancedCells{Centroids: c.Centroids}
	sample.fill(some, scaled(len(c.Records[0]), len(some), len(rows)))
	for asked := 1; ; asked++ {
		if all := len(near) * len(near[0]); asked == len(c.Centroids) || float64(sample.countFound(queries, near, asked)) >= share*float64(all) {
			return asked, nil
		}
	}
}

// scaled returns the share of `size` that belongs to n of all rows.
func scaled(size, n, all int) int { return min(n, (size*n+all-1)/all) }

func choose(ctx context.Context, rows [][]float32, clusters, size int, seed [32]byte) (best [][]float32, err error) {
	some := spaced(rows, max(sampled, clusters))
	size = scaled(size, len(some), len(rows))
	queries := spaced(some, evalRows)
	near, err := nearest(ctx, some, queries, evalNeighbours)
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
		if found := c.countFound(queries, near, 1); found > most {
			best, most = c.Centroids, found
		}
	}
	return best, nil
}

func spaced(rows [][]float32, n int) [][]float32 {
	n = min(n, len(rows))
	out := make([][]float32, n)
	for i := range out {
		out[i] = rows[i*len(rows)/n]
	}
	return out
}

// nearest returns the rows nearest to each query, without the query itself.
func nearest(ctx context.Context, rows, queries [][]float32, neighbours int) ([][]uint32, error) {
	out := make([][]uint32, len(queries))
	parallel.For(len(queries), func(i int) {
		if ctx.Err() != nil {
			return
		}
		type other struct {
			row  uint32
			away float32
		}
		all := make([]other, 0, len(rows))
		for j, row := range rows {
			if &row[0] != &queries[i][0] {
				all = append(all, other{uint32(j), squaredL2(row, queries[i])})
			}
		}
		slices.SortFunc(all, func(a, b other) int { return cmp.Or(cmp.Compare(a.away, b.away), cmp.Compare(a.row, b.row)) })
		for _, o := range all[:min(neighbours, len(all))] {
			out[i] = append(out[i], o.row)
		}
	})
	return out, ctx.Err()
}

// countFound counts near rows of all queries in the `asked` nearest cells.
func (c *BalancedCells) countFound(queries [][]float32, near [][]uint32, asked int) (n int) {
	for i, others := range near {
		cells := c.Order(queries[i])[:asked]
		for _, other := range others {
			if slices.ContainsFunc(cells, func(cell int) bool {
				_, there := slices.BinarySearch(c.Records[cell], other)
				return there
			}) {
				n++
			}
		}
	}
	return n
}
