package sealed

import (
	"context"
	"fmt"

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
// Sixteen requests take three to nine times as long as one if the processor
// supports mod48.Tiles, and otherwise six to fourteen times as long.
func BatchSize() int64 {
	if mod48.Tiles() {
		return mod48.MaxRequests
	}
	return 4
}

// evaluate multiplies the records of one section by the first matrix of each
// request, and writes packed words to the start of each reply. Then it cuts both
// off the slices. It reads every group of records once for each sixteen requests.
func (x *Index) evaluate(ctx context.Context, workers int, replies, matrices [][]byte) error {
	size := len(x.groups) * x.params.Records() * lattice.WordBytes
	for _, b := range matrices {
		if len(b) < x.params.MatrixBytes() {
			return fmt.Errorf("evaluating a sealed request: %w: it is for another index", cpar.ErrInput)
		}
	}
	for from := 0; from < len(matrices); from += mod48.MaxRequests {
		to := min(from+mod48.MaxRequests, len(matrices))
		evaluate := x.evaluateSingly
		if to-from > few && mod48.Tiles() {
			evaluate = x.evaluateBatch
		}
		if err := parallel.Runs(workers, len(x.groups), 1, func(_, first, last int) error {
			return evaluate(ctx, replies[from:to], matrices[from:to], first, last)
		}); err != nil {
			return fmt.Errorf("searching index %v: %w", x.id, err)
		}
	}
	for i := range replies {
		replies[i], matrices[i] = replies[i][size:], matrices[i][x.params.MatrixBytes():]
	}
	return nil
}

// evaluateSingly computes the replies' words for groups `first` to `last`−1,
// request by request. It reads memory in four sequential streams, one per
// quarter of the groups.
func (x *Index) evaluateSingly(ctx context.Context, replies, requests [][]byte, first, last int) error {
	k, addends := x.params.Records(), x.corrected()
	operands := make([]*mod48.Operand, len(requests))
	for i, q := range requests {
		words := make([]uint64, x.params.Words())
		lattice.Words(words, q)
		operands[i] = x.modulus.Prepare(words, k)
	}
	products := make([][mod48.Streams]uint64, k)
	var turn parallel.Turn
	quarter := (last - first + mod48.Streams - 1) / mod48.Streams
	for at := range quarter {
		if err := turn.Yield(ctx); err != nil {
			return err
		}
		var matrices, words [mod48.Streams][]byte
		var some [mod48.Streams][]uint64
		var rows [mod48.Streams]int
		for s := range matrices { // beyond the last group, repeat it
			group := min(first+s*quarter+at, last-1)
			matrices[s], some[s], rows[s] = x.groups[group].Matrix, addends[group*k:][:k], group*k
		}
		for i, o := range operands {
			o.Rows(products, &matrices)
			for s, row := range rows {
				words[s] = replies[i][row*lattice.WordBytes:]
			}
			mod48.Pack(x.modulus, words[:], 0, some[:], products, 1)
		}
	}
	return nil
}
