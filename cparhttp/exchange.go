package cparhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/parallel"
	"cpar/internal/sanitize"
)

// A call is a request to the server. It is repeated if the connection fails.
// This is safe, because uploads, activation and deletion are idempotent, and the
// server learns nothing from a repeated annotation request.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
	sent         func(n int) // called as n bytes of body are sent; n < 0 takes bytes back
	want         string      // content type of a successful response, or ""
	limit        int64       // maximum size of the response
	patience     time.Duration
	attempts     *int
	// answered, if set, receives the header of a successful response.
	answered func(http.Header)
	// take, if set, reads a successful response as a stream.
	take func(r io.Reader) error
}

var (
	errSilence = errors.New("nothing was heard for too long")
	// errTaken means that the caller has already received part of the response,
	// so the call cannot be repeated.
	errTaken = errors.New("the connection broke half way")
)

// do makes the call and returns the body of the response. It retries, within
// limits, after failed connections and when a busy server asks for a retry.
func (c *Client) do(ctx context.Context, k call) ([]byte, error) {
	waited := time.Duration(0)
	for failed, asked := 0, 1; ; asked++ {
		if k.attempts != nil {
			*k.attempts++
		}
		body, again, err := c.attempt(ctx, k)
		var wait time.Duration
		later := (*later)(nil)
		switch {
		case err == nil:
			return body, nil
		case ctx.Err() != nil:
			return nil, c.explain(ctx, err)
		case errors.As(err, &later):
			if wait = later.after; waited+wait > c.Busy {
				if asked > 1 {
					err = fmt.Errorf("%w, to %d requests within %v", err, asked, waited.Round(time.Second))
				}
				return nil, c.explain(ctx, err)
			}
			waited += wait
		case again && failed < attempts-1:
			wait = c.retryDelay << failed
			failed++
		default:
			return nil, c.explain(ctx, err)
		}
		if parallel.Sleep(ctx, wait) != nil {
			return nil, c.explain(ctx, err)
		}
	}
}

type later struct {
	error
	after time.Duration
}

func (l *later) Unwrap() error { return l.error }

// attempt makes the call once. Result `again` reports that the connection
// failed, so that a retry may help.
func (c *Client) attempt(parent context.Context, k call) (body []byte, again bool, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	patience := c.Patience
	if k.patience > 0 {
		patience = k.patience
	}
	giveUp := time.AfterFunc(patience, func() { cancel(errSilence) })
	defer giveUp.Stop()
	silence, stop := c.listen(parent)
	defer stop()
	heard := func() {
		giveUp.Reset(patience)
		silence.heard()
	}

	req, err := http.NewRequestWithContext(ctx, k.method, c.base.JoinPath(k.path).String(), nil)
	if err != nil {
		return nil, false, err
	}
	req.URL.RawQuery = k.query.Encode()
	maps.Copy(req.Header, k.header)
	// Forbid compression, because a transport could unpack a small response
	// into a large one.
	req.Header.Set("Accept-Encoding", "identity")
	if k.want != "" {
		req.Header.Set("Accept", k.want+", "+TypeProblem)
	}
	if !c.token.IsZero() {
		c.token.SetHeader(req.Header)
	}
	up := &upload{data: k.body, moved: func(n int) {
		heard()
		if k.sent != nil {
			k.sent(n)
		}
	}}
	// Stop the upload, because a transport may read the body even after the
	// response, when the caller may have unmapped it.
	defer func() {
		if sent := up.stop(); err != nil && k.sent != nil {
			k.sent(-sent)
		}
	}()
	if len(k.body) > 0 {
		req.Body, req.ContentLength = up, int64(len(k.body))
		req.Header.Set("Content-Type", TypeBinary)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // explain adds the address
		}
		return nil, context.Cause(ctx) == nil, cause(ctx, err)
	}
	defer resp.Body.Close()
	silence.heard()
	in := &heardReader{resp.Body, heard}
	// A malicious server may echo the token, which must not be printed.
	for _, name := range []string{"Location", "Content-Type"} {
		resp.Header.Set(name, c.token.Redact(resp.Header.Get(name)))
	}
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(in, maxProblemBytes))
		return nil, false, statusError(resp, text, c.token)
	}
	if k.want != "" && contentType(resp) != k.want {
		return nil, false, notCpard(fmt.Errorf("%w: it answered with %q instead of %s", cpar.ErrCloud, sanitize.Short(resp.Header.Get("Content-Type")), k.want))
	}
	if k.answered != nil {
		k.answered(resp.Header)
	}
	if k.take != nil {
		err := k.take(in)
		if err != nil && context.Cause(ctx) != nil {
			err = cause(ctx, err)
		}
		return nil, false, err
	}
	body, err = io.ReadAll(io.LimitReader(in, k.limit+1))
	switch {
	case err != nil:
		return nil, context.Cause(ctx) == nil, cause(ctx, err)
	case int64(len(body)) > k.limit:
		return nil, false, fmt.Errorf("%w: its answer is longer than %d bytes", cpar.ErrCloud, k.limit)
	}
	return body, false, nil
}

func cause(ctx context.Context, err error) error {
	if context.Cause(ctx) == errSilence {
		return errSilence
	}
	return err
}

func (c *Client) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("cloud at %s: %w", c.base, context.Canceled)
	}
	for _, kind := range []error{cpar.ErrCloud, cpar.ErrInput, cpar.ErrCorrupt, cpar.ErrVersion, cpar.ErrStorage, errTake} {
		if errors.Is(err, kind) {
			return fmt.Errorf("cloud at %s: %w", c.base, err)
		}
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return hint.Add(fmt.Errorf("cloud at %s: %w: it cannot be reached: %w", c.base, cpar.ErrCloud, op.Err), "is cpard running at %s?", c.base)
	}
	if bad := (*tls.CertificateVerificationError)(nil); errors.As(err, &bad) {
		return hint.Add(fmt.Errorf("cloud at %s: %w: %w", c.base, cpar.ErrCloud, err), "is the certificate self-signed? name its file with --cloud-ca; otherwise somebody may be posing as the cloud")
	}
	// crypto/tls does not export the type of an alert.
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" && strings.Contains(op.Err.Error(), "certificate") {
		return hint.Add(fmt.Errorf("cloud at %s: %w: %w", c.base, cpar.ErrCloud, err), "does the cloud want a client certificate? name one with --cloud-cert and --cloud-cert-key")
	}
	broken := fmt.Errorf("cloud at %s: %w: %w", c.base, cpar.ErrCloud, err)
	if c.base.Scheme == "https" {
		// In TLS 1.3, the alert about a missing client certificate arrives after
		// the handshake, so a write may report only a closed connection.
		return hint.Add(broken, "is cpard running at %s? if it wants a client certificate, name one with --cloud-cert and --cloud-cert-key", c.base)
	}
	return hint.Add(broken, "is cpard running at %s?", c.base)
}

type heardReader struct {
	io.Reader
	heard func()
}

func (h *heardReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.heard()
	}
	return n, err
}

type upload struct {
	mu      sync.Mutex
	data    []byte
	sent    int
	stopped bool
	moved   func(n int)
}

func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.stopped:
		return 0, net.ErrClosed
	case u.sent == len(u.data):
		return 0, io.EOF
	}
	n := copy(p, u.data[u.sent:])
	u.sent += n
	u.moved(n)
	return n, nil
}

func (u *upload) Close() error { return nil }

func (u *upload) stop() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
	return u.sent
}
