package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"cpar"
	"cpar/cloud/api"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/testing/indexsample"
)

// A fake answers with L matches, or calls do.
type fake struct {
	do func(ctx context.Context, id cpar.IndexID, q *cpar.Request) (*cpar.Reply, error)
}

func (f *fake) one(ctx context.Context, k store.IndexRef, q *cpar.Request) (*cpar.Reply, error) {
	if f.do != nil {
		return f.do(ctx, k.Index, q)
	}
	a := &cpar.Reply{Index: k.Index, Visited: 7, Touched: 99}
	for i := range q.Params.L {
		a.Matches = append(a.Matches, cpar.Match{Record: uint32(i), Score: int64(i), Keywords: make([]byte, 16)})
	}
	return a, nil
}

func (f *fake) Annotate(ctx context.Context, k store.IndexRef, requests []*cpar.Request) (replies []*cpar.Reply, err error) {
	for i, q := range requests {
		r, err := f.one(ctx, k, q)
		if err != nil && len(requests) == 1 {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("request %d of %d: %w", i+1, len(requests), err)
		}
		replies = append(replies, r)
	}
	return replies, nil
}

func (f *fake) Load(context.Context, store.IndexRef, func() (func(), error)) error { return nil }

func (f *fake) ReplyBytes(context.Context, store.IndexRef, []*cpar.Request) (int64, error) {
	return 1000, nil
}

func load(*cpar.Manifest, shard.Range, [][]byte) (bool, error) { return true, nil }

type cloud struct {
	url     string
	handler http.Handler
	data    string
	store   *store.Store[bool]
	fake    *fake
	log     *lockedBuffer
	*cparhttp.Client
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func start(t testing.TB, o api.Options) *cloud {
	t.Helper()
	return startIn(t, t.TempDir(), load, o)
}

func startIn(t testing.TB, data string, load store.Loader[bool], o api.Options) *cloud {
	t.Helper()
	return startWith(t, data, load, o, store.Options{})
}

func startWith(t testing.TB, data string, load store.Loader[bool], o api.Options, so store.Options) *cloud {
	t.Helper()
	c := &cloud{data: data, fake: new(fake), log: new(lockedBuffer)}
	o.Log = slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	so.Log = o.Log
	s, err := store.Open(data, load, so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c.store = s
	h, err := api.New(s, c.fake, o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c.url, c.handler = srv.URL, h
	if c.Client, err = cparhttp.New(srv.URL, nil); err != nil {
		t.Fatal(err)
	}
	c.Client.Busy = 0
	return c
}

func build(t testing.TB, id, seed uint64) (folder string, m *cpar.Manifest) {
	t.Helper()
	folder = t.TempDir()
	m, err := indexsample.Build(folder, id, seed)
	if err != nil {
		t.Fatal(err)
	}
	return folder, m
}

func request(id cpar.IndexID, l uint16) *cpar.Request {
	p := cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 100}
	p.L = l
	return &cpar.Request{Index: id, Params: p, Vector: []uint64{1, 2, 3}, Order: []cpar.OrderCiphertext{4}}
}

func do(t *testing.T, method, url string, body io.Reader, header ...string) (*http.Response, cparhttp.Problem, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var p cparhttp.Problem
	if resp.StatusCode >= 400 && method != http.MethodHead {
		if ct := resp.Header.Get("Content-Type"); ct != cparhttp.TypeProblem {
			t.Errorf("%s %s: status %d as %q: %s", method, url, resp.StatusCode, ct, b)
		}
		if err := json.Unmarshal(b, &p); err != nil {
			t.Errorf("%s %s: %v in %q", method, url, err, b)
		}
		if p.Status != resp.StatusCode || p.Title == "" || p.Detail == "" || p.Type != cparhttp.ProblemType(p.Code) || p.Instance != "urn:uuid:"+resp.Header.Get("X-Request-Id") {
			t.Errorf("%s %s: problem %+v with status %d", method, url, p, resp.StatusCode)
		}
	}
	checkDescribed(t, method, req.URL.EscapedPath(), resp.StatusCode, p.Code)
	return resp, p, b
}
