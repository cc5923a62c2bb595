package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/api"
	"cpar/cloud/trace"
	"cpar/cparhttp"
)

type records struct {
	mu    sync.Mutex
	begun int
	ended []*trace.Request
}

func (o *records) Begin() { o.mu.Lock(); defer o.mu.Unlock(); o.begun++ }
func (o *records) End(r *trace.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = append(o.ended, r)
}

// wait returns the records after n requests have ended. A response arrives
// before the end.
func (o *records) wait(t *testing.T, n int) []*trace.Request {
	t.Helper()
	for range 5000 {
		o.mu.Lock()
		ended := o.ended
		o.mu.Unlock()
		if len(ended) >= n {
			return ended
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d requests have ended, not %d", len(o.ended), n)
	return nil
}

func TestObserver(t *testing.T) {
	seen := new(records)
	c := start(t, api.Options{Observe: seen})
	_, m := build(t, 1, 1)
	if _, _, err := c.Annotate(t.Context(), request(m.ID, 3)); err != nil {
		t.Fatal(err)
	}
	resp, p, body := do(t, "FROBNICATE", c.url+"/nowhere", strings.NewReader("twelve bytes"), "X-Request-Id", "of-the-client")
	ended := seen.wait(t, 2)
	sent, _ := request(m.ID, 3).MarshalBinary()
	annotated, lost := ended[0], ended[1]
	if o := annotated.Outcome(); o.Scheme != cpar.SchemeCPAR || o.Annotations != 1 || annotated.Route != cparhttp.PathAnnotate ||
		annotated.Method != "POST" || annotated.Status != 200 || o.Code != "" || annotated.Received != int64(len(sent)) || annotated.Sent == 0 || annotated.Took <= 0 {
		t.Errorf("annotation: %+v", annotated)
	}
	var stages []string
	annotated.Times(func(s trace.Stage, _ trace.Time) { stages = append(stages, s.String()) })
	if fmt.Sprint(stages) != "[body queue encode send]" {
		t.Errorf("stages %v", stages)
	}
	if lost.Route != "/" || lost.Method != "-" || lost.Status != 404 || lost.Outcome().Code != "not_found" || lost.Sent != int64(len(body)) {
		t.Errorf("the other record: %+v", lost)
	}
	// The client learns the id but cannot choose it.
	if id := resp.Header.Get("X-Request-Id"); id != lost.ID || p.Instance != "urn:uuid:"+id || id == annotated.ID ||
		!regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("id %q, instance %q, record %q", id, p.Instance, lost.ID)
	}
	if seen.begun != 2 {
		t.Errorf("%d began", seen.begun)
	}
	c.fake.do = func(context.Context, cpar.IndexID, *cpar.Request) (*cpar.Reply, error) { panic("x") }
	c.Annotate(t.Context(), request(m.ID, 3))
	if r := seen.wait(t, 3)[2]; !r.Panicked || r.Status != 500 || r.Outcome().Code != "internal" {
		t.Errorf("panic: %+v", r)
	}
}

func TestLogHasClosedListOfAttributes(t *testing.T) {
	for _, clients := range []bool{false, true} {
		c := start(t, api.Options{LogClients: clients})
		_, m := build(t, 1, 1)
		if _, _, err := c.Annotate(t.Context(), request(m.ID, 3)); err != nil {
			t.Fatal(err)
		}
		do(t, "GET", c.url+"/v1/indexes/x/manifest", nil)
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/indexes/%v/annotate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf", m.ID)
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
		for wait := 0; strings.Count(c.log.String(), "msg=request") < 3 && wait < 5000; wait++ {
			time.Sleep(time.Millisecond)
		}
		log := c.log.String()
		for line := range strings.Lines(log) {
			for _, pair := range strings.Fields(line) {
				name, _, _ := strings.Cut(pair, "=")
				if !strings.Contains(" time level msg request method route index status code scheme requests received sent took body queue encode send client ", " "+name+" ") {
					t.Errorf("the log has %q", pair)
				}
			}
		}
		if got := strings.Contains(log, "127.0.0.1"); got != clients {
			t.Errorf("log with clients %v:\n%s", clients, log)
		}
		if strings.Count(log, "msg=request") != 3 || !strings.Contains(log, "scheme=cpar requests=1") {
			t.Errorf("log:\n%s", log)
		}
	}
}

func TestProblemTypesLeadToExplanations(t *testing.T) {
	c := start(t, api.Options{})
	for _, k := range cparhttp.Codes {
		resp, _, b := do(t, "GET", c.url+cparhttp.ProblemType(k.Code), nil)
		if resp.StatusCode != 200 || !bytes.Contains(b, []byte(k.Advice)) || k.Title == "" {
			t.Errorf("%s: %d %s", k.Code, resp.StatusCode, b)
		}
	}
	_, p, _ := do(t, "GET", c.url+"/problems/nonesuch", nil)
	if p.Type != "/problems/not_found" || p.Title != "There is no such index, segment or route" {
		t.Errorf("%+v", p)
	}
}

type later struct{ error }

func (l later) Unwrap() error           { return l.error }
func (later) RetryAfter() time.Duration { return 2500 * time.Millisecond }

func TestRetryAfter(t *testing.T) {
	c := start(t, api.Options{})
	_, m := build(t, 1, 1)
	b, _ := request(m.ID, 1).MarshalBinary()
	for _, k := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("searching: %w", context.DeadlineExceeded), "1"},
		{later{context.DeadlineExceeded}, "3"},
		{errors.New("bug"), ""},
		{cpar.ErrInput, ""},
	} {
		c.fake.do = func(context.Context, cpar.IndexID, *cpar.Request) (*cpar.Reply, error) { return nil, k.err }
		resp, _, _ := do(t, "POST", c.url+"/v1/indexes/"+m.ID.String()+"/annotate", bytes.NewReader(b))
		if got := resp.Header.Get("Retry-After"); got != k.want {
			t.Errorf("%v: Retry-After %q, want %q", k.err, got, k.want)
		}
	}
}

func TestUnknownPathsAndMethodsAreRefused(t *testing.T) {
	c := start(t, api.Options{})
	id := strings.Repeat("0", 32)
	for _, line := range []string{
		"GET //", "GET //v1/health", "GET /v1//health", "GET /v1/./health", "GET /v1/../v1/health", "GET /v1/indexes/../health",
		"GET /v1/health/", "GET /v1/indexes/" + id + "/../" + id + "/manifest", "GET /v1/indexes/%2e%2e/manifest",
		"GET /v1/indexes/..%2f" + id + "/manifest", "GET /v1/indexes/" + id + "%00/manifest", "GET /v1/indexes/" + id + "%0a/manifest",
		"GET /v1%2fhealth", "GET /V1/health", "GET /v1/indexes/" + id + "/segments/../manifest", "GET /v1/health;x",
		"POST /v1/health", "PATCH /v1/indexes", "CONNECT /v1/health", "CONNECT localhost:80", "TRACE /v1/health", "get /v1/health",
		"GET http://photos.example/v1/health", "GET http://localhost//v1/health", "PUT /v1/indexes", "DELETE /v1/indexes/",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", line)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		b, _ := io.ReadAll(resp.Body)
		conn.Close()
		if resp.StatusCode < 400 || resp.StatusCode >= 500 || resp.Header.Get("Content-Type") != cparhttp.TypeProblem {
			t.Errorf("%s: %s %q: %s", line, resp.Status, resp.Header.Get("Content-Type"), b)
		}
	}
}

// Load balancers probe by address.
func TestProbesWorkByAddress(t *testing.T) {
	down := false
	c := start(t, api.Options{Ready: func(context.Context) bool { return !down }})
	for path, want := range map[string]int{cparhttp.PathHealthz: 200, cparhttp.PathReadyz: 200, cparhttp.PathHealth: 403} {
		if resp, _, b := do(t, "GET", c.url+path, nil, "Host", "192.0.2.7:443"); resp.StatusCode != want {
			t.Errorf("%s: %s %s", path, resp.Status, b)
		}
	}
	down = true
	if resp, p, _ := do(t, "GET", c.url+cparhttp.PathReadyz, nil); resp.StatusCode != 503 || p.Code != cparhttp.CodeUnready {
		t.Errorf("down: %s %+v", resp.Status, p)
	}
	if resp, _, _ := do(t, "GET", c.url+cparhttp.PathHealthz, nil); resp.StatusCode != 200 {
		t.Errorf("down, and alive: %s", resp.Status)
	}
}
