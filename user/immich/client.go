package immich

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/parallel"
	"cpar/internal/sanitize"
)

const (
	tries    = 5                // attempts at a call while the server is busy
	patience = time.Minute      // time limit of one attempt
	maxPause = 30 * time.Second // between attempts
)

type Client struct {
	base *url.URL
	http *http.Client
	// sign adds the key to a request. The key is not in a field, so that it is
	// never printed.
	sign  func(*http.Request)
	pause func(context.Context, time.Duration) error
}

// NewClient returns a client for the server at an address, which may end in
// /api. The client sends the key over plain HTTP only to loopback addresses.
func NewClient(address, key string) (*Client, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		err = fmt.Errorf("%w: Immich's address %s does not start with https:// and a host", cpar.ErrInput, sanitize.Text(address))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		err = fmt.Errorf("%w: Immich's address has a user, query or fragment", cpar.ErrInput)
	case u.Scheme == "http" && !cparhttp.IsLoopback(u.Hostname()):
		return nil, hint.Add(fmt.Errorf("%w: over http:// the API key and the photos would be readable on the way to %s", cpar.ErrInput, sanitize.Text(u.Host)),
			"use https://, or a tunnel: ssh -L 2283:127.0.0.1:2283 that-machine, and http://127.0.0.1:2283")
	case key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, hint.Add(fmt.Errorf("%w: the API key is empty or has characters other than letters, digits and signs", cpar.ErrInput),
			"pass --api-key-file, or set CPAR_IMMICH_API_KEY")
	}
	if err != nil {
		return nil, hint.Add(err, "write it like https://photos.example")
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api")
	return &Client{base: u, http: ownClient(u), sign: func(r *http.Request) { r.Header.Set("x-api-key", key) }, pause: parallel.Sleep}, nil
}

// ownClient returns a client that follows no redirects, because a redirect could send
// the key elsewhere. Requests to loopback use no proxy and no name server.
func ownClient(u *url.URL) *http.Client {
	t := http.DefaultTransport.(*http.Transport)
	if u.Scheme == "http" {
		t = cparhttp.OnlyLoopback(t)
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (c *Client) Address() string { return c.base.String() }

// errGone means that a photo or tag does not exist or that the key may not see it.
var errGone = errors.New("it does not exist")

// A fault is an error of the server. It matches cpar.ErrCloud but has its own text.
type fault struct {
	text   string
	status int // HTTP status of the response, 0 without a response
}

func (f fault) Error() string        { return f.text }
func (f fault) Is(target error) bool { return target == cpar.ErrCloud }

func (c *Client) faultf(format string, args ...any) error { return c.statusf(0, format, args...) }

func (c *Client) statusf(status int, format string, args ...any) error {
	return fault{fmt.Sprintf("Immich at %s %s", sanitize.Text(c.base.Host), fmt.Sprintf(format, args...)), status}
}

func hasStatus(err error, status ...int) bool {
	f, ok := errors.AsType[fault](err)
	return ok && slices.Contains(status, f.status)
}

// call makes a call and repeats it while the server is busy or unreachable.
// All calls are idempotent. Result `again` reports whether an earlier attempt
// may have taken effect although its response was lost.
func (c *Client) call(ctx context.Context, method, path string, in any, limit int64) (out []byte, again bool, err error) {
	var body []byte
	if in != nil {
		if body, err = json.Marshal(in); err != nil {
			return nil, false, err
		}
	}
	wait := 500 * time.Millisecond
	for try := 1; ; try++ {
		out, retry, after, err := c.once(ctx, method, path, body, limit)
		if err == nil || !retry || try == tries || ctx.Err() != nil {
			return out, again, err
		}
		again = again || !hasStatus(err, http.StatusTooManyRequests)
		if e := c.pause(ctx, min(max(wait, after), maxPause)); e != nil {
			return nil, again, e
		}
		wait *= 2
	}
}

// once makes one call. Result `again` reports whether a new attempt may help
// when the duration `after` has passed.
func (c *Client) once(ctx context.Context, method, path string, body []byte, limit int64) (out []byte, again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.base.String()+"/api"+path, bytes.NewReader(body))
	if err != nil {
		return nil, false, 0, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	c.sign(r)
	r.Header.Set("Accept", "application/json, image/*")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) {
			return nil, false, 0, cause
		}
		// The error of net/http contains the URL, which may contain a photo's id.
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, true, 0, hint.Add(c.faultf("cannot be reached: %s", sanitize.Text(err.Error())), "check that it is running and that the address is right")
	}
	defer resp.Body.Close()
	out, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, true, 0, c.faultf("broke off its answer")
	case int64(len(out)) > limit:
		return nil, false, 0, c.faultf("sent more than %d MB at once", limit>>20)
	case resp.StatusCode/100 == 2:
		return out, false, 0, nil
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	busy := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
	return nil, busy, time.Duration(min(max(seconds, 0), 3600)) * time.Second, c.refusal(resp.StatusCode, out)
}

func (c *Client) refusal(status int, body []byte) error {
	says := ""
	var v struct {
		Message any `json:"message"`
	}
	if json.Unmarshal(body, &v) == nil {
		if s, ok := v.Message.(string); ok && s != "" {
			says = ": " + sanitize.Text(s)
		}
	}
	switch {
	case status/100 == 3:
		return hint.Add(fmt.Errorf("%w: %w", cpar.ErrInput, c.faultf("redirects the request, and the key is not sent there")), "use the address that it redirects to")
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return hint.Add(fmt.Errorf("%w: %w", cpar.ErrInput, c.statusf(status, "refuses the API key%s", says)), "the key needs these permissions: %s", Permissions)
	case status == http.StatusBadRequest, status == http.StatusNotFound:
		return fmt.Errorf("%w: %w%s", cpar.ErrInput, errGone, says)
	}
	return c.statusf(status, "answers with status %d%s", status, says)
}

const Permissions = "asset.read, asset.view, tag.read, tag.create, tag.asset; and tag.delete for undo to remove empty tags at once"
