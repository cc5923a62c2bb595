package device

import (
	"context"
	"errors"
	"time"

	"cpar"
	"cpar/cparhttp"
)

// batchPhotos is how many photos are asked about at once: the cloud then reads its
// memory once for all of them where it scans, and the wait for a reply is one.
const batchPhotos = 16

// manyRecords is how many records are scored for photos asked about at once where
// every request is a pass over all of them: about two seconds' worth.
const manyRecords = 1_000_000

// Batch is how many photos are asked about at once.
func (x *Index) Batch() int {
	if len(x.Needs(x.Manifest)) == 0 {
		return batchPhotos
	}
	return max(1, min(batchPhotos, manyRecords/int(max(1, x.Manifest.Records))))
}

// ask gets the replies. Where the cloud refuses several requests at once, because
// it does not know how or because one of them is bad, each is asked alone.
func (x *Index) ask(ctx context.Context, all []*photoRequest) error {
	if len(all) > 1 && !x.alone {
		requests := make([]*cpar.Request, len(all))
		for i, a := range all {
			requests[i] = a.request
		}
		begun := time.Now()
		replies, stats, err := x.answers.AnnotateBatch(ctx, requests)
		switch {
		case err == nil:
			share := time.Since(begun) / time.Duration(len(all))
			for i, a := range all {
				a.reply, a.Took.Answer = replies[i], share
				a.Sent, a.Received = stats[i].Sent, stats[i].Received
			}
			return nil
		case errors.Is(err, cpar.ErrCloud) || ctx.Err() != nil:
			return err
		}
		x.alone = errors.Is(err, cparhttp.ErrNotFound)
	}
	for _, a := range all {
		begun := time.Now()
		reply, stats, err := x.answers.Annotate(ctx, a.request)
		if errors.Is(err, cpar.ErrCloud) || err != nil && ctx.Err() != nil {
			return err
		}
		a.reply, a.Err, a.Took.Answer = reply, err, time.Since(begun)
		a.Sent, a.Received = stats.Sent, stats.Received
	}
	return nil
}
