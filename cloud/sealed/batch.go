package sealed

import (
	"context"
	"math/bits"

	"cpar/internal/lattice"
	"cpar/internal/mod48"
	"cpar/internal/parallel"
)

// operandWords is the maximum number of 64-bit words prepared per request at a
// time. Twelve rows of the index share one read of these words, which may
// therefore exceed the L2 cache. With fewer words, the reads of groups and the
// writes to replies would be shorter.
const operandWords = 6144

type workspace struct {
	tiles []mod48.Tile
	rows  [][]byte                    // one row of each request
	sums  [][mod48.MaxRequests]uint64 // of each tile, one after another
}

// evaluateBatch computes the same result as evaluateSingly for up to sixteen
// requests. It takes a few rows of all requests at a time and multiplies them by
// the same rows of all groups.
func (x *Index) evaluateBatch(ctx context.Context, replies, requests [][]byte, first, last int) error {
	k := x.params.Records()
	// The number of rows in a group is a power of two. Taking a power of two at a
	// time leaves no remainder.
	some := min(1<<bits.Len(uint(operandWords/x.params.RowLen()|1))>>1, k)
	w := workspace{tiles: make([]mod48.Tile, some), rows: make([][]byte, len(requests)), sums: make([][mod48.MaxRequests]uint64, some*mod48.TileRows)}
	for from := 0; from < k; from += some {
		if err := x.multiply(ctx, &w, replies, requests, [2]int{first, last}, [2]int{from, min(from+some, k)}); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) multiply(ctx context.Context, w *workspace, replies, requests [][]byte, groups, rows [2]int) error {
	p, k := x.params, x.params.Records()
	tiles := w.tiles[:rows[1]-rows[0]]
	for i := range tiles {
		for j, q := range requests {
			w.rows[j] = p.Row(q, rows[0]+i)
		}
		tiles[i].Set(x.modulus, w.rows)
	}
	addends := x.corrected()
	var now, ahead [mod48.TileRows][]byte
	prefetch := func(at, t int) {
		for i := range min(mod48.TileRows, groups[1]-at) {
			ahead[i] = p.Row(x.groups[at+i].Matrix, rows[0]+t)
		}
	}
	prefetch(groups[0], 0)
	var turn parallel.Turn
	for at := groups[0]; at < groups[1]; at += mod48.TileRows {
		if err := turn.Yield(ctx); err != nil {
			return err
		}
		count := min(mod48.TileRows, groups[1]-at)
		for t := range tiles {
			now = ahead
			if t+1 < len(tiles) {
				prefetch(at, t+1)
			} else {
				prefetch(at+mod48.TileRows, 0)
			}
			tiles[t].Times(w.sums[t*mod48.TileRows:][:mod48.TileRows], now[:count], ahead[:count])
		}
		// Replies do not fit in caches, so write neighbouring words together.
		for i := range count {
			from := (at+i)*k + rows[0]
			mod48.Pack(x.modulus, replies, from*lattice.WordBytes, [][]uint64{addends[from:][:len(tiles)]}, w.sums[i:], mod48.TileRows)
		}
	}
	return nil
}
