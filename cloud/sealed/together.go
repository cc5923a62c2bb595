package sealed

import (
	"context"
	"runtime"

	"cpar/internal/lattice"
	"cpar/internal/modp"
)

const (
	// operandWords are those of requests' rows that are prepared at once: they stay in the second
	// cache, also sixteen times over.
	operandWords = 2048
	// productsOf is the number of rows whose products are kept until their groups are finished, 4 MB:
	// for each such part of the index the requests are prepared anew.
	productsOf = 1 << 15
)

// A workspace is what a worker needs to multiply groups by many requests.
type workspace struct {
	operands []modp.Operand
	requests [][]uint64
	products [][modp.Most]uint64
}

// together writes what each would, for up to sixteen requests: all groups' rows k are multiplied
// by the requests' rows k, for a few k at a time, which are prepared for that once.
func (x *Index) together(ctx context.Context, replies []*lattice.Reply, requests []*lattice.Request, first, last int) error {
	p, records := x.params, x.params.Records()
	some := max(1, min(operandWords/p.RowLen(), records))
	run := min(max(1, productsOf/records/modp.TileRows)*modp.TileRows, last-first)
	w := workspace{operands: make([]modp.Operand, some), products: make([][modp.Most]uint64, run*records)}
	y := make([]uint64, modp.Most*records)
	for ; first < last; first += run {
		groups := x.groups[first:min(first+run, last)]
		for k := 0; k < records; k += some {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.multiply(p, groups, requests, k, min(k+some, records))
		}
		for i := range groups {
			for k, products := range w.products[i*records:][:records] {
				for j, p := range products {
					y[j*records+k] = p
				}
			}
			for j, a := range replies {
				x.finish(a.Scores, y[j*records:][:records], first+i)
			}
		}
	}
	return nil
}

// multiply writes the products of rows k to end−1 of all groups and requests: those of row k of
// group i to products[i·K+k].
func (w *workspace) multiply(p lattice.Params, groups []*lattice.Group, requests []*lattice.Request, k, end int) {
	operands := w.operands[:end-k]
	for i := range operands {
		w.requests = w.requests[:0]
		for _, q := range requests {
			w.requests = append(w.requests, p.Row(q.Matrix, k+i))
		}
		operands[i].Set(w.requests)
	}
	// Row after row of some groups, then of the next: t counts both.
	var rows, ahead [modp.TileRows][]uint64
	var dst [modp.TileRows][modp.Most]uint64
	tile := func(to *[modp.TileRows][]uint64, t int) (at, n int) {
		at = t / len(operands) * modp.TileRows
		n = max(0, min(modp.TileRows, len(groups)-at))
		for i := range n {
			to[i] = p.Row(groups[at+i].Matrix, k+t%len(operands))
		}
		return at, n
	}
	for t := 0; ; t++ {
		at, n := tile(&rows, t)
		if n == 0 {
			return
		}
		if t%len(operands) == 0 {
			runtime.Gosched() // requests of others need a core for a moment
		}
		copy(ahead[:], rows[:n])
		tile(&ahead, t+1)
		row := t % len(operands)
		operands[row].Times(dst[:n], rows[:n], ahead[:n])
		for i := range n {
			w.products[(at+i)*p.Records()+k+row] = dst[i]
		}
	}
}
