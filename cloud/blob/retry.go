package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"cpar/internal/parallel"
)

const (
	defaultAttempts = 8
	defaultSilence  = 30 * time.Second
	firstDelay      = 100 * time.Millisecond
)

var errSilence = errors.New("nothing was heard for too long")

// do makes a request, at most Options.Attempts times, until it succeeds or fails
// with an error other than ErrAway. Pauses double from 0.1 s to 6.4 s. If the
// previous request failed with ErrAway, do tries only once.
func (b *Bucket) do(ctx context.Context, doing, name string, request func(ctx context.Context, heard func(int)) error) error {
	err := b.attempts(ctx, func(p *patience) error {
		ctx, heard, end := p.listen(ctx)
		defer end()
		err := request(ctx, heard)
		return silenceError(ctx, err)
	})
	if err != nil {
		return fmt.Errorf("%s object %s: %w", doing, name, err)
	}
	return nil
}

func (b *Bucket) attempts(ctx context.Context, attempt func(*patience) error) error {
	p := &patience{o: b.o}
	p.heard()
	most := b.o.Attempts
	if b.away.Load() {
		most = 1
	}
	var err error
	for i := range most {
		if i > 0 {
			delay := firstDelay << (i - 1)
			if b.o.Wait > 0 && delay >= p.left() {
				break
			}
			b.counts.retries.Add(1)
			if parallel.Sleep(ctx, delay) != nil {
				break
			}
		}
		b.counts.requests.Add(1)
		err = attempt(p)
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		if !errors.Is(err, ErrAway) {
			b.away.Store(false)
			if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrExists) {
				b.counts.errors.Add(1)
			}
			return err
		}
	}
	b.counts.errors.Add(1)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.away.Store(true)
	return err
}

// A patience applies Options.Silence to each attempt and Options.Wait to all.
type patience struct {
	o     Options
	until atomic.Int64 // in Unix nanoseconds
}

func (p *patience) heard() { p.until.Store(time.Now().Add(p.o.Wait).UnixNano()) }

func (p *patience) left() time.Duration {
	if p.o.Wait == 0 {
		return p.o.Silence
	}
	return min(p.o.Silence, time.Until(time.Unix(0, p.until.Load())))
}

func (p *patience) listen(parent context.Context) (ctx context.Context, heard func(int), end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(p.left(), func() { cancel(errSilence) })
	return ctx, func(n int) {
		if n > 0 {
			p.heard()
			timer.Reset(p.left())
		}
	}, func() { timer.Stop(); cancel(nil) }
}

func silenceError(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilence) {
		return away("%w", errSilence)
	}
	return err
}

type sent struct {
	*io.SectionReader
	heard func(int)
	count *atomic.Int64
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.SectionReader.Read(p)
	s.heard(n)
	s.count.Add(int64(n))
	return n, err
}

// Override the methods of SectionReader that would bypass the count.
func (s *sent) ReadAt([]byte, int64) (int, error)  { return 0, errors.ErrUnsupported }
func (s *sent) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{s}) }

// Get opens an object and returns its size. Reading resumes after broken
// connections.
func (b *Bucket) Get(ctx context.Context, name string) (body io.ReadCloser, size int64, err error) {
	return b.GetRange(ctx, name, 0, -1)
}

// GetRange is like Get but starts at an offset. If `length` is not negative, it
// ends after `length` bytes. Result `size` is the smaller of the object's
// size and the end of the range.
func (b *Bucket) GetRange(ctx context.Context, name string, offset, length int64) (body io.ReadCloser, size int64, err error) {
	s := &stream{b: b, ctx: ctx, name: name, at: offset, size: -1}
	if length == 0 {
		return io.NopCloser(strings.NewReader("")), offset, nil
	}
	if length > 0 {
		s.to = offset + length
	}
	if err := s.open(); err != nil {
		return nil, 0, err
	}
	return s, s.size, nil
}

type stream struct {
	b        *Bucket
	ctx      context.Context
	name     string
	to       int64 // offset at which the range ends, or 0 for the end of the object
	at       int64 // offset of the next byte
	size     int64 // offset at which reading ends, or -1 until it is known
	body     io.ReadCloser
	heard    func(int)
	done     func()
	failures int
}

func (s *stream) open() error {
	err := s.b.attempts(s.ctx, func(p *patience) error {
		// Keep the context until the body is closed.
		ctx, heard, done := p.listen(s.ctx)
		body, size, err := s.b.driver.get(ctx, s.b.prefix+s.name, s.at, s.to)
		if err != nil {
			err = silenceError(ctx, err)
			done()
			return err
		}
		if s.to > 0 {
			size = min(size, s.to)
		}
		if s.size < 0 || s.size > size {
			s.size = size
		}
		heard(1)
		s.body, s.heard, s.done = body, heard, done
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading object %s: %w", s.name, err)
	}
	return nil
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		if s.at >= s.size {
			return 0, io.EOF
		}
		if s.body == nil {
			if err := s.open(); err != nil {
				return 0, err
			}
		}
		n, err := s.body.Read(p[:min(int64(len(p)), s.size-s.at)])
		s.heard(n)
		s.at += int64(n)
		s.b.counts.in.Add(int64(n))
		if n > 0 {
			s.failures = 0
			return n, nil // the next Read returns a lasting error
		}
		if err == nil {
			continue
		}
		s.closeBody()
		if s.ctx.Err() != nil {
			return 0, s.ctx.Err()
		}
		if s.failures++; s.failures >= s.b.o.Attempts {
			s.b.counts.errors.Add(1)
			return 0, fmt.Errorf("reading object %s: %w", s.name, away("the connection broke at byte %d of %d", s.at, s.size))
		}
		s.b.counts.retries.Add(1)
		if parallel.Sleep(s.ctx, firstDelay<<(s.failures-1)) != nil {
			return 0, s.ctx.Err()
		}
	}
}

func (s *stream) closeBody() {
	if s.body != nil {
		s.done() // cancel first, because Close of some clients reads the rest of the body
		s.body.Close()
		s.body = nil
	}
}

func (s *stream) Close() error {
	s.closeBody()
	s.size = s.at
	return nil
}
