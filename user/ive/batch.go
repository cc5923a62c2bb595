package ive

import "cpar/internal/modq"

// maxBatch is the number of records multiplied by S⁻¹ together. They take 345 kB at m =
// 1347, so they stay in a core's cache while the 14 MB of the key's factors (type Key)
// are read once. More records would not reduce the time further.
const maxBatch = 4 * modq.Lanes

// batchSize returns the batch size for n records on a number of processors. It
// is at most maxBatch, and small enough that every processor has work.
func batchSize(n, processors int) int {
	share := (n + processors - 1) / processors
	groups := (share + modq.Lanes - 1) / modq.Lanes
	return max(1, min(groups, maxBatch/modq.Lanes)) * modq.Lanes
}

// A batch is scratch memory for up to maxBatch vectors that are multiplied
// together, in groups of modq.Lanes interleaved vectors of m words.
type batch struct {
	vectors []modq.Group
	// tiles holds the elements of the vectors from the first column of the
	// current tile on. A tile has four rows of a factor.
	tiles []modq.Group
	sums  []modq.Block
}

func newBatch(m, size int) *batch {
	b := &batch{vectors: make([]modq.Group, size/modq.Lanes)}
	for g := range b.vectors {
		b.vectors[g].X = make([]uint64, m*modq.Lanes)
	}
	b.tiles = make([]modq.Group, len(b.vectors))
	b.sums = make([]modq.Block, (len(b.vectors)+modq.TileGroups-1)/modq.TileGroups)
	return b
}

// applyInverseBatch multiplies every row of x by S⁻¹ and writes the products
// into the rows of dst, which may be x. Slice x must not hold more rows than
// the batch. The products equal those of applyInverse. applyInverseBatch
// processes modq.TileRows rows of a factor at a time: a rectangular tile
// beside the diagonal, and a small triangle at the diagonal.
func (k *Key) applyInverseBatch(dst, x []uint64, b *batch) {
	m := k.params.Dim
	n := len(x) / m
	for g := range b.vectors {
		v := &b.vectors[g]
		clear(v.X)
		for l := range min(modq.Lanes, n-g*modq.Lanes) {
			row := x[(g*modq.Lanes+l)*m:][:m]
			for i, from := range k.right {
				v.X[i*modq.Lanes+l] = row[from]
			}
		}
	}
	k.timesUpper(b)
	k.timesLower(b)
	for g := range b.vectors {
		v := &b.vectors[g]
		for l := range min(modq.Lanes, n-g*modq.Lanes) {
			row := dst[(g*modq.Lanes+l)*m:][:m]
			for i, from := range k.left {
				row[i] = v.X[from*modq.Lanes+l]
			}
		}
	}
}

// timesUpper multiplies the batch by D·U in place. It processes rows in
// ascending order, because each row needs the old elements to its right.
func (k *Key) timesUpper(b *batch) {
	m := k.params.Dim
	// The tile of rows i to end-1 begins at column end, which is even or m.
	// Its pair sums (sums of products of adjacent elements, package modq) are
	// therefore the sums of the whole vector minus earlier pairs.
	for g := range b.vectors {
		v := &b.vectors[g]
		v.Pairs = [modq.Lanes]uint64{}
		modq.SumPairs(&v.Pairs, v.X)
	}
	for i := 0; i < m; i += modq.TileRows {
		end := min(i+modq.TileRows, m)
		var rows [modq.TileRows][]uint64
		for q := range rows {
			p := min(i+q, end-1) // an incomplete last tile repeats its last row
			rows[q] = k.upperRow(p)[end-p-1:]
		}
		b.subtractPairs(i, end)
		b.multiply(&rows, end, k.upperRow(min(end, m-1)))
		for g := range b.vectors {
			x := b.vectors[g].X
			for p := i; p < end; p++ {
				sum, lane := b.sum(g, p-i), (*[modq.Lanes]uint64)(x[p*modq.Lanes:])
				modq.DotLanes(sum, k.upperRow(p)[:end-p-1], x[(p+1)*modq.Lanes:])
				for l := range lane {
					lane[l] = (lane[l] + sum[l]) * k.diag[p]
				}
			}
		}
	}
}

// timesLower multiplies the batch by L in place. It processes rows in
// descending order, because each row needs the old elements to its left.
func (k *Key) timesLower(b *batch) {
	m := k.params.Dim
	last := (m - 1) / modq.TileRows * modq.TileRows
	for g := range b.vectors {
		v := &b.vectors[g]
		v.Pairs = [modq.Lanes]uint64{}
		modq.SumPairs(&v.Pairs, v.X[:last*modq.Lanes])
	}
	for i := last; i >= 0; i -= modq.TileRows {
		end := min(i+modq.TileRows, m)
		var rows [modq.TileRows][]uint64
		for q := range rows {
			rows[q] = k.lowerRow(min(i+q, end-1))[:i]
		}
		before := max(i-modq.TileRows, 0)
		b.multiply(&rows, 0, k.lowerRow(before))
		for g := range b.vectors {
			x := b.vectors[g].X
			for p := end - 1; p >= i; p-- {
				sum, lane := b.sum(g, p-i), (*[modq.Lanes]uint64)(x[p*modq.Lanes:])
				modq.DotLanes(sum, k.lowerRow(p)[i:], x[i*modq.Lanes:])
				for l := range lane {
					lane[l] += sum[l]
				}
			}
		}
		b.subtractPairs(before, i)
	}
}

// subtractPairs subtracts the pairs of elements first to end-1 from all pair
// sums. The elements must not have been overwritten yet.
func (b *batch) subtractPairs(first, end int) {
	for g := range b.vectors {
		v := &b.vectors[g]
		var gone [modq.Lanes]uint64
		modq.SumPairs(&gone, v.X[first*modq.Lanes:end*modq.Lanes])
		for l := range gone {
			v.Pairs[l] -= gone[l]
		}
	}
}

// multiply multiplies rows by all vectors, starting at element `first`.
// Parameter `next` holds the rows of the following tile, which only the first
// groups prefetch.
func (b *batch) multiply(rows *[modq.TileRows][]uint64, first int, next []uint64) {
	for g, v := range b.vectors {
		b.tiles[g] = modq.Group{X: v.X[first*modq.Lanes:], Pairs: v.Pairs}
	}
	for t := range b.sums {
		from := t * modq.TileGroups
		modq.Tile(&b.sums[t], rows, b.tiles[from:min(from+modq.TileGroups, len(b.tiles))], next)
		next = nil
	}
}

// sum returns multiply's product for row q of the tile and group g.
func (b *batch) sum(g, q int) *[modq.Lanes]uint64 {
	return &b.sums[g/modq.TileGroups][g%modq.TileGroups][q]
}
