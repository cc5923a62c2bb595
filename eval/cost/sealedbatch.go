package cost

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/sealed"
	"cpar/eval/measure"
	"cpar/internal/mod48"
	"cpar/model/profile"
	"cpar/user"
)

// A SealedBatch holds the lowest times of three operations on one core: one
// request of scheme sealed, a batch of costBatch requests, and a plain read of
// the index. The first two include decoding requests and encoding replies.
type SealedBatch struct {
	Kernels                        string
	Records, Dim, One, Batch, Read int64 // times in nanoseconds
}

// measureSealedBatches measures n records of profile "paper", and n and 5n
// records of a profile of syntheticDim numbers.
func measureSealedBatches(ctx context.Context, n int, progress user.Progress) (out []SealedBatch, err error) {
	made, short, err := syntheticProfile(ctx, n, progress)
	if err != nil {
		return nil, err
	}
	long, err := profile.Fit(ctx, profile.Paper, measure.FeaturesOf(made), measure.Keywords(made), profile.Options{Progress: progress})
	for i, fit := range []*profile.Fitted{long, short, short} {
		if err == nil {
			out, err = timeBatches(ctx, out, made, []int{n, n, 5 * n}[i], user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Cells: 1, Progress: progress})
		}
	}
	return out, err
}

func timeBatches(ctx context.Context, out []SealedBatch, made []user.Photo, n int, opt user.Options) ([]SealedBatch, error) {
	s, _, err := measure.OpenSealed(ctx, repeatPhotos(made, n), opt)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	requests := make([]*cpar.Request, costBatch)
	for i, v := range measure.VectorsOf(s.Owner, &measure.Corpus{Test: made}, costBatch) {
		if _, requests[i], err = s.Owner.RequestVector(v, s.Params(10)); err != nil {
			return nil, err
		}
	}
	memory := measure.NewStream(s.Files)
	mod48.AtEachLevel(func(kernels string) {
		var scans, reads [2][]int64
		err = errors.Join(err, measure.WithoutGC(func() error {
			x, err := sealed.Load(s.Manifest, s.Files.Segments()) // loaded again, because it keeps sums that depend on the kernels
			for round := 0; err == nil && round < 2*scanRounds; round++ {
				opt.Progress.Report("scans", round, 2*scanRounds)
				runtime.GC() // frees earlier replies
				begun := time.Now()
				_, err = x.Annotate(ctx, 1, requests[:[]int{1, costBatch}[round%2]])
				scans[round%2] = append(scans[round%2], time.Since(begun).Nanoseconds())
				memory.ReadTwice(measure.SegmentBytes(s.Manifest, cpar.SegmentVectors), &reads)
			}
			return err
		}))
		if err == nil {
			out = append(out, SealedBatch{kernels, int64(n), int64(s.Manifest.Dim), slices.Min(scans[0]), slices.Min(scans[1]), slices.Min(slices.Concat(reads[:]...))})
		}
	})
	return out, err
}
