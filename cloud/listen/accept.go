package listen

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"cpar/cloud/tenant"
)

// counted accepts at most so many connections at once and counts errors. The system keeps
// further ones waiting.
type countingListener struct {
	net.Listener // limited
	inner        *perNetworkListener
	log          *slog.Logger
	errors       atomic.Int64

	mu   sync.Mutex // of Accept
	told time.Time
}

// newCountingListener takes most connections, and each of one neighbourhood; 0 is no limit for those.
func newCountingListener(l net.Listener, most, each int, log *slog.Logger) *countingListener {
	inner := &perNetworkListener{Listener: l, each: each, held: map[netip.Prefix]int{}}
	return &countingListener{Listener: netutil.LimitListener(inner, most), inner: inner, log: log}
}

// remembering keeps the connection that was accepted last. LimitListener wraps it, which hides
// CloseWrite: by that, net/http lets a client read an answer that came before all was sent.
type perNetworkListener struct {
	net.Listener
	last net.Conn
	each int

	mu   sync.Mutex
	held map[netip.Prefix]int // connections by neighbourhood
}

// Accept closes what a neighbourhood has beyond its share: one stranger without a token
// could else hold every connection there is, doing nothing.
func (l *perNetworkListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if l.last = c; err != nil {
			return nil, err
		}
		from := tenant.ClientNetwork(c.RemoteAddr().String())
		if l.each == 0 || from.Addr().IsLoopback() { // on loopback a proxy may be in front
			return c, nil
		}
		l.mu.Lock()
		full := l.held[from] >= l.each
		if !full {
			l.held[from]++
		}
		l.mu.Unlock()
		if !full {
			return &perNetworkConn{Conn: c, end: sync.OnceFunc(func() { l.left(from) })}, nil
		}
		c.Close()
	}
}

func (l *perNetworkListener) left(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[from]--; l.held[from] == 0 {
		delete(l.held, from)
	}
}

// A neighbour makes room for another of its neighbourhood at its end.
type perNetworkConn struct {
	net.Conn
	end func()
}

func (c *perNetworkConn) Close() error {
	defer c.end()
	return c.Conn.Close()
}

// Accept hands errors on: net/http waits and tries again if one may pass, as that of too many
// open files does.
func (l *countingListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.Listener.Accept()
	if err != nil {
		l.errors.Add(1)
		if t, ok := err.(interface{ Temporary() bool }); ok && t.Temporary() {
			l.tell(err)
		}
		return nil, err
	}
	if plain, ok := l.inner.last.(*net.TCPConn); ok {
		return &tcp{plain, c}, nil
	}
	return c, nil
}

// A tcp is a connection that makes room for another at its end.
type tcp struct {
	*net.TCPConn
	limited net.Conn
}

func (c *tcp) Close() error { return c.limited.Close() }

// tell logs at most once a minute: who makes connections fail would else
// fill the log. The caller holds mu.
func (l *countingListener) tell(err error) {
	if now := time.Now(); now.Sub(l.told) > time.Minute {
		l.told = now
		l.log.Warn("no connection can be accepted", "error", err)
	}
}
