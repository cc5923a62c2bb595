package sealed

import (
	"context"
	"fmt"
	"runtime"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/mod48"
	"cpar/internal/parallel"
)

// few is the largest number of requests that are multiplied one by one. With so
// few requests, most lanes of a mod48.Tile (a block of up to sixteen) would be
// idle.
const few = 3

// BatchSize returns the number of requests that are best answered together.
// Sixteen requests take two to five times as long as one if the processor
// supports mod48.Tiles, and otherwise fifteen times as long.
func BatchSize() int64 {
	if mod48.Tiles() {
		return mod48.MaxRequests
	}
	return 4
}

// Evaluate multiplies every record by every request, on at most `workers`
// goroutines. It reads every group of records once for each sixteen requests.
func (x *Index) Evaluate(ctx context.Context, workers int, requests ...*lattice.Request) ([]*lattice.Reply, error) {
	replies, words := make([]*lattice.Reply, len(requests)), make([][]uint64, len(requests))
	for i, q := range requests {
		if q.Index != x.id || len(q.Matrix) != x.params.MatrixBytes() {
			return nil, fmt.Errorf("evaluating a sealed request: %w: it is for another index", cpar.ErrInput)
		}
		replies[i] = &lattice.Reply{Index: x.id, Number: q.Number, State: x.roll.State(), Words: make([]uint64, len(x.groups)*x.params.Records())}
		words[i] = make([]uint64, x.params.Words())
		lattice.Words(words[i], q.Matrix)
	}
	for from := 0; from < len(requests); from += mod48.MaxRequests {
		to := min(from+mod48.MaxRequests, len(requests))
		evaluate := x.evaluateSingly
		if to-from > few {
			evaluate = x.evaluateBatch
		}
		if err := parallel.Runs(workers, len(x.groups), 1, func(_, first, last int) error {
			return evaluate(ctx, replies[from:to], words[from:to], first, last)
		}); err != nil {
			return nil, fmt.Errorf("searching index %v: %w", x.id, err)
		}
	}
	return replies, nil
}

// evaluateSingly computes the replies' words for groups `first` to `last`−1,
// request by request. It reads memory in four sequential streams, one per
// quarter of the groups.
func (x *Index) evaluateSingly(ctx context.Context, replies []*lattice.Reply, requests [][]uint64, first, last int) error {
	k, addends := x.params.Records(), x.corrected()
	operands := make([]*mod48.Operand, len(requests))
	for i, q := range requests {
		operands[i] = x.modulus.Prepare(q, k)
	}
	products := make([][mod48.Streams]uint64, k)
	quarter := (last - first + mod48.Streams - 1) / mod48.Streams
	for at := range quarter {
		if err := ctx.Err(); err != nil {
			return err
		}
		runtime.Gosched() // other requests need a core for a moment
		var matrices [mod48.Streams][]byte
		for s := range matrices {
			matrices[s] = x.groups[min(first+s*quarter+at, last-1)].Matrix
		}
		for i, o := range operands {
			o.Rows(products, &matrices)
			for s := range matrices {
				group := first + s*quarter + at
				if group >= last {
					break
				}
				words := replies[i].Words[group*k:][:k]
				for row, addend := range addends[group*k:][:k] {
					words[row] = x.modulus.Add(addend, products[row][s])
				}
			}
		}
	}
	return nil
}
