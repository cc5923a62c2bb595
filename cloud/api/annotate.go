package api

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cloud/stage"
	"cpar/cparhttp"
)

func (s *server) annotate(ctx context.Context, in *bodyInput) (*binaryOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, s.problem(err)
	}
	b, err := in.readAll(cpar.MaxRequestBytes, s.o.StallTimeout)
	if err != nil {
		return nil, s.problem(err)
	}
	q, err := decodeRequest(id, b)
	if err != nil {
		return nil, s.problem(err)
	}
	stage.Asked(ctx, q.Params.Scheme, 1)
	var out []byte
	err = s.withSlot(ctx, func(ctx context.Context) error {
		reply, err := s.annotator.Annotate(ctx, key(ctx, id), q)
		if err == nil {
			defer stage.Enter(ctx, stage.Encode)()
			out, err = reply.MarshalBinary()
		}
		return err
	})
	return binaryOut(out), s.problem(err)
}

func (s *server) annotateBatch(ctx context.Context, in *bodyInput) (*binaryOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, s.problem(err)
	}
	b, err := in.readAll(cparhttp.MaxBatchBytes, s.o.StallTimeout)
	if err != nil {
		return nil, s.problem(err)
	}
	items, err := cparhttp.DecodeBatch(b)
	if err != nil {
		return nil, s.problem(err)
	}
	requests := make([]*cpar.Request, len(items))
	for i, item := range items {
		if requests[i], err = decodeRequest(id, item); err != nil {
			return nil, s.problem(fmt.Errorf("request %d of %d: %w", i+1, len(items), err))
		}
	}
	stage.Asked(ctx, requests[0].Params.Scheme, len(requests))
	err = s.withSlot(ctx, func(ctx context.Context) error {
		replies, err := s.annotator.AnnotateBatch(ctx, key(ctx, id), requests)
		if err != nil {
			return err
		}
		defer stage.Enter(ctx, stage.Encode)()
		for i, r := range replies {
			if items[i], err = r.MarshalBinary(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.problem(err)
	}
	return binaryOut(cparhttp.AppendBatch(nil, items)), nil
}

// decodeRequest reads one request and checks that it is for index id.
func decodeRequest(id cpar.IndexID, b []byte) (*cpar.Request, error) {
	if len(b) > cpar.MaxRequestBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, the limit is %d", cpar.ErrInput, len(b), cpar.MaxRequestBytes)
	}
	q, err := cpar.DecodeRequest(b)
	if err == nil && q.Index != id {
		err = fmt.Errorf("%w: the request is for index %v", cpar.ErrInput, q.Index)
	}
	return q, err
}

// withSlot waits for a free slot, then calls f. AnnotateTimeout bounds both together.
func (s *server) withSlot(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.AnnotateTimeout)
	defer cancel()
	queued := stage.Enter(ctx, stage.Queue)
	select {
	case s.slots <- struct{}{}:
		queued()
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errBusy, ctx.Err())
	}
	return f(ctx)
}
