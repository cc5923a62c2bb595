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
	"cpar/internal/hint"
	"cpar/internal/untrusted"
)

const attempts = 3

// A Client talks to one cloud, whom it does not trust: answers are bounded and
// checked, and redirects are not followed. Its errors name the cloud and wrap
// cpar.ErrCloud where the cloud cannot be reached or breaks the protocol, and
// else the sentinel that the cloud's answer stands for.
type Client struct {
	// Patience is the longest silence that is waited through; a minute at
	// first. An answer that comes slowly but steadily is not cut.
	Patience time.Duration

	base       *url.URL
	http       *http.Client
	retryDelay time.Duration

	// records[id] is the number of records of an index, as its manifest says: what
	// bounds a sealed reply.
	mu      sync.Mutex
	records map[cpar.IndexID]uint32
}

// activation reads the whole index through at the cloud before it answers.
const activationPatience = 30 * time.Minute

// New returns a client for the cloud at baseURL, http:// or https://. hc may
// be nil. Redirects and cookies of hc are turned off, in a copy.
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
	own.Jar = nil
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{Patience: time.Minute, base: u, http: &own, retryDelay: 100 * time.Millisecond, records: map[cpar.IndexID]uint32{}}, nil
}

// URL is the cloud's address.
func (c *Client) URL() string { return c.base.String() }

// Health asks whether a cloud is there that speaks this program's version.
func (c *Client) Health(ctx context.Context) error {
	var h Health
	if err := c.json(ctx, call{method: http.MethodGet, path: PathHealth}, &h); err != nil {
		return err
	}
	switch {
	case h.Status != "ok":
		return notCpard(fmt.Errorf("cloud at %s: %w: its health is %q", c.base, cpar.ErrCloud, untrusted.Short(h.Status)))
	case h.Format != cpar.Version:
		return fmt.Errorf("cloud at %s: %w: it speaks version %d, this program version %d", c.base, cpar.ErrVersion, h.Format, cpar.Version)
	}
	return nil
}

// List asks which indexes the cloud has.
func (c *Client) List(ctx context.Context) ([]IndexInfo, error) {
	var list IndexList
	err := c.json(ctx, call{method: http.MethodGet, path: PathIndexes}, &list)
	for i := range list.Indexes {
		x := &list.Indexes[i]
		x.Scheme, x.Damaged = untrusted.Text(x.Scheme), untrusted.Text(x.Damaged)
	}
	return list.Indexes, err
}

// Manifest fetches the active manifest of an index.
func (c *Client) Manifest(ctx context.Context, id cpar.IndexID) (*cpar.Manifest, error) {
	b, err := c.do(ctx, call{method: http.MethodGet, path: route(PathManifest, id), want: TypeBinary, limit: MaxManifestBytes})
	if err != nil {
		return nil, fmt.Errorf("fetching manifest: %w", err)
	}
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		return nil, fmt.Errorf("fetching manifest: %w", c.garbled(err))
	}
	if m.ID != id {
		return nil, fmt.Errorf("fetching manifest: cloud at %s: %w: it answers for index %v instead of %v", c.base, cpar.ErrCloud, m.ID, id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records[id] = m.Records
	return m, nil
}

// errTake marks what the caller's writer, not the cloud, did wrong.
var errTake = errors.New("passing on")

// Segment fetches a segment of an index into w. What was written is good only
// when nil is returned: the digest comes last.
func (c *Client) Segment(ctx context.Context, id cpar.IndexID, s cpar.Segment, w io.Writer) error {
	k := call{method: http.MethodGet, path: route(PathSegment, id, s.Digest), want: TypeBinary}
	k.take = func(r io.Reader) error {
		h := sha256.New()
		out := &marking{w: w}
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
			return fmt.Errorf("%w: the digest of its answer does not fit", cpar.ErrCloud)
		}
		return nil
	}
	if _, err := c.do(ctx, k); err != nil {
		return fmt.Errorf("fetching segment %v %.8v…: %w", s.Kind, s.Digest, err)
	}
	return nil
}

// marking remembers the error of its own writer.
type marking struct {
	w   io.Writer
	err error
}

func (m *marking) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.err = err
	return n, err
}

// Delete removes an index from the cloud.
func (c *Client) Delete(ctx context.Context, id cpar.IndexID) error {
	made := 0
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route(PathIndex, id), attempts: &made})
	if made > 1 && errors.Is(err, ErrNotFound) {
		return nil // by the attempt whose answer was lost
	}
	if err != nil {
		return fmt.Errorf("deleting index %v: %w", id, err)
	}
	return nil
}

// Stats are what an annotation cost on the wire, in bytes of bodies.
type Stats struct {
	Sent, Received int
}

// Annotate sends a request and returns the reply, of which it has checked that
// it is for the same index and has at most as many matches as were asked for,
// no record twice. An opaque reply is checked when it is decrypted.
func (c *Client) Annotate(ctx context.Context, q *cpar.Request) (*cpar.Reply, Stats, error) {
	var stats Stats
	b, err := q.MarshalBinary()
	if err != nil {
		return nil, stats, err
	}
	if len(b) > cpar.MaxRequestBytes {
		return nil, stats, fmt.Errorf("annotating: %w: a request of %d bytes; the cloud takes %d", cpar.ErrInput, len(b), cpar.MaxRequestBytes)
	}
	limit, err := c.maxReply(ctx, q)
	if err != nil {
		return nil, stats, fmt.Errorf("annotating: %w", err)
	}
	body, err := c.do(ctx, call{method: http.MethodPost, path: route(PathAnnotate, q.Index), body: b, want: TypeBinary, limit: limit})
	if err != nil {
		return nil, stats, fmt.Errorf("annotating: %w", err)
	}
	stats = Stats{Sent: len(b), Received: len(body)}
	reply, err := cpar.DecodeReply(body)
	if err != nil {
		return nil, stats, fmt.Errorf("annotating: %w", c.garbled(err))
	}
	if err := checkReply(q, reply); err != nil {
		return nil, stats, fmt.Errorf("annotating: cloud at %s: %w", c.base, err)
	}
	return reply, stats, nil
}

// maxReply bounds the reply to a request. An opaque one grows with the records of
// the index: whoever has not fetched its manifest does so now.
func (c *Client) maxReply(ctx context.Context, q *cpar.Request) (int64, error) {
	c.mu.Lock()
	records, known := c.records[q.Index]
	c.mu.Unlock()
	if q.Params.Scheme.Opaque() && !known {
		m, err := c.Manifest(ctx, q.Index)
		if err != nil {
			return 0, err
		}
		records = m.Records
	}
	return q.Bound(records), nil
}

func checkReply(q *cpar.Request, a *cpar.Reply) error {
	switch {
	case a.Index != q.Index:
		return fmt.Errorf("%w: it replies for index %v instead of %v", cpar.ErrCloud, a.Index, q.Index)
	case (a.Opaque != nil) != q.Params.Scheme.Opaque():
		return fmt.Errorf("%w: its reply is of another scheme than %v", cpar.ErrCloud, q.Params.Scheme)
	case len(a.Matches) > int(q.Params.L):
		return fmt.Errorf("%w: it returns %d matches, %d were asked for", cpar.ErrCloud, len(a.Matches), q.Params.L)
	}
	seen := make(map[uint32]bool, len(a.Matches))
	for _, m := range a.Matches {
		if seen[m.Record] {
			return fmt.Errorf("%w: it returns record %d twice", cpar.ErrCloud, m.Record)
		}
		seen[m.Record] = true
	}
	return nil
}

// garbled makes of damaged bytes a fault of the cloud that sent them; another
// version stays what it is.
func (c *Client) garbled(err error) error {
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
		return notCpard(fmt.Errorf("cloud at %s: %w: its answer is not what was asked for: %s", c.base, cpar.ErrCloud, untrusted.Text(err.Error())))
	}
	return nil
}
