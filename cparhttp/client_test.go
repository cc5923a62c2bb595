package cparhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/testing/indexsample"
)

func client(t testing.TB, h http.Handler) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.retryDelay = time.Millisecond
	return c
}

func request(l uint16) *cpar.Request {
	p := cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 100}
	p.L = l
	return &cpar.Request{Index: cpar.IndexID{1}, Params: p, Vector: []uint64{1}}
}

func reply(n int) *cpar.Reply {
	a := &cpar.Reply{Index: cpar.IndexID{1}}
	for i := range n {
		a.Matches = append(a.Matches, cpar.Match{Record: uint32(i), Score: int64(i), Keywords: []byte("0123456789")})
	}
	return a
}

func encoded(t testing.TB, v interface{ MarshalBinary() ([]byte, error) }) []byte {
	t.Helper()
	b, err := v.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func answers(kind string, b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		w.Write(b)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:80", "ftp://x", "http://", "http://:80", "https://user:secret@x", "http://x/?q=1", "http://x/?", "http://x/#f", "http://a b", "file:///etc", "http:x"} {
		_, err := New(bad, nil)
		if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is shown: %v", err)
		}
	}
	for _, good := range []string{"http://127.0.0.1:8080", "https://cloud.example/below/", "http://[::1]:1"} {
		if _, err := New(good, nil); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

func TestBasePathIsKept(t *testing.T) {
	var path string
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		answers(TypeJSON, []byte(`{"indexes":[]}`))(w, r)
	}))
	c, err := New(c.URL()+"/below/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(t.Context()); err != nil || path != "/below/v1/indexes" {
		t.Errorf("%q: %v", path, err)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c, _ := New("http://"+l.Addr().String(), nil)
	c.retryDelay = time.Millisecond
	for what, err := range map[string]error{
		"list":     func() error { _, err := c.List(t.Context()); return err }(),
		"annotate": func() error { _, _, err := c.Annotate(t.Context(), request(1)); return err }(),
		"delete":   c.Delete(t.Context(), cpar.IndexID{}),
	} {
		if !errors.Is(err, cpar.ErrCloud) || hint.Of(err) != "is cpard running at "+c.URL()+"?" {
			t.Errorf("%s: %v (hint %q)", what, err, hint.Of(err))
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Bool
	there := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer there.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := client(t, http.RedirectHandler(there.URL+"/v1/health", status))
		if _, err := c.List(t.Context()); !errors.Is(err, cpar.ErrCloud) || !strings.Contains(err.Error(), "redirects") {
			t.Errorf("%d: %v", status, err)
		}
	}
	if reached.Load() {
		t.Error("a redirect was followed")
	}
}

func TestRetries(t *testing.T) {
	var calls atomic.Int32
	failing := func(times int32, then http.Handler) http.HandlerFunc {
		calls.Store(0)
		return func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) <= times {
				io.CopyN(io.Discard, r.Body, 10)
				panic(http.ErrAbortHandler)
			}
			then.ServeHTTP(w, r)
		}
	}
	good := answers(TypeBinary, encoded(t, reply(2)))
	if _, _, err := client(t, failing(2, good)).Annotate(t.Context(), request(2)); err != nil {
		t.Errorf("two broken connections: %v", err)
	}
	if _, _, err := client(t, failing(1000, good)).Annotate(t.Context(), request(2)); !errors.Is(err, cpar.ErrCloud) || calls.Load() != attempts {
		t.Errorf("all broken: %d attempts, %v", calls.Load(), err)
	}
	if _, err := client(t, failing(0, http.NotFoundHandler())).List(t.Context()); err == nil || calls.Load() != 1 {
		t.Errorf("an answered request was repeated: %d attempts, %v", calls.Load(), err)
	}
	if err := client(t, failing(1, http.HandlerFunc(notFound))).Delete(t.Context(), cpar.IndexID{}); err != nil {
		t.Errorf("deleting twice: %v", err)
	}
	if err := client(t, failing(0, http.HandlerFunc(notFound))).Delete(t.Context(), cpar.IndexID{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleting nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := client(t, failing(1000, good))
	c.retryDelay = time.Hour
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := c.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled between attempts: %v", err)
	}
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", TypeProblem)
	w.WriteHeader(404)
	io.WriteString(w, `{"title":"t","status":404,"code":"not_found","detail":"d"}`)
}

func TestSlowClouds(t *testing.T) {
	gone := make(chan struct{})
	defer close(gone)
	dead := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-gone:
		}
	}))
	dead.Patience = 30 * time.Millisecond
	if _, err := dead.List(t.Context()); !errors.Is(err, cpar.ErrCloud) || !strings.Contains(err.Error(), "nothing was heard") {
		t.Errorf("silence: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	dead.Patience = time.Hour
	if _, err := dead.List(ctx); !errors.Is(err, cpar.ErrCloud) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("out of time: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := dead.List(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, cpar.ErrCloud) {
		t.Errorf("cancelled: %v", err)
	}
	b := encoded(t, reply(2))
	steady := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", TypeBinary)
		for i := range b {
			w.Write(b[i : i+1])
			http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	steady.Patience = 300 * time.Millisecond
	if _, _, err := steady.Annotate(t.Context(), request(2)); err != nil {
		t.Errorf("steady: %v", err)
	}
}

func TestProgressOfRetries(t *testing.T) {
	folder := t.TempDir()
	if _, err := indexsample.Build(folder, 1, 1); err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			m, _ := cpar.DecodeManifest(b)
			answers(TypeJSON, fmt.Appendf(nil, `{"missing":[%q]}`, m.Segments[0].Digest))(w, r)
		} else if !broken.Swap(true) {
			panic(http.ErrAbortHandler)
		}
	}))
	var done, total, most int64
	if _, err := c.Push(t.Context(), folder, func(d, n int64) { done, total, most = d, n, max(most, d) }); err != nil {
		t.Fatal(err)
	}
	if done != total || most != total || !broken.Load() {
		t.Errorf("progress ended at %d of %d, at most %d", done, total, most)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, cpar.ErrStorage }

func TestSegment(t *testing.T) {
	m := indexsample.Manifest(1)
	kinds, segments := indexsample.Segments(m, 1)
	b := segments[0]
	s := cpar.Segment{Kind: kinds[0], Bytes: uint64(len(b))}
	folder := t.TempDir()
	built, err := indexsample.Build(folder, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.Digest = built.Segments[0].Digest
	for what, k := range map[string]struct {
		body []byte
		want error
	}{
		"good": {b, nil}, "cut": {b[:9], cpar.ErrCloud}, "more": {append(bytes.Clone(b), 1), cpar.ErrCloud}, "other": {make([]byte, len(b)), cpar.ErrCloud},
	} {
		var out bytes.Buffer
		err := client(t, answers(TypeBinary, k.body)).Segment(t.Context(), m.ID, s, &out)
		if !errors.Is(err, k.want) || out.Len() > len(b) {
			t.Errorf("%s: %v, %d bytes written", what, err, out.Len())
		}
	}
	err = client(t, answers(TypeBinary, b)).Segment(t.Context(), m.ID, s, failingWriter{})
	if !errors.Is(err, cpar.ErrStorage) || errors.Is(err, cpar.ErrCloud) {
		t.Errorf("the caller's disk is full: %v", err)
	}
}

// A transport may read on after the response.
func TestUploadIsWithdrawn(t *testing.T) {
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(507)
	}))
	rt := &keeping{}
	c.http.Transport = rt
	_, err := c.do(t.Context(), call{method: "PUT", path: "/x", body: make([]byte, 4<<20)})
	if err == nil {
		t.Fatal("an answer of 507 passed")
	}
	if n, err := rt.body.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
		t.Errorf("the body can still be read: %d, %v", n, err)
	}
}

type keeping struct{ body io.ReadCloser }

func (k *keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	k.body = r.Body
	return http.DefaultTransport.RoundTrip(r)
}

func TestPushToGarbage(t *testing.T) {
	folder := t.TempDir()
	if _, err := indexsample.Build(folder, 1, 1); err != nil {
		t.Fatal(err)
	}
	for what, k := range map[string]struct {
		h    http.HandlerFunc
		want error
	}{
		"html":      {answers("text/html", []byte("<html>")), cpar.ErrCloud},
		"not JSON":  {answers(TypeJSON, []byte("<html>")), cpar.ErrCloud},
		"full disk": {full, cpar.ErrStorage},
		"forgetful": {forgetful, cpar.ErrInput},
	} {
		if _, err := client(t, k.h).Push(t.Context(), folder, nil); !errors.Is(err, k.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := client(t, http.NotFoundHandler()).Push(t.Context(), t.TempDir(), nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no index to push: %v", err)
	}
}

func full(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		b, _ := io.ReadAll(r.Body)
		m, err := cpar.DecodeManifest(b)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", TypeJSON)
		fmt.Fprintf(w, `{"missing":[%q]}`, m.Segments[0].Digest)
		return
	}
	w.Header().Set("Content-Type", TypeProblem)
	w.WriteHeader(507)
	io.WriteString(w, `{"title":"t","status":507,"code":"storage","detail":"d"}`)
}

func forgetful(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		w.Header().Set("Content-Type", TypeJSON)
		io.WriteString(w, `{"missing":[]}`)
		return
	}
	w.Header().Set("Content-Type", TypeProblem)
	w.WriteHeader(409)
	io.WriteString(w, `{"title":"t","status":409,"code":"incomplete","detail":"d"}`)
}
