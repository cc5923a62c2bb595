package cparhttp

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar/internal/bearer"
)

// A peer accepts connections, claims an address of its choice, records the
// bytes that it receives, and hangs up.
type peer struct {
	address net.Addr

	mu   sync.Mutex
	sent bytes.Buffer
}

type peerConn struct {
	net.Conn
	*peer
	written chan struct{}
	once    *sync.Once
}

func (c peerConn) RemoteAddr() net.Addr { return c.address }

func (c peerConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.once.Do(func() { close(c.written) })
	return c.sent.Write(p)
}

func (c peerConn) Read([]byte) (int, error) {
	<-c.written
	return 0, io.EOF
}

// TestTokenStaysOnLoopback lets a name server send "localhost" elsewhere.
func TestTokenStaysOnLoopback(t *testing.T) {
	token := bearer.New()
	for ip, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "192.0.2.1": false, "fe80::1": false, "0.0.0.0": false} {
		p := &peer{address: &net.TCPAddr{IP: net.ParseIP(ip), Port: 8080}}
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			conn, other := net.Pipe()
			t.Cleanup(func() { conn.Close(); other.Close() })
			return peerConn{conn, p, make(chan struct{}), new(sync.Once)}, nil
		}}
		c, err := New("http://localhost:8080", &http.Client{Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		c.retryDelay = time.Nanosecond
		if err := c.SetToken(token); err != nil {
			t.Fatal(err)
		}
		_, err = c.List(t.Context())
		if sent := p.sent.String(); strings.Contains(sent, token.Reveal()) != want {
			t.Errorf("%s received %q (%v)", ip, sent, err)
		}
		if !want && !strings.Contains(err.Error(), "not this machine") {
			t.Errorf("%s: %v", ip, err)
		}
	}
}

// TestLoopbackUsesNoProxy checks that a proxy, which may run on loopback and
// forward elsewhere, takes no request.
func TestLoopbackUsesNoProxy(t *testing.T) {
	for url, want := range map[string]bool{"http://localhost": false, "http://127.0.0.1:1": false, "https://localhost": true, "https://cloud.example": true} {
		c, err := New(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		transport, ok := c.http.Transport.(*http.Transport)
		if ok = !ok || transport.Proxy != nil; ok != want {
			t.Errorf("%s: a proxy may be used: %v, want %v", url, ok, want)
		}
	}
}
