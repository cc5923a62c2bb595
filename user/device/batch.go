package device

import (
	"context"
	"errors"
	"time"

	"cpar"
	"cpar/cparhttp"
)

// batchPhotos is the number of photos in a batch. A scanning cloud reads its
// memory once per batch, and the batch waits for one round trip.
const batchPhotos = 16

// manyRecords is the number of records scored per batch, about two seconds'
// worth, if every request scans the whole index.
const manyRecords = 1_000_000

// Batch returns the number of photos to request at once.
func (x *Index) Batch() int {
	if len(x.Needs(x.Manifest)) == 0 {
		return batchPhotos
	}
	return max(1, min(batchPhotos, manyRecords/int(max(1, x.Manifest.Records))))
}

// ask fetches the replies. If the cloud rejects a batch, because it does not
// support batches or one request is bad, ask sends the requests one by one.
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
