package listen

import (
	"io"
	"log/slog"
	"net"
	"testing"
)

type strangers struct {
	net.Listener
	from chan string
}

type stranger struct {
	net.Conn
	from net.Addr
}

func (s *stranger) RemoteAddr() net.Addr { return s.from }

func (l *strangers) Accept() (net.Conn, error) {
	from, ok := <-l.from
	if !ok {
		return nil, io.EOF
	}
	addr, err := net.ResolveTCPAddr("tcp", from)
	here, _ := net.Pipe()
	return &stranger{here, addr}, err
}

func TestConnectionsPerNetworkAreLimited(t *testing.T) {
	at := &strangers{from: make(chan string, 100)}
	l := newListener(at, 100, 2, nil, slog.New(slog.DiscardHandler))
	var held []net.Conn
	take := func(from ...string) {
		for _, f := range from {
			at.from <- f
		}
	}
	accept := func(want string) {
		t.Helper()
		c, err := l.Accept()
		if err != nil || c.RemoteAddr().String() != want {
			t.Fatalf("%v, %v; want one from %s", c, err, want)
		}
		held = append(held, c)
	}
	take("192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1", "[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8::3]:3",
		"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "192.0.2.1:4", "192.0.2.3:1")
	for _, want := range []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1", "[2001:db8::1]:1", "[2001:db8::2]:2",
		"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "192.0.2.3:1"} {
		accept(want)
	}
	held[0].Close()
	held[0].Close()
	take("192.0.2.1:5", "192.0.2.1:6", "192.0.2.4:1")
	accept("192.0.2.1:5")
	accept("192.0.2.4:1")
	for _, c := range held {
		c.Close()
	}
	if n := len(l.held); n != 0 {
		t.Errorf("%d networks without a connection are remembered", n)
	}
}
