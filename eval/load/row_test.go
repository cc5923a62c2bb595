package load

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/internal/bearer"
)

func cloudOf(t *testing.T, answer func(k int, w http.ResponseWriter, body string)) *daemon {
	t.Helper()
	var k atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/ask" {
			t.Errorf("%s, %v", r.URL.Path, err)
		}
		answer(int(k.Add(1))-1, w, string(b))
	}))
	t.Cleanup(s.Close)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return &daemon{address: strings.TrimPrefix(s.URL, "http://"), url: s.URL, cmd: &exec.Cmd{Process: self}}
}

// The client goes on after each kind of answer.
func TestUntilCounts(t *testing.T) {
	x := &index{route: "/ask", pool: []pooledRequest{{body: []byte("a"), answer: []byte("A")}, {body: []byte("b"), answer: []byte(strings.Repeat("B", 9000))}}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last time.Time
	d := cloudOf(t, func(k int, w http.ResponseWriter, body string) {
		switch k {
		case 2:
			last = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			if waited := time.Since(last); waited < time.Second {
				t.Errorf("came again after %v", waited)
			}
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusTooManyRequests)
		case 4:
			w.WriteHeader(http.StatusInternalServerError)
		case 5:
			io.WriteString(w, "another answer")
		case 6:
			panic(http.ErrAbortHandler)
		case 7: // half of an answer
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "A")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case 8: // in flight, does not count
			cancel()
			<-ctx.Done()
		default:
			want := x.pool[0].answer
			if body == "b" {
				want = x.pool[1].answer
			}
			w.Write(want)
		}
	})
	c := newClient(d.address, x.route, bearer.Token{})
	defer c.close()
	got := x.until(ctx, c, 0)
	if len(got.took) != 2 || got.shed != 2 || got.errors != 4 || got.first == nil || !errors.Is(got.first, cpar.ErrCloud) {
		t.Errorf("%d right, %d shed, %d errors, the first %v", len(got.took), got.shed, got.errors, got.first)
	}
}

// Clients stop on time even if the cloud does not answer.
func TestAskEndsOnTime(t *testing.T) {
	const clients = 5
	x := &index{route: "/ask", pool: []pooledRequest{{body: []byte("a"), answer: []byte("A")}}}
	together, ended := make(chan struct{}), make(chan struct{})
	var in atomic.Int64
	d := cloudOf(t, func(k int, w http.ResponseWriter, _ string) {
		if k >= 4 { // after the requests of waitIdle
			if in.Add(1) == clients {
				close(together)
			}
			<-ended
		}
		w.Write([]byte("A"))
	})
	each, err := x.ask(t.Context(), d, 300*time.Millisecond, clientGroup{bearer.Token{}, 2}, clientGroup{bearer.Token{}, clients - 2})
	<-together
	close(ended)
	for _, got := range each {
		if got.errors != 0 || got.shed != 0 || len(got.took) != 0 {
			t.Errorf("%d right, %d errors (%v)", len(got.took), got.errors, got.first)
		}
	}
	if err != nil || len(each) != 2 {
		t.Errorf("%d crowds, %v", len(each), err)
	}
}

func TestPercentile(t *testing.T) {
	took := make([]time.Duration, 200)
	for i := range took {
		took[i] = time.Duration(i+1) * time.Millisecond
	}
	for _, c := range []struct {
		n           int
		share, want float64
	}{{200, 0.5, 100}, {200, 0.99, 198}, {1, 0.99, 1}, {3, 0.5, 2}, {0, 0.5, 0}} {
		if got := percentile(took[:c.n], c.share); got != c.want {
			t.Errorf("%v of %d: %v, want %v", c.share, c.n, got, c.want)
		}
	}
}
