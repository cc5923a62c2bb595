package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"cpar/cloud/admission"
	"cpar/cloud/tenant"
)

// A listener limits open connections, in total and per client network, and
// counts errors. Connections beyond the total wait in the operating system.
type listener struct {
	net.Listener
	slots  chan struct{}
	each   int             // limit per client network, or 0
	door   *admission.Door // limits TLS connections without a token, or nil
	log    *slog.Logger
	errors atomic.Int64
	done   chan struct{}
	close  func() error

	mu     sync.Mutex
	held   map[netip.Prefix]int // connections by client network
	warned time.Time            // time of the last log line about errors
}

func newListener(l net.Listener, most, each int, door *admission.Door, log *slog.Logger) *listener {
	x := &listener{Listener: l, slots: make(chan struct{}, most), each: each, door: door, log: log, done: make(chan struct{}), held: map[netip.Prefix]int{}}
	x.close = sync.OnceValue(func() error { close(x.done); return l.Close() })
	return x
}

func (l *listener) Close() error { return l.close() }

// A conn is a connection that counts towards the limits until it is closed.
type conn struct {
	net.Conn
	visitor *admission.Visitor
	end     func()
}

func (c *conn) Close() error {
	defer c.end()
	c.visitor.Leave()
	return c.Conn.Close()
}

// CloseWrite closes only the sending direction. A client can then read a
// response that was sent before the whole request had arrived.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Accept returns the next connection. It closes connections that exceed the
// limit of their network, because otherwise one client could occupy all slots.
// It returns errors to net/http, which retries after temporary errors such as
// too many open files.
func (l *listener) Accept() (net.Conn, error) {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			l.failed(err)
			return nil, err
		}
		if x := l.admit(c); x != nil {
			return x, nil
		}
		c.Close()
		<-l.slots
	}
}

// admit returns the connection, or nil if the limits refuse it.
func (l *listener) admit(c net.Conn) net.Conn {
	from := tenant.ClientNetwork(c.RemoteAddr().String())
	if !l.enter(from) {
		return nil
	}
	x := &conn{Conn: c, end: sync.OnceFunc(func() { l.leave(from); <-l.slots })}
	if l.door == nil {
		return x
	}
	if x.visitor = l.door.Enter(from, func() { c.Close() }); x.visitor == nil {
		l.leave(from)
		return nil
	}
	return x
}

func (l *listener) enter(from netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Do not limit loopback addresses, because they may belong to a proxy.
	if l.each > 0 && !from.Addr().IsLoopback() && l.held[from] >= l.each {
		return false
	}
	l.held[from]++
	return true
}

func (l *listener) leave(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[from]--; l.held[from] == 0 {
		delete(l.held, from)
	}
}

// failed counts an error of Accept. It logs at most one error a minute, so that
// failing connections cannot fill the log.
func (l *listener) failed(err error) {
	l.errors.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := err.(interface{ Temporary() bool }); ok && t.Temporary() && time.Since(l.warned) > time.Minute {
		l.warned = time.Now()
		l.log.Warn("no connection can be accepted", "error", err)
	}
}

// withVisitor adds the visitor of a connection to the context of its requests.
func withVisitor(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if c, ok := c.(*conn); ok && c.visitor != nil {
		ctx = c.visitor.NewContext(ctx)
	}
	return ctx
}
