package aspe

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"cpar/internal/modq"
	"cpar/internal/parallel"
	"cpar/internal/progress"
	"cpar/model/rank"
	"cpar/model/vectorlayout"
	"cpar/user/internal/index"
	"cpar/user/scorevector"
)

// folds is the number of parts for cross-validation. Package learn uses the
// same number, so that accuracies of both packages are means over equal
// numbers of photos and are comparable.
const folds = 10

// Samples returns at most `limit` photos of a collection with their nearest
// neighbours by the plaintext distances of the index.
func Samples(ctx context.Context, layout vectorlayout.Params, c *index.Collection, limit int, tell progress.Func) ([]rank.Sample, error) {
	budget, err := scorevector.NewLargestScale(layout)
	if err != nil {
		return nil, err
	}
	// Clamp copies, so that the collection's vectors stay unchanged.
	records := slices.Clone(c.Records)
	for i := range records {
		records[i].Z = slices.Clone(records[i].Z)
		budget.Clamp(records[i].Z)
	}
	rows, err := plainRows(budget, records)
	if err != nil {
		return nil, err
	}
	// Shuffle, because adjacent photos of a folder are often alike.
	order := rand.New(rand.NewPCG(0x73616d706c6573, 0)).Perm(len(records)) // "samples"
	asked := min(len(records), limit)
	out, errs := make([]rank.Sample, asked), make([]error, asked)
	tell.Report("calibrate", 0, asked)
	for from := 0; from < asked; from += 64 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parallel.For(min(64, asked-from), func(k int) {
			i := from + k
			record := order[i]
			out[i] = rank.Sample{Truth: records[record].Keywords, Fold: i % folds}
			out[i].Near, errs[i] = nearest(budget, rows, records, record)
		})
		tell.Report("calibrate", min(from+64, asked), asked)
	}
	return out, cmp.Or(errs...)
}

func nearest(budget *scorevector.Budget, rows []uint64, records []index.Record, record int) ([]rank.Neighbour, error) {
	const scale = 1 << 10
	plain := make([]int64, budget.Dim())
	if err := budget.Request(plain, records[record].Z, records[record].Vector.KL, scale, 0); err != nil {
		return nil, err
	}
	space := &plainSpace{rows: rows, request: make([]uint64, len(plain))}
	modq.FromSigned(space.request, plain)
	var near []rank.Neighbour
	for _, h := range space.scan(len(records), rank.MostNeighbours+1) {
		if int(h.Record) != record {
			near = append(near, rank.Neighbour{Record: h.Record, Dis: max(0, budget.Dis(h.Score, scale)), Keywords: records[h.Record].Keywords})
		}
	}
	return near[:min(len(near), rank.MostNeighbours)], nil
}

// Scanner returns a function that scores n records with the server's kernels on
// one core, for timing.
func Scanner(layout vectorlayout.Params, n int) (scan func(), err error) {
	budget, err := scorevector.NewLargestScale(layout)
	if err != nil {
		return nil, err
	}
	space := &plainSpace{rows: make([]uint64, n*budget.Dim()), request: make([]uint64, budget.Dim())}
	for i := range space.rows { // write all pages of memory, because reading an unwritten page would be unrealistically fast
		space.rows[i] = uint64(i)
	}
	return func() { space.scan(n, rank.PaperNeighbours) }, nil
}
