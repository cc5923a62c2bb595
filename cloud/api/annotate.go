package api

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/batch"
	"cpar/cloud/store"
	"cpar/cloud/trace"
	"cpar/cparhttp"
	"cpar/internal/wire"
)

// requestTimes is like manifestTimes, for encoded and decoded requests.
const requestTimes = 2

type batchReply struct {
	*cpar.Reply
	batch *batchTrace
}

type batchTrace struct {
	record   trace.Request
	requests int
	began    time.Time
}

func (s *server) newBatchRunner() *batch.Runner[store.IndexRef, *cpar.Request, batchReply] {
	return batch.New(s.gate, batch.Options[store.IndexRef, *cpar.Request, batchReply]{
		Run: func(ctx context.Context, k store.IndexRef, requests []*cpar.Request) ([]batchReply, error) {
			p := &batchTrace{requests: len(requests), began: time.Now()}
			ctx = p.record.NewContext(ctx)
			replies, err := s.annotator.Annotate(ctx, k, requests)
			if err != nil {
				return nil, err
			}
			out := make([]batchReply, len(replies))
			for i, r := range replies {
				out[i] = batchReply{r, p}
			}
			return out, nil
		},
		// One request can cause only these errors. All others are faults of the
		// index or the server.
		RetryAlone: func(err error) bool {
			return errors.Is(err, cpar.ErrInput) && !errors.Is(err, store.ErrNotFound)
		},
		Weight:    cloud.Weight,
		MaxWeight: cloud.MaxBatchWeight,
	})
}

func observe(ctx context.Context, asked time.Time, replies []batchReply) {
	for i, r := range replies {
		if i == 0 {
			trace.Add(ctx, trace.Queue, asked, r.batch.began)
		}
		if i == 0 || r.batch != replies[i-1].batch {
			r.batch.record.Times(func(s trace.Stage, t trace.Time) { trace.Add(ctx, s, t.First, t.Last) })
		}
		o, n := r.batch.record.Outcome(), uint64(r.batch.requests)
		trace.AddWork(ctx, o.Visited/n, o.Touched/n)
	}
}

func (s *server) annotate(ctx context.Context, in *bodyInput) (*streamOutput, error) {
	k := in.index(ctx)
	b, err := s.readBody(ctx, &in.body, cpar.MaxRequestBytes, requestTimes)
	if err != nil {
		return nil, err
	}
	q, err := decodeRequest(k.Index, b)
	if err != nil {
		return nil, err
	}
	trace.SetAnnotations(ctx, q.Params.Scheme, 1)
	return s.answer(ctx, k, []*cpar.Request{q}, encodeOne)
}

func (s *server) annotateBatch(ctx context.Context, in *bodyInput) (*streamOutput, error) {
	k := in.index(ctx)
	b, err := s.readBody(ctx, &in.body, cparhttp.MaxBatchBytes, requestTimes)
	if err != nil {
		return nil, err
	}
	items, err := wire.DecodeBatch(b, cpar.ErrCorrupt)
	if err != nil {
		return nil, err
	}
	requests := make([]*cpar.Request, len(items))
	for i, item := range items {
		if requests[i], err = decodeRequest(k.Index, item); err != nil {
			return nil, fmt.Errorf("request %d of %d: %w", i+1, len(items), err)
		}
	}
	trace.SetAnnotations(ctx, requests[0].Params.Scheme, len(requests))
	return s.answer(ctx, k, requests, encodeBatch)
}

func encodeOne(replies []batchReply) ([]byte, error) {
	return replies[0].AppendBinary(make([]byte, 0, encodedSize(replies[0].Reply)))
}

func encodeBatch(replies []batchReply) (b []byte, err error) {
	size := 4
	for _, r := range replies {
		size += 4 + encodedSize(r.Reply)
	}
	b = binary.LittleEndian.AppendUint32(make([]byte, 0, size), uint32(len(replies)))
	for _, r := range replies {
		at := len(b)
		if b, err = r.AppendBinary(append(b, 0, 0, 0, 0)); err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	return b, nil
}

func encodedSize(r *cpar.Reply) int {
	n := 44 + len(r.Opaque)
	for _, m := range r.Matches {
		n += 12 + len(m.Keywords)
	}
	return n
}

// answer answers requests and sends the encoded replies. AnnotateTimeout bounds
// the time for waiting and searching.
func (s *server) answer(ctx context.Context, k store.IndexRef, requests []*cpar.Request, encode func([]batchReply) ([]byte, error)) (*streamOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.AnnotateTimeout)
	defer cancel()
	size, err := s.annotator.ReplyBytes(ctx, k, requests)
	if err != nil {
		return nil, err
	}
	if err := s.load(ctx, k); err != nil {
		return nil, err
	}
	asked := time.Now()
	if err := s.hold(ctx, s.gate.AcquireReply, size); err != nil {
		return nil, err
	}
	replies, err := s.batches.Answer(ctx, k.Tenant, k, requests)
	if err != nil {
		return nil, err
	}
	observe(ctx, asked, replies)
	encoded := trace.Enter(ctx, trace.Encode)
	b, err := encode(replies)
	encoded()
	if err != nil {
		return nil, err
	}
	return &streamOutput{func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", cparhttp.TypeBinary)
		ctx.SetHeader("Content-Length", fmt.Sprint(len(b)))
		ctx.SetStatus(http.StatusOK)
		// A client that disconnects is not a server error.
		_, _ = ctx.BodyWriter().Write(b)
	}}, nil
}

// load loads an index in a build turn, because loading from remote storage may
// take minutes.
func (s *server) load(ctx context.Context, k store.IndexRef) error {
	return s.annotator.Load(ctx, k, func() (func(), error) {
		defer trace.Enter(ctx, trace.Queue)()
		return s.gate.AcquireBuild(ctx, k.Tenant)
	})
}

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
