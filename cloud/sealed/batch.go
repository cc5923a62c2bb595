package sealed

import (
	"context"
	"runtime"

	"cpar/internal/lattice"
	"cpar/internal/mod48"
)

// operandWords is the maximum number of 64-bit words prepared per request at a
// time, chosen so that the words of sixteen requests fit in the L2 cache.
const operandWords = 2048

type workspace struct {
	tiles []mod48.Tile
	rows  [][]uint64
}

// evaluateBatch computes the same result as evaluateSingly for up to sixteen
// requests. It takes a few rows of all requests at a time and multiplies them by
// the same rows of all groups.
func (x *Index) evaluateBatch(ctx context.Context, replies []*lattice.Reply, requests [][]uint64, first, last int) error {
	k := x.params.Records()
	for group := first; group < last; group++ {
		for _, a := range replies {
			lattice.Words(a.Words[group*k:][:k], x.groups[group].Addends)
		}
	}
	some := max(1, min(operandWords/x.params.RowLen(), k))
	w := workspace{tiles: make([]mod48.Tile, some)}
	for from := 0; from < k; from += some {
		if err := x.multiply(ctx, &w, replies, requests, [2]int{first, last}, [2]int{from, min(from+some, k)}); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) multiply(ctx context.Context, w *workspace, replies []*lattice.Reply, requests [][]uint64, groups, rows [2]int) error {
	p, k, n := x.params, x.params.Records(), x.params.RowLen()
	tiles := w.tiles[:rows[1]-rows[0]]
	for i := range tiles {
		w.rows = w.rows[:0]
		for _, q := range requests {
			w.rows = append(w.rows, q[(rows[0]+i)*n:][:n])
		}
		tiles[i].Set(x.modulus, w.rows)
	}
	// As t counts up, the loop visits all rows of mod48.TileRows groups, then
	// all rows of the next such groups.
	var now, ahead [mod48.TileRows][]byte
	var dst [mod48.TileRows][mod48.MaxRequests]uint64
	take := func(to *[mod48.TileRows][]byte, t int) (at, count int) {
		at = groups[0] + t/len(tiles)*mod48.TileRows
		count = max(0, min(mod48.TileRows, groups[1]-at))
		for i := range count {
			to[i] = p.Row(x.groups[at+i].Matrix, rows[0]+t%len(tiles))
		}
		return at, count
	}
	for t := 0; ; t++ {
		at, count := take(&now, t)
		if count == 0 {
			return nil
		}
		if t%len(tiles) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			runtime.Gosched() // other requests need a core for a moment
		}
		copy(ahead[:], now[:count])
		take(&ahead, t+1)
		tiles[t%len(tiles)].Times(dst[:count], now[:count], ahead[:count])
		for j, a := range replies {
			words := a.Words[at*k+rows[0]+t%len(tiles):]
			for i := range count {
				words[i*k] = x.modulus.Add(words[i*k], dst[i][j])
			}
		}
	}
}
