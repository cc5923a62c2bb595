package api

import (
	"fmt"
	"io"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cpar"
	"cpar/cloud/store"
)

// A body gives a handler the request body as a stream. huma would read it whole.
type body struct {
	reader  io.Reader
	control func(time.Time) error
	length  int64 // -1 if unknown
}

// Resolve implements huma.Resolver.
func (b *body) Resolve(ctx huma.Context) []error {
	r, _ := humago.Unwrap(ctx)
	b.reader, b.control, b.length = r.Body, ctx.SetReadDeadline, r.ContentLength
	return nil
}

var _ huma.Resolver = (*body)(nil)

// stream reads the body; it may be slow but must not stall.
func (b *body) stream(silence time.Duration) io.Reader { return &stream{b, silence} }

type stream struct {
	*body
	silence time.Duration
}

func (s *stream) Read(p []byte) (int, error) {
	s.control(time.Now().Add(s.silence))
	n, err := s.reader.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", errBodyCut, err)
	}
	return n, err
}

// readAll reads a body of at most limit bytes.
func (b *body) readAll(limit int64, silence time.Duration) ([]byte, error) {
	tooLarge := fmt.Errorf("%w: %w: a body of more than %d bytes", cpar.ErrInput, store.ErrTooLarge, limit)
	if b.length > limit {
		return nil, tooLarge
	}
	all, err := io.ReadAll(io.LimitReader(b.stream(silence), limit+1))
	if err == nil && int64(len(all)) > limit {
		err = tooLarge
	}
	return all, err
}
