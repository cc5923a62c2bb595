package listen

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func hurried(s *Server) {
	s.http.ReadHeaderTimeout /= 100
	s.http.IdleTimeout /= 100
}

func closed(t *testing.T, c net.Conn) (said string, ok bool) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	b, err := io.ReadAll(c)
	return string(b), err == nil || !errors.Is(err, os.ErrDeadlineExceeded)
}

func answers(s *Server, a *authority) error {
	h := http.DefaultClient
	if a != nil {
		h = client(a, "localhost")
	}
	resp, err := h.Get(s.URL())
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestSlowAndIdleConnectionsEnd(t *testing.T) {
	a := newAuthority(t)
	for _, o := range []Options{{}, withTLS(t, a, Options{})} {
		s := serve(t, o, nil, hurried)
		secure := func(c net.Conn) net.Conn {
			if o.Cert == "" {
				return c
			}
			return tls.Client(c, &tls.Config{RootCAs: a.pool(), ServerName: "localhost"})
		}
		for name, say := range map[string]func(net.Conn){
			"nothing": func(net.Conn) {},
			"half a header, byte by byte": func(c net.Conn) {
				for _, b := range []byte("GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") {
					if _, err := secure(c).Write([]byte{b}); err != nil && o.Cert == "" {
						return
					}
					if o.Cert != "" {
						return
					}
					time.Sleep(time.Millisecond)
				}
			},
			"half a handshake": func(c net.Conn) { c.Write([]byte{22, 3, 1, 2, 0, 1}) },
			"one request": func(c net.Conn) {
				fmt.Fprint(secure(c), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
			},
		} {
			c, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			say(c)
			if said, ok := closed(t, c); !ok {
				t.Errorf("TLS %v, %s: the connection stays; it said %q", o.Cert != "", name, said)
			}
			c.Close()
		}
	}
}

func TestHugeHeaders(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, withTLS(t, a, Options{}), nil)
	for _, h2 := range []bool{false, true} {
		h := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: h2, TLSClientConfig: &tls.Config{RootCAs: a.pool(), ServerName: "localhost"}}}
		for size, want := range map[int]int{8 << 10: http.StatusOK, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
			r, _ := http.NewRequest(http.MethodGet, s.URL(), nil)
			r.Header.Set("X-Huge", strings.Repeat("x", size))
			resp, err := h.Do(r)
			switch {
			case err != nil && want == http.StatusOK:
				t.Errorf("HTTP/2 %v, %d bytes: %v", h2, size, err)
			case err == nil:
				resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("HTTP/2 %v, %d bytes: %s", h2, size, resp.Status)
				}
			}
		}
		h.CloseIdleConnections()
	}
}

func TestPlainTextToTLSEndsConnection(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, withTLS(t, a, Options{}), nil)
	for name, sent := range map[string][]byte{
		"plain HTTP":     []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"random bytes":   bytes.Repeat([]byte{0xa5, 0x17, 0x5c}, 1000),
		"a long record":  append([]byte{22, 3, 3, 0xff, 0xff}, make([]byte, 1<<16)...),
		"another's":      []byte("SSH-2.0-OpenSSH_9.9\r\n"),
		"a false length": {22, 3, 1, 0, 5, 1, 0xff, 0xff, 0xff, 0},
	} {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.Write(sent)
		said, ok := closed(t, c)
		if !ok || name == "plain HTTP" && !strings.Contains(said, "400") {
			t.Errorf("%s: ended %v, said %q", name, ok, said)
		}
		c.Close()
	}
	if err := answers(s, a); err != nil {
		t.Errorf("another client: %v", err)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	const most = 4
	s := serve(t, Options{MaxConnections: most}, nil)
	ask := func(c net.Conn, within time.Duration) bool {
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		c.SetReadDeadline(time.Now().Add(within))
		_, err := bufio.NewReader(c).ReadString('\n')
		return err == nil
	}
	var all []net.Conn
	for range 2 * most {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	for i, c := range all {
		within := time.Minute
		if i >= most { // a longer wait would only detect failures more reliably
			within = 200 * time.Millisecond
		}
		if got := ask(c, within); got != (i < most) {
			t.Errorf("connection %d of %d: answered %v", i+1, len(all), got)
		}
	}
	for _, c := range all[:most] {
		c.Close()
	}
	c := all[most] // its request is read now
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Errorf("a connection that waited: %v", err)
	}
}

type scarce struct {
	net.Listener
	fails atomic.Int32
}

func (l *scarce) Accept() (net.Conn, error) {
	if l.fails.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// Failures produce one log line.
func TestAcceptResumesAfterDescriptorsRunOut(t *testing.T) {
	var log logbook
	s := serve(t, Options{Log: log.logger()}, nil, func(s *Server) {
		l := &scarce{Listener: s.listener.Listener}
		l.fails.Store(5)
		s.listener.Listener = l
	})
	if err := answers(s, nil); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "no connection can be accepted"); n != 1 || s.Stats().AcceptErrors != 5 {
		t.Errorf("%d lines, %d errors", n, s.Stats().AcceptErrors)
	}
}

func TestDescriptorsAreLeft(t *testing.T) {
	o := Options{Log: new(logbook).logger()}
	o.limitConnections()
	if half := Descriptors() / 2; o.MaxConnections < 1 || half > 0 && o.MaxConnections > half || o.MaxConnections > DefaultConnections {
		t.Errorf("%d connections of %d descriptors", o.MaxConnections, Descriptors())
	}
	var log logbook
	o = Options{Log: log.logger(), MaxConnections: 1 << 30}
	o.limitConnections()
	if Descriptors() > 0 && (o.MaxConnections != Descriptors()/2 || !strings.Contains(log.String(), "fewer connections")) {
		t.Errorf("%d connections; log %s", o.MaxConnections, log.String())
	}
}

// net/http closes its own side first, if the connection supports that.
func TestEarlyResponseArrives(t *testing.T) {
	state := func(c net.Conn, _ http.ConnState) {
		if _, ok := c.(interface{ CloseWrite() error }); !ok {
			t.Errorf("%T cannot close its side alone", c)
		}
	}
	s := serve(t, Options{ConnState: state}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) }))
	for range 20 {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n")
		var sending sync.WaitGroup
		sending.Go(func() {
			for range 40 {
				if _, err := c.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		})
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusConflict {
			t.Fatalf("%v", err)
		}
		c.Close()
		sending.Wait()
	}
}

// CVE-2023-44487: streams are opened and reset at once.
func TestRapidReset(t *testing.T) {
	a := newAuthority(t)
	var running, most, began atomic.Int64
	release := make(chan struct{})
	defer close(release)
	s := serve(t, withTLS(t, a, Options{}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slow" {
			return
		}
		began.Add(1)
		n := running.Add(1)
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		<-release // work that does not notice the reset
		running.Add(-1)
	}))
	c, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: a.pool(), ServerName: "localhost", NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan http2.ErrCode, 1)
	go func() {
		defer close(ended)
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch g := frame.(type) {
			case *http2.GoAwayFrame:
				ended <- g.ErrCode
				return
			case *http2.SettingsFrame:
				if v, ok := g.Value(http2.SettingMaxConcurrentStreams); ok && v != streams {
					t.Errorf("%d streams at once are offered", v)
				}
				if v, ok := g.Value(http2.SettingMaxFrameSize); ok && v != frameSize {
					t.Errorf("frames of %d bytes are offered", v)
				}
			}
		}
	}()
	var head bytes.Buffer
	enc := hpack.NewEncoder(&head)
	const tries = 20_000
	sent := 0
	for ; sent < tries; sent++ {
		head.Reset()
		for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/slow"}} {
			enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
		id := uint32(2*sent + 1)
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true}) != nil ||
			f.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	select {
	case code, ok := <-ended:
		if ok && code != http2.ErrCodeEnhanceYourCalm {
			t.Errorf("the connection ended with %v", code)
		}
	case <-time.After(20 * time.Second):
		t.Errorf("after %d resets the connection goes on", sent)
	}
	if most.Load() > streams {
		t.Errorf("%d handlers at once", most.Load())
	}
	if err := answers(s, a); err != nil {
		t.Errorf("another client: %v", err)
	}
	t.Logf("%d resets sent, %d handlers began, %d at once", sent, began.Load(), most.Load())
}

func TestUnreadBodiesAreBounded(t *testing.T) {
	a := newAuthority(t)
	release := make(chan struct{})
	s := serve(t, withTLS(t, a, Options{MaxConnections: 256}), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			<-release
		}
	}))
	defer close(release)
	h := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: a.pool(), ServerName: "localhost"}}}
	defer h.CloseIdleConnections()
	var taken atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 8 {
		body := readerFunc(func(p []byte) (int, error) {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			default:
			}
			p = p[:min(len(p), 4<<10)]
			taken.Add(int64(len(p)))
			return len(p), nil
		})
		r, _ := http.NewRequestWithContext(ctx, http.MethodPut, s.URL(), body)
		r.ContentLength = 1 << 30
		go h.Do(r)
	}
	for last := int64(-1); last != taken.Load() || last == 0; time.Sleep(300 * time.Millisecond) {
		last = taken.Load()
	}
	// The transport buffers a frame or two per stream.
	if share := int64(unread / 256); taken.Load() > share+8*(64<<10) || taken.Load() < share/2 {
		t.Errorf("%d bytes were taken on one connection, whose share is %d", taken.Load(), share)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Go's own client cannot renegotiate.
func TestRenegotiationIsRefused(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("no openssl")
	}
	a := newAuthority(t)
	s := serve(t, withTLS(t, a, Options{}), nil)
	cmd := exec.Command(openssl, "s_client", "-connect", s.Addr().String(), "-tls1_2")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out logbook
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 400 {
		if strings.Contains(out.String(), "Verify return code") {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	io.WriteString(in, "R\n")
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		t.Fatalf("the connection goes on: %s", out.String())
	}
	if text := out.String(); !strings.Contains(text, "RENEGOTIATING") || !strings.Contains(text, "no renegotiation") && !strings.Contains(text, "alert") {
		t.Errorf("openssl says %s", text)
	}
}
