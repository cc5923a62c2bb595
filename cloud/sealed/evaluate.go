package sealed

import (
	"context"
	"fmt"
	"runtime"

	"cpar"
	share "cpar/cloud/workers"
	"cpar/internal/lattice"
	"cpar/internal/modp"
)

// few is the number of requests up to which each is multiplied alone: a tile has lanes for more,
// which would be idle.
const few = 3

// Together is the number of requests that are best answered in one pass. Sixteen take four to eight
// times as long as one where the processor multiplies tiles, and else fifteen times.
func Together() int64 {
	if modp.Tiles() {
		return modp.Most
	}
	return 4
}

// Evaluate multiplies every record by every request, and returns the replies in the same order.
// It reads every group once for each sixteen requests. workers bounds the number of goroutines.
func (x *Index) Evaluate(ctx context.Context, workers int, requests ...*lattice.Request) ([]*lattice.Reply, error) {
	replies := make([]*lattice.Reply, len(requests))
	for i, q := range requests {
		if q.Index != x.id || len(q.Matrix) != x.params.Words() {
			return nil, fmt.Errorf("evaluating a sealed request: %w: it is for another index", cpar.ErrInput)
		}
		replies[i] = &lattice.Reply{Index: x.id, Number: q.Number, State: x.state, Scores: make([]uint64, x.records)}
	}
	for from := 0; from < len(requests); from += modp.Most {
		to := min(from+modp.Most, len(requests))
		evaluate := x.each
		if to-from > few {
			evaluate = x.together
		}
		if err := share.Run(workers, len(x.groups), 1, func(_, first, last int) error {
			return evaluate(ctx, replies[from:to], requests[from:to], first, last)
		}); err != nil {
			return nil, fmt.Errorf("searching index %v: %w", x.id, err)
		}
	}
	return replies, nil
}

// each writes the encrypted scores of groups first to last−1, request by request. Groups are read
// in four streams, one from each quarter: what follows in memory is then what is read next.
func (x *Index) each(ctx context.Context, replies []*lattice.Reply, requests []*lattice.Request, first, last int) error {
	products := make([][modp.Streams]uint64, x.params.Records())
	y := make([]uint64, x.params.Records())
	quarter := (last - first + modp.Streams - 1) / modp.Streams
	for at := range quarter {
		if err := ctx.Err(); err != nil {
			return err
		}
		runtime.Gosched() // requests of others need a core for a moment
		var matrices [modp.Streams][]uint64
		for s := range matrices {
			matrices[s] = x.groups[min(first+s*quarter+at, last-1)].Matrix
		}
		for i, q := range requests {
			modp.Rows(products, &matrices, q.Matrix)
			for s := range matrices {
				group := first + s*quarter + at
				if group >= last {
					break
				}
				for k, p := range products {
					y[k] = p[s]
				}
				x.finish(replies[i].Scores, y, group)
			}
		}
	}
	return nil
}

// finish turns the products at the points of one group into encrypted scores. InterpolateFolded
// removes the factor 1/D.
func (x *Index) finish(scores, y []uint64, group int) {
	g, width := x.groups[group], x.params.ReplyBits()
	lattice.InterpolateFolded(y)
	scores, addends := scores[x.first[group]:][:g.Count], g.Addends[:g.Count]
	for i := range scores {
		scores[i] = lattice.Round(lattice.Add(y[i], addends[i]), width)
	}
}
