package api_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
)

func (c *cloud) raw(t *testing.T, format string, args ...any) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(conn, format, args...)
	return conn, bufio.NewReader(conn)
}

// A pipes is a listener for connections in memory.
type pipes struct {
	dialled chan net.Conn
	close   func()
}

func (p pipes) Accept() (net.Conn, error) {
	if c := <-p.dialled; c != nil {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error { p.close(); return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// addressed adds addresses to errors, as TCP does.
type addressed struct{ net.Conn }

func (a addressed) Read(p []byte) (int, error) {
	n, err := a.Conn.Read(p)
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		e.Source = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	}
	return n, err
}

// controlled calls f with a function that connects to the cloud. Time passes
// only while every goroutine waits, however busy the machine is.
func (c *cloud) controlled(t *testing.T, f func(t *testing.T, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		p := pipes{dialled: make(chan net.Conn)}
		p.close = sync.OnceFunc(func() { close(p.dialled) })
		srv := &http.Server{Handler: c.handler}
		go srv.Serve(p)
		defer srv.Close()
		f(t, func() net.Conn {
			here, there := net.Pipe()
			p.dialled <- addressed{there}
			t.Cleanup(func() { here.Close() })
			here.SetReadDeadline(time.Now().Add(time.Hour))
			return here
		})
	})
}

func annotateHead(id cpar.IndexID, more string) string {
	return fmt.Sprintf("POST /v1/indexes/%v/annotate-batch HTTP/1.1\r\nHost: localhost\r\n%s\r\n", id, more)
}

func eventually(t *testing.T, g *admission.Gate, what string) {
	t.Helper()
	for range 1000 {
		if s := g.Stats(); s.Bodies.Used == 0 && s.Replies.Used == 0 && s.Turns.Used == 0 && s.Bodies.Waiting == 0 && s.Turns.Waiting == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s: %+v", what, g.Stats())
}

// Clients whose bodies are refused learn when to retry, and aborted bodies
// release memory at once.
func TestMemoryIsAcquiredBeforeBodies(t *testing.T) {
	// Memory for eight bodies of a megabyte that have all but arrived.
	gate := admission.New(admission.Limits{Memory: 12 << 20, Wait: 100 * time.Millisecond})
	c := start(t, api.Options{Gate: gate, StallTimeout: time.Minute})
	head := annotateHead(cpar.IndexID{1}, "Content-Length: 1048576\r\n")
	var held []net.Conn
	for range 8 {
		conn, _ := c.raw(t, "%s%s", head, make([]byte, 1<<20-1))
		held = append(held, conn)
	}
	for gate.Stats().Bodies.Used < 8<<20 {
		time.Sleep(time.Millisecond)
	}
	_, r := c.raw(t, "%s%s", head, make([]byte, 1<<20-1))
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the ninth: %+v, %v", resp, err)
	}
	for _, conn := range held {
		conn.Close()
	}
	eventually(t, gate, "broken off")
	_, m := build(t, 1, 1)
	if _, _, err := c.Annotate(t.Context(), request(m.ID, 1)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	eventually(t, gate, "answered")
}

func TestSlowBodiesAreClosed(t *testing.T) {
	gate := admission.New(admission.Limits{})
	c := start(t, api.Options{Gate: gate})
	for _, k := range []struct {
		path, length string
		before       int
	}{
		{"annotate", "Content-Length: 100000", 0},
		{"annotate", "Transfer-Encoding: chunked", 0},
		// An early lead does not last forever.
		{"annotate", "Content-Length: 1000000", 500_000},
		{"segments/" + strings.Repeat("0", 64), "Content-Length: 100000000", 500_000},
	} {
		method := "POST"
		if strings.HasPrefix(k.path, "segments") {
			method = "PUT"
		}
		c.controlled(t, func(t *testing.T, dial func() net.Conn) {
			conn := dial()
			cut := make(chan struct{})
			go func() {
				defer close(cut)
				fmt.Fprintf(conn, "%s /v1/indexes/%v/%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", method, cpar.IndexID{1}, k.path, k.length)
				conn.Write(make([]byte, k.before))
				for {
					// Single bytes, often enough not to count as a stall.
					if _, err := conn.Write([]byte("1\r\n1\r\n")[:1+5*(strings.Count(k.length, "chunked"))]); err != nil {
						return
					}
					time.Sleep(2 * time.Second)
				}
			}()
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != 400 {
				t.Errorf("%s with %s: %+v, %v", k.path, k.length, resp, err)
			}
			<-cut
		})
	}
	eventually(t, gate, "cut")
}

func TestSlowReadersGetTheirReply(t *testing.T) {
	gate := admission.New(admission.Limits{})
	c := start(t, api.Options{Gate: gate, StallTimeout: 500 * time.Millisecond})
	const size, steps = 32 << 20, 100
	c.fake.do = func(_ context.Context, id cpar.IndexID, _ *cpar.Request) (*cpar.Reply, error) {
		return &cpar.Reply{Index: id, Matches: []cpar.Match{{Keywords: make([]byte, size)}}}, nil
	}
	id := cpar.IndexID{1}
	b, err := (&cpar.Request{Index: id, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 1, Approx: 1}, Vector: []uint64{1}}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	conn, r := c.raw(t, "POST /v1/indexes/%v/annotate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", id, len(b), b)
	conn.(*net.TCPConn).SetReadBuffer(64 << 10)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%+v, %v", resp, err)
	}
	got := int64(0)
	for err == nil && got < resp.ContentLength {
		time.Sleep(15 * time.Millisecond)
		var n int64
		n, err = io.CopyN(io.Discard, resp.Body, size/steps)
		got += n
	}
	if got != resp.ContentLength {
		t.Errorf("%d bytes of %d, %v", got, resp.ContentLength, err)
	}
	eventually(t, gate, "read")
}

// The segment is large, so that no buffer on the way holds it.
func TestRepeatedUploadGetsResponse(t *testing.T) {
	client, _, m := served(t, cpar.SchemeCAPIA, 400, 4000)
	var segment bytes.Buffer
	if err := client.Segment(t.Context(), m.ID, m.Segments[0], &segment); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/v1/indexes/%v/segments/%v", m.ID, m.Segments[0].Digest)
	c := &cloud{url: client.URL()}
	head := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", path, segment.Len())
	// A client that reads after it has sent all, and keeps its connection.
	conn, r := c.raw(t, "%s\r\n", head)
	for range 2 {
		if _, err := conn.Write(segment.Bytes()); err != nil {
			t.Fatalf("sending: %v", err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != 204 || resp.Close {
			t.Fatalf("%+v, %v", resp, err)
		}
		fmt.Fprintf(conn, "%s\r\n", head)
	}
	// A client that waits for 100 Continue, like curl.
	_, r = c.raw(t, "%sExpect: 100-continue\r\n\r\n", head)
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 204 {
		t.Errorf("expecting 100-continue: %+v, %v", resp, err)
	}
	for range 10 {
		req, _ := http.NewRequest("PUT", client.URL()+path, bytes.NewReader(segment.Bytes()))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
}

func TestFullQueueReturnsRetryAfter(t *testing.T) {
	gate := admission.New(admission.Limits{Turns: 1, Queue: 3, Wait: time.Minute})
	c := start(t, api.Options{Gate: gate})
	_, m := build(t, 1, 1)
	hold, err := gate.QueueTurn("", admission.Light, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error)
	for range 3 {
		go func() {
			_, _, err := c.Annotate(t.Context(), request(m.ID, 1))
			answered <- err
		}()
	}
	for gate.Stats().Turns.Waiting < 3 {
		time.Sleep(time.Millisecond)
	}
	b, _ := request(m.ID, 1).MarshalBinary()
	resp, p, _ := do(t, "POST", c.url+"/v1/indexes/"+m.ID.String()+"/annotate", bytes.NewReader(b))
	if resp.StatusCode != 503 || p.Code != cparhttp.CodeBusy || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("the fourth: %d %+v, Retry-After %q", resp.StatusCode, p, resp.Header.Get("Retry-After"))
	}
	hold.Done()
	for range 3 {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	eventually(t, gate, "answered")
}

func TestChecksDoNotDelayAnnotations(t *testing.T) {
	gate := admission.New(admission.Limits{Turns: 1, Wait: time.Minute})
	c := start(t, api.Options{Gate: gate})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	check, err := gate.AcquireCheck(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	calls := []func() error{
		func() error { _, err := c.Missing(t.Context(), m); return err },
		func() error { _, err := c.List(t.Context()); return err },
		func() error {
			resp, err := http.Head(fmt.Sprintf("%s/v1/indexes/%v/segments/%v", c.url, m.ID, m.Segments[0].Digest))
			if err == nil {
				resp.Body.Close()
			}
			return err
		},
	}
	for i := range 16 {
		go func() { done <- calls[i%len(calls)]() }()
	}
	for gate.Stats().Checks.Waiting < 16 {
		time.Sleep(time.Millisecond)
	}
	if _, _, err := c.Annotate(t.Context(), request(m.ID, 1)); err != nil {
		t.Errorf("annotating meanwhile: %v", err)
	}
	build, err := gate.AcquireBuild(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, err := c.Push(t.Context(), folder, nil); done <- err }()
	check()
	for range 16 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for gate.Stats().Builds.Waiting < 1 {
		time.Sleep(time.Millisecond)
	}
	if _, _, err := c.Annotate(t.Context(), request(m.ID, 1)); err != nil {
		t.Errorf("annotating while an index is made ready: %v", err)
	}
	build()
	if err := <-done; err != nil {
		t.Error(err)
	}
	eventually(t, gate, "done")
}

// A client that sends everything before it reads gets the answer even if the
// upload is refused.
func TestRefusedUploadGetsResponse(t *testing.T) {
	c := startWith(t, t.TempDir(), load, api.Options{}, store.Options{Quota: func(string) int64 { return 1000 }})
	segment := make([]byte, 8<<20)
	for range 5 {
		conn, r := c.raw(t, "PUT /v1/indexes/%v/segments/%x HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", cpar.IndexID{1}, sha256.Sum256(segment), len(segment))
		if _, err := conn.Write(segment); err != nil {
			t.Fatalf("sending: %v", err)
		}
		if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusInsufficientStorage {
			t.Fatalf("%+v, %v", resp, err)
		}
	}
}
