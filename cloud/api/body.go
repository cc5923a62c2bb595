package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/store"
)

// These constants are minimum transfer speeds, in bytes per second.
const (
	minHeld     = 16 << 10 // for a body held in memory, because other requests wait for that memory
	minStreamed = 4 << 10  // for a segment or blob, which is written to disk as it arrives
)

const (
	// wholeBody bounds the transfer time of a body held in memory.
	wholeBody   = 5 * time.Minute
	stepBytes   = 64 << 10
	streamBytes = 128 << 10
	drainBytes  = 64 << 20
)

// A body gives a handler the request body as a stream. Otherwise the framework
// huma would read it into memory.
type body struct {
	reader  io.Reader
	control func(time.Time) error
	length  int64 // -1 if unknown
	asks    bool  // the client sends the body only after "100 Continue"
	read    int64
}

func (b *body) Resolve(ctx huma.Context) []error {
	r, _ := humago.Unwrap(ctx)
	b.reader, b.control, b.length = r.Body, ctx.SetReadDeadline, r.ContentLength
	b.asks = r.ProtoAtLeast(1, 1) && len(r.Header["Expect"]) > 0
	return nil
}

var _ huma.Resolver = (*body)(nil)

// stream returns a reader that fails if the body is late by more than `stall`,
// compared to a speed of `minSpeed` bytes per second. A fast body cannot save up
// more time than `stall` for a later pause.
func (b *body) stream(stall time.Duration, minSpeed int64) *stream {
	now := time.Now()
	return &stream{body: b, stall: stall, minSpeed: minSpeed, late: now.Add(stall)}
}

type stream struct {
	*body
	stall    time.Duration
	minSpeed int64
	late     time.Time // time at which the body is too slow if no more bytes arrive
	last     time.Time // absolute deadline, unless zero
}

func (s *stream) Read(p []byte) (int, error) {
	deadline := s.late
	if !s.last.IsZero() && s.last.Before(deadline) {
		deadline = s.last
	}
	s.control(deadline)
	n, err := s.reader.Read(p)
	s.read += int64(n)
	s.late = s.late.Add(time.Duration(n) * time.Second / time.Duration(s.minSpeed))
	if most := time.Now().Add(s.stall); s.late.After(most) {
		s.late = most
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", errBodyCut, err)
	}
	return n, err
}

// readBody reads a body of at most `limit` bytes. For n bytes it acquires
// `times`·n bytes of memory until the response is sent. For a small body it
// acquires them at once. Otherwise it acquires them in steps as bytes arrive,
// because a client may announce a large body and send it slowly.
func (s *server) readBody(ctx context.Context, b *body, limit, times int64) ([]byte, error) {
	if b.length > limit {
		return nil, tooLarge(limit)
	}
	in := b.stream(s.o.StallTimeout, minHeld)
	in.last = time.Now().Add(wholeBody)
	if b.length >= 0 && b.length*times <= admission.SmallBytes {
		if err := s.hold(ctx, s.gate.AcquireBody, b.length*times); err != nil {
			return nil, err
		}
		all := make([]byte, b.length)
		_, err := io.ReadFull(in, all)
		return all, asBodyCut(err)
	}
	var steps [][]byte
	for size := int64(0); ; {
		if err := s.hold(ctx, s.gate.AcquirePart, stepBytes); err != nil {
			return nil, err
		}
		step := make([]byte, min(stepBytes, limit+1-size))
		n, err := io.ReadFull(in, step)
		steps, size = append(steps, step[:n]), size+int64(n)
		switch {
		case size > limit:
			return nil, tooLarge(limit)
		case err == nil:
		case errors.Is(err, errBodyCut) || b.length >= 0 && size < b.length:
			return nil, asBodyCut(err)
		default:
			return slices.Concat(steps...), s.hold(ctx, s.gate.AcquirePart, size*(times-1))
		}
	}
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: %w: a body of more than %d bytes", cpar.ErrInput, store.ErrTooLarge, limit)
}

func asBodyCut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", errBodyCut, io.ErrUnexpectedEOF)
	}
	return err
}

// hold acquires n bytes of memory until the response is sent.
func (s *server) hold(ctx context.Context, acquire func(context.Context, string, int64) (func(), error), n int64) error {
	release, err := acquire(ctx, tenantOf(ctx), n)
	if err == nil {
		whenSent(ctx, release)
	}
	return err
}

// drain discards the rest of a body, up to drainBytes. Otherwise a client that
// sends the whole body before it reads would see a broken connection instead of
// the response.
func (b *body) drain(stall time.Duration) {
	left := min(b.length-b.read, drainBytes)
	if b.length < 0 {
		left = drainBytes
	}
	if b.asks && b.read == 0 || left <= 0 {
		return // the client has sent the whole body, or waits for permission to send it
	}
	in := b.stream(stall, minStreamed)
	in.last = time.Now().Add(wholeBody)
	io.CopyN(io.Discard, in, left)
}
