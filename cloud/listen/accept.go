package listen

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
)

// counted accepts at most so many connections at once and counts errors. The system keeps
// further ones waiting.
type counted struct {
	net.Listener // limited
	inner        *remembering
	log          *slog.Logger
	errors       atomic.Int64

	mu   sync.Mutex // of Accept
	told time.Time
}

func newCounted(l net.Listener, most int, log *slog.Logger) *counted {
	inner := &remembering{Listener: l}
	return &counted{Listener: netutil.LimitListener(inner, most), inner: inner, log: log}
}

// remembering keeps the connection that was accepted last. LimitListener wraps it, which hides
// CloseWrite: by that, net/http lets a client read an answer that came before all was sent.
type remembering struct {
	net.Listener
	last net.Conn
}

func (l *remembering) Accept() (c net.Conn, err error) {
	c, err = l.Listener.Accept()
	l.last = c
	return c, err
}

// Accept hands errors on: net/http waits and tries again if one may pass, as that of too many
// open files does.
func (l *counted) Accept() (net.Conn, error) {
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
func (l *counted) tell(err error) {
	if now := time.Now(); now.Sub(l.told) > time.Minute {
		l.told = now
		l.log.Warn("no connection can be accepted", "error", err)
	}
}
