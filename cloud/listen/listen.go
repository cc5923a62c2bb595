// Package listen connects untrusted clients to the HTTP handler of a server.
//
//	address ─▶ policy on addresses (policy.go)
//	        ─▶ connection limits (accept.go)
//	        ─▶ TLS from files or ACME, reloaded on change (tls.go, acme.go)
//	        ─▶ HTTP/1.1 and HTTP/2, bounded (server.go) ─▶ handler
//
// It bounds the resources of a connection before the handler runs: 16 KiB of
// headers in ten seconds, 16 streams of HTTP/2, 64 MiB of unread HTTP/2 bodies
// over all connections, and twenty seconds to show a token.
package listen

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cparhttp"
	"cpar/internal/hint"
)

type Options struct {
	// Address is host:port. Port 0 selects a free port. A socket passed by
	// systemd takes precedence.
	Address string
	// Cert and Key are PEM files. Set both or neither.
	Cert, Key string
	// ACME configures automatic certificates instead of Cert and Key.
	ACME ACME
	// ClientCA is a PEM file. Clients must have a certificate from one of its
	// authorities.
	ClientCA string
	// InsecureHTTP allows plain HTTP from a proxy that terminates TLS.
	InsecureHTTP bool
	// Hosts lists names of this server besides those in its certificate.
	Hosts []string
	// MaxConnections bounds open connections. Further connections wait. One
	// client network (tenant.ClientNetwork) may have a quarter of them, and its
	// further connections are closed. The default is DefaultConnections, or
	// half of the file descriptors if that is less.
	MaxConnections int
	// Door limits TLS connections whose clients have shown no token. Nil means
	// no limit.
	Door *admission.Door
	// Tenants means that every request needs a token.
	Tenants bool
	// Log receives events. Nil discards them.
	Log *slog.Logger
	// ErrorLog receives messages of net/http about connections. The messages
	// contain client addresses. Nil means the standard logger of package log.
	ErrorLog *log.Logger
	// ConnState, if not nil, receives state changes of connections.
	ConnState func(net.Conn, http.ConnState)
}

type Server struct {
	o         Options
	listener  *listener
	http      *http.Server
	transport *tlsReloader // nil for plain HTTP
	done      chan struct{}
	closing   sync.Once
}

// Open listens at the address but accepts no connections before Serve.
func Open(o Options) (*Server, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.limitConnections()
	s := &Server{o: o, done: make(chan struct{})}
	if o.hasTLS() {
		t, err := newTLSReloader(o)
		if err != nil {
			return nil, err
		}
		s.transport = t
	}
	l, err := o.bind()
	if err != nil {
		return nil, err
	}
	each := max(1, o.MaxConnections/4)
	if o.InsecureHTTP { // all connections come from the proxy
		each = 0
	}
	door := o.Door
	if s.transport == nil { // plain HTTP is HTTP/1.1, with one answer at a time per connection
		door = nil
	}
	s.listener = newListener(l, o.MaxConnections, each, door, o.Log)
	s.http = s.newHTTP()
	return s, nil
}

const DefaultConnections = 1024

// limitConnections limits connections so that half of the file descriptors stay
// free for indexes.
func (o *Options) limitConnections() {
	asked := o.MaxConnections
	if asked == 0 {
		o.MaxConnections = DefaultConnections
	}
	if most := Descriptors() / 2; most > 0 && o.MaxConnections > most {
		o.MaxConnections = most
		if asked > 0 {
			o.Log.Warn("fewer connections than asked for: the system allows too few open files", "connections", most, "asked", asked)
		}
	}
}

// bind listens at the address or uses the socket of systemd, and checks the
// actual address against the policy.
func (o Options) bind() (net.Listener, error) {
	passed, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("taking the socket of systemd: %w: %w", cpar.ErrInput, err)
	}
	if len(passed) > 1 || len(passed) == 1 && passed[0] == nil {
		for _, l := range passed {
			if l != nil {
				l.Close()
			}
		}
		return nil, hint.Add(fmt.Errorf("%w: systemd passes %d sockets", cpar.ErrInput, len(passed)), "use one ListenStream in the socket unit")
	}
	if len(passed) == 1 {
		if err := o.allows(beyondLoopback(passed[0].Addr()), passed[0].Addr().String()); err != nil {
			passed[0].Close()
			return nil, err
		}
		return passed[0], nil
	}
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		advice := "pass another port, or port 0 for a free one"
		if errors.Is(err, os.ErrPermission) {
			advice = "pass a port from 1024 on, or let the program bind lower ones (AmbientCapabilities=CAP_NET_BIND_SERVICE in its unit)"
		}
		return nil, hint.Add(fmt.Errorf("listening on %s: %w: %w", o.Address, cpar.ErrInput, err), "%s", advice)
	}
	if err := o.allows(beyondLoopback(l.Addr()), o.Address); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL returns a URL for clients on this machine.
func (s *Server) URL() string {
	scheme := "http"
	if s.transport != nil {
		scheme = "https"
	}
	if a, ok := s.Addr().(*net.UnixAddr); ok {
		return scheme + "+unix://" + a.Name
	}
	return scheme + "://" + s.Addr().String()
}

// Host reports whether clients may address the server by this name. Unknown
// names are refused, because a web page can make its host name resolve to any
// address. Without tenants, only loopback names are allowed.
func (s *Server) Host(name string) bool {
	if cparhttp.IsLoopback(name) {
		return true
	}
	if !s.o.Tenants {
		return false
	}
	for _, h := range append(s.o.Hosts, s.o.ACME.Domains...) {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return s.transport != nil && s.transport.validFor(name)
}

// Reload reads the TLS files again. On error it keeps the old configuration.
func (s *Server) Reload() error {
	if s.transport == nil {
		return nil
	}
	return s.transport.reload()
}

type Stats struct {
	MaxConnections int
	AcceptErrors   int64     // such as too many open files
	Refused        int64     // reloads that found unreadable or unusable TLS files
	CertificateTo  time.Time // expiry; zero without TLS or until ACME has issued a certificate
}

func (s *Server) Stats() Stats {
	x := Stats{MaxConnections: s.o.MaxConnections, AcceptErrors: s.listener.errors.Load()}
	if s.transport != nil {
		x.Refused = s.transport.refused.Load()
		x.CertificateTo = s.transport.expiry()
	}
	return x
}

// minTLS is explicit because SECURITY.md depends on it.
const minTLS = tls.VersionTLS12
