package cparhttp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"cpar"
	"cpar/internal/bearer"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

const attempts = 3

// A Client sends requests to one untrusted server. It bounds the size of
// responses and checks them. Errors name the server. They wrap cpar.ErrCloud if
// the server is unreachable or violates the protocol. Otherwise they wrap the
// sentinel error for the code of the response (Problem).
type Client struct {
	// Patience is the longest time without progress after which a call fails.
	// New sets it to a minute.
	Patience time.Duration
	// Busy bounds the total time that a call waits when a busy server asks it
	// to retry later. New sets it to two minutes.
	Busy time.Duration
	// Silent, if not nil, is called after three seconds without progress. It is
	// called once a second with the length of the silence, and with 0 when the
	// silence ends.
	Silent func(time.Duration)

	base       *url.URL
	token      bearer.Token
	http       *http.Client
	retryDelay time.Duration

	mu sync.Mutex // guards opaque
	// opaque[id] bounds the bytes of an opaque reply (scheme "sealed") from
	// index id. The bound is computed from the manifest.
	opaque map[cpar.IndexID]int64
}

// activationPatience replaces Client.Patience for calls in which the server
// reads the whole index before it responds.
const activationPatience = 30 * time.Minute

// New returns a client for the server at baseURL, which begins with http:// or
// https://. Parameter hc may be nil. The client uses a copy of hc without
// redirects and cookies. If baseURL is http:// and a loopback host, the copy
// also uses no proxies. Errors wrap cpar.ErrInput.
func New(baseURL string, hc *http.Client) (*Client, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil:
		err = fmt.Errorf("%w: the cloud's address %q cannot be read", cpar.ErrInput, baseURL)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Hostname() == "":
		err = fmt.Errorf("%w: the cloud's address %q does not start with http:// or https:// and a host", cpar.ErrInput, baseURL)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		err = fmt.Errorf("%w: the cloud's address %q has a user, query or fragment", cpar.ErrInput, u.Redacted())
	}
	if err != nil {
		return nil, hint.Add(err, "write it like http://127.0.0.1:8080")
	}
	var own http.Client
	if hc != nil {
		own = *hc
	}
	if u.Scheme == "http" && IsLoopback(u.Hostname()) {
		if own.Transport == nil {
			own.Transport = http.DefaultTransport
		}
		if t, ok := own.Transport.(*http.Transport); ok {
			own.Transport = OnlyLoopback(t)
		}
	}
	own.Jar = nil
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{Patience: time.Minute, Busy: 2 * time.Minute, base: u, http: &own, retryDelay: 100 * time.Millisecond, opaque: map[cpar.IndexID]int64{}}, nil
}

// SetToken adds t to all requests. It returns cpar.ErrInput if the token would
// travel unencrypted to another machine. Call it before the first request.
func (c *Client) SetToken(t bearer.Token) error {
	if !t.IsZero() && c.base.Scheme != "https" && !IsLoopback(c.base.Hostname()) {
		return hint.Add(fmt.Errorf("cloud at %s: %w: a token is not sent over plain HTTP to another machine", c.base, cpar.ErrInput),
			"write the address with https://, or reach the cloud through a tunnel such as ssh -L")
	}
	c.token = t
	return nil
}

func (c *Client) URL() string { return c.base.String() }

func (c *Client) Health(ctx context.Context) (h Health, err error) {
	err = c.json(ctx, call{method: http.MethodGet, path: PathHealth}, &h)
	h.Status = sanitize.Text(c.token.Redact(h.Status))
	return h, err
}

func (c *Client) Token(ctx context.Context) (info TokenInfo, err error) {
	err = c.json(ctx, call{method: http.MethodGet, path: PathToken}, &info)
	for i, s := range info.Scopes {
		info.Scopes[i] = sanitize.Text(c.token.Redact(s))
	}
	return info, err
}

func (c *Client) Usage(ctx context.Context) (info UsageInfo, err error) {
	err = c.json(ctx, call{method: http.MethodGet, path: PathUsage}, &info)
	return info, err
}

func (c *Client) List(ctx context.Context) ([]IndexInfo, error) {
	var list IndexList
	err := c.json(ctx, call{method: http.MethodGet, path: PathIndexes}, &list)
	for i := range list.Indexes {
		x := &list.Indexes[i]
		x.Scheme = sanitize.Text(c.token.Redact(x.Scheme))
		if x.Damaged != "" {
			x.Damaged = sanitize.Text(c.token.Redact(x.Damaged))
		}
	}
	return list.Indexes, err
}

func (c *Client) Manifest(ctx context.Context, id cpar.IndexID) (*cpar.Manifest, error) {
	b, err := c.do(ctx, call{method: http.MethodGet, path: route(PathManifest, id), want: TypeBinary, limit: MaxManifestBytes})
	if err != nil {
		return nil, fmt.Errorf("fetching manifest: %w", err)
	}
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		return nil, fmt.Errorf("fetching manifest: %w", c.cloudFault(err))
	}
	if m.ID != id {
		return nil, fmt.Errorf("fetching manifest: cloud at %s: %w: it answered for index %v instead of %v", c.base, cpar.ErrCloud, m.ID, id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opaque[id] = m.OpaqueReplyBytes()
	return m, nil
}

var errTake = errors.New("passing on")

// Segment writes a segment of an index to w. The bytes in w are valid only if
// Segment returns nil, because it checks the digest last.
func (c *Client) Segment(ctx context.Context, id cpar.IndexID, s cpar.Segment, w io.Writer) error {
	k := call{method: http.MethodGet, path: route(PathSegment, id, s.Digest), want: TypeBinary}
	k.take = func(r io.Reader) error {
		h := sha256.New()
		out := &errorRecorder{w: w}
		n, err := io.Copy(io.MultiWriter(out, h), io.LimitReader(r, int64(s.Bytes)))
		switch {
		case out.err != nil:
			return fmt.Errorf("%w: %w", errTake, out.err)
		case err != nil || uint64(n) < s.Bytes:
			return fmt.Errorf("%w: %w after %d of %d bytes", cpar.ErrCloud, errTaken, n, s.Bytes)
		}
		if more, _ := io.ReadFull(r, make([]byte, 1)); more > 0 {
			return fmt.Errorf("%w: its answer is longer than %d bytes", cpar.ErrCloud, s.Bytes)
		}
		if cpar.Digest(h.Sum(nil)) != s.Digest {
			return fmt.Errorf("%w: the digest of its answer does not match", cpar.ErrCloud)
		}
		return nil
	}
	if _, err := c.do(ctx, k); err != nil {
		return fmt.Errorf("fetching segment %v %.8v…: %w", s.Kind, s.Digest, err)
	}
	return nil
}

type errorRecorder struct {
	w   io.Writer
	err error
}

func (m *errorRecorder) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.err = err
	return n, err
}

func (c *Client) Delete(ctx context.Context, id cpar.IndexID) error {
	made := 0
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route(PathIndex, id), attempts: &made})
	if made > 1 && errors.Is(err, ErrNotFound) {
		return nil // an earlier attempt deleted it, but the response was lost
	}
	if err != nil {
		return fmt.Errorf("deleting index %v: %w", id, err)
	}
	return nil
}

// Stats contains the sizes of a request and its reply in bytes.
type Stats struct {
	Sent, Received int
}

// Annotate sends a request and returns the reply. It checks that the reply
// belongs to the index, and that the reply's matches are distinct and no more
// than requested.
func (c *Client) Annotate(ctx context.Context, q *cpar.Request) (*cpar.Reply, Stats, error) {
	var stats Stats
	b, limit, err := c.encode(ctx, q)
	if err == nil {
		stats.Sent = len(b)
		b, err = c.do(ctx, call{method: http.MethodPost, path: route(PathAnnotate, q.Index), body: b, want: TypeBinary, limit: limit})
	}
	var reply *cpar.Reply
	if err == nil {
		stats.Received = len(b)
		reply, err = c.decode(q, b)
	}
	if err != nil {
		return nil, stats, fmt.Errorf("annotating: %w", err)
	}
	return reply, stats, nil
}

// encode encodes a request and returns a bound on the size of its reply. The
// size of an opaque reply depends on the index, so encode fetches the index's
// manifest if necessary.
func (c *Client) encode(ctx context.Context, q *cpar.Request) (b []byte, limit int64, err error) {
	if b, err = q.MarshalBinary(); err != nil {
		return nil, 0, err
	}
	if len(b) > cpar.MaxRequestBytes {
		return nil, 0, fmt.Errorf("%w: a request of %d bytes; the limit is %d", cpar.ErrInput, len(b), cpar.MaxRequestBytes)
	}
	c.mu.Lock()
	opaque, known := c.opaque[q.Index]
	c.mu.Unlock()
	if q.Params.Scheme.Opaque() && !known {
		m, err := c.Manifest(ctx, q.Index)
		if err != nil {
			return nil, 0, err
		}
		opaque = m.OpaqueReplyBytes()
	}
	return b, q.MaxReplyBytes(opaque), nil
}

func (c *Client) decode(q *cpar.Request, b []byte) (*cpar.Reply, error) {
	reply, err := cpar.DecodeReply(b)
	if err != nil {
		return nil, c.cloudFault(err)
	}
	if err := checkReply(q, reply); err != nil {
		return nil, fmt.Errorf("cloud at %s: %w", c.base, err)
	}
	return reply, nil
}

func checkReply(q *cpar.Request, a *cpar.Reply) error {
	switch {
	case a.Index != q.Index:
		return fmt.Errorf("%w: it replied for index %v instead of %v", cpar.ErrCloud, a.Index, q.Index)
	case (a.Opaque != nil) != q.Params.Scheme.Opaque():
		return fmt.Errorf("%w: its reply has a scheme other than %v", cpar.ErrCloud, q.Params.Scheme)
	case len(a.Matches) > int(q.Params.L):
		return fmt.Errorf("%w: it returned %d matches, %d were requested", cpar.ErrCloud, len(a.Matches), q.Params.L)
	}
	seen := make(map[uint32]bool, len(a.Matches))
	for _, m := range a.Matches {
		if seen[m.Record] {
			return fmt.Errorf("%w: it returned record %d twice", cpar.ErrCloud, m.Record)
		}
		seen[m.Record] = true
	}
	return nil
}

// cloudFault converts cpar.ErrCorrupt into cpar.ErrCloud, because the server
// sent the damaged bytes. Other errors keep their kind.
func (c *Client) cloudFault(err error) error {
	if errors.Is(err, cpar.ErrCorrupt) {
		return fmt.Errorf("cloud at %s: %w: %v", c.base, cpar.ErrCloud, err)
	}
	return fmt.Errorf("cloud at %s: %w", c.base, err)
}

func (c *Client) json(ctx context.Context, k call, into any) error {
	k.want, k.limit = TypeJSON, maxJSONBytes
	b, err := c.do(ctx, k)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return notCpard(fmt.Errorf("cloud at %s: %w: its answer is not the expected JSON: %s", c.base, cpar.ErrCloud, sanitize.Text(err.Error())))
	}
	return nil
}
