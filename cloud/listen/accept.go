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

// A countingListener limits open connections and counts errors. The system
// queues further connections.
type countingListener struct {
	net.Listener
	inner  *perNetworkListener
	log    *slog.Logger
	errors atomic.Int64

	mu   sync.Mutex // serializes Accept
	told time.Time
}

// newCountingListener accepts at most most connections, and each per client
// network, unless each is 0.
func newCountingListener(l net.Listener, most, each int, log *slog.Logger) *countingListener {
	inner := &perNetworkListener{Listener: l, each: each, held: map[netip.Prefix]int{}}
	return &countingListener{Listener: netutil.LimitListener(inner, most), inner: inner, log: log}
}

// A perNetworkListener keeps the connection accepted last, because
// LimitListener hides its CloseWrite. net/http uses CloseWrite so that a client
// can read a response sent before the whole request arrived.
type perNetworkListener struct {
	net.Listener
	last net.Conn
	each int

	mu   sync.Mutex
	held map[netip.Prefix]int // connections by client network
}

// Accept closes connections beyond the share of their network. Otherwise one
// client without a token could occupy all connections.
func (l *perNetworkListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if l.last = c; err != nil {
			return nil, err
		}
		from := tenant.ClientNetwork(c.RemoteAddr().String())
		if l.each == 0 || from.Addr().IsLoopback() { // a loopback address may be a proxy's
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

// A perNetworkConn counts against the limit of its network until it is closed.
type perNetworkConn struct {
	net.Conn
	end func()
}

func (c *perNetworkConn) Close() error {
	defer c.end()
	return c.Conn.Close()
}

// Accept returns errors to net/http, which retries temporary ones such as too
// many open files.
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

type tcp struct {
	*net.TCPConn
	limited net.Conn
}

func (c *tcp) Close() error { return c.limited.Close() }

// tell logs at most once a minute, so that failing connections cannot fill the
// log. The caller holds mu.
func (l *countingListener) tell(err error) {
	if now := time.Now(); now.Sub(l.told) > time.Minute {
		l.told = now
		l.log.Warn("no connection can be accepted", "error", err)
	}
}
