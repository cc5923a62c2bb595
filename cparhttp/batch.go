package cparhttp

import (
	"context"
	"fmt"
	"net/http"

	"cpar"
	"cpar/internal/wire"
)

const (
	MaxBatch = wire.MaxBatch
	// MaxBatchBytes bounds the body of a batch. A request takes 11 to 14 KB with
	// profile "paper" and 360 KB with scheme "sealed".
	MaxBatchBytes = 8 << 20
)

// AnnotateBatch sends requests to one index together and returns the replies in
// order. It checks each reply as Annotate does. stats[i] belongs to request i.
// If one request fails, the batch fails. If the server does not have the route
// or the index, the error wraps ErrNotFound.
func (c *Client) AnnotateBatch(ctx context.Context, requests []*cpar.Request) (replies []*cpar.Reply, stats []Stats, err error) {
	fail := func(err error) ([]*cpar.Reply, []Stats, error) {
		return nil, nil, fmt.Errorf("annotating %d: %w", len(requests), err)
	}
	if len(requests) < 1 || len(requests) > MaxBatch {
		return fail(fmt.Errorf("%w: a batch has 1 to %d requests", cpar.ErrInput, MaxBatch))
	}
	items, limit := make([][]byte, len(requests)), int64(4)
	stats = make([]Stats, len(requests))
	for i, q := range requests {
		if q.Index != requests[0].Index {
			return fail(fmt.Errorf("%w: request %d is for another index than request 1", cpar.ErrInput, i+1))
		}
		var most int64
		if items[i], most, err = c.encode(ctx, q); err != nil {
			return fail(fmt.Errorf("request %d: %w", i+1, err))
		}
		stats[i].Sent = len(items[i])
		limit += 4 + most
	}
	body := wire.AppendBatch(nil, items)
	if len(body) > MaxBatchBytes {
		return fail(fmt.Errorf("%w: the requests have %d bytes; the limit is %d", cpar.ErrInput, len(body), MaxBatchBytes))
	}
	answer, err := c.do(ctx, call{method: http.MethodPost, path: route(PathAnnotateBatch, requests[0].Index), body: body, want: TypeBinary, limit: limit})
	if err != nil {
		return fail(err)
	}
	items, err = wire.DecodeBatch(answer, cpar.ErrCorrupt)
	if err != nil {
		return fail(c.cloudFault(err))
	}
	if len(items) != len(requests) {
		return fail(fmt.Errorf("cloud at %s: %w: it sent %d replies", c.base, cpar.ErrCloud, len(items)))
	}
	replies = make([]*cpar.Reply, len(items))
	for i, item := range items {
		stats[i].Received = len(item)
		if replies[i], err = c.decode(requests[i], item); err != nil {
			return fail(fmt.Errorf("reply %d: %w", i+1, err))
		}
	}
	return replies, stats, nil
}
