// Package listen stands between strangers and the HTTP handler of a cloud.
//
//	address ─▶ who may be reached (policy.go)
//	        ─▶ at most N connections (accept.go)
//	        ─▶ TLS from files or ACME, read anew when they change (tls.go, acme.go)
//	        ─▶ HTTP/1.1 and HTTP/2, bounded (server.go) ─▶ handler
//
// It bounds what one connection can hold before a handler has seen it: 16 KiB of headers in ten
// seconds, 64 streams of HTTP/2, and 64 MiB of unread bodies of HTTP/2 over all connections.
package listen

import (
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
	"cpar/cloud/api"
	"cpar/internal/hint"
)

// Options says where and how to listen.
type Options struct {
	// Address is host:port; port 0 picks a free one. A socket that systemd passes goes before it.
	Address string
	// Cert and Key are PEM files; both or neither.
	Cert, Key string
	// ACME is where certificates come from instead.
	ACME ACME
	// ClientCA is a PEM file: a client must have a certificate of one of these authorities.
	ClientCA string
	// InsecureHTTP allows plain HTTP beyond loopback, for a proxy that ends TLS.
	InsecureHTTP bool
	// Hosts are names that clients may call this cloud by, besides those of its certificate.
	Hosts []string
	// MaxConnections is the number of connections at once; further ones wait to be accepted.
	// One neighbourhood, as cloud/tenant has it, may have a quarter; further ones are closed.
	// 0 is DefaultConnections, or as many as half of the descriptors allow.
	MaxConnections int
	// Tenants says that nobody is answered without a token.
	Tenants bool
	// Log receives events; nil discards them. ErrorLog is for what net/http says of connections,
	// which names clients.
	Log      *slog.Logger
	ErrorLog *log.Logger
	// ConnState is told of every connection; may be nil.
	ConnState func(net.Conn, http.ConnState)
}

// A Server listens, and serves once it has a handler.
type Server struct {
	o         Options
	listener  *countingListener
	http      *http.Server
	transport *tlsReloader // nil: plain HTTP
	done      chan struct{}
	closing   sync.Once
}

// Open listens. Nothing is accepted before Serve.
func Open(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
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
	if o.InsecureHTTP { // all come from the proxy
		each = 0
	}
	s.listener = newCountingListener(l, o.MaxConnections, each, o.Log)
	s.http = s.newHTTP()
	return s, nil
}

// DefaultConnections is the number of connections at once where nobody says another.
const DefaultConnections = 1024

// limitConnections leaves half of the descriptors to indexes: a cloud that strangers keep from
// opening files is as good as down.
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

// bind listens at the address or takes systemd's socket, and holds what it got to the policy:
// localhost is loopback only by convention, and a socket is the unit's choice.
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
		return nil, hint.Add(fmt.Errorf("%w: systemd passes %d sockets", cpar.ErrInput, len(passed)), "one ListenStream in the socket unit")
	}
	if len(passed) == 1 {
		if err := o.allows(beyond(passed[0].Addr()), passed[0].Addr().String()); err != nil {
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
	if err := o.allows(beyond(l.Addr()), o.Address); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL is what a client on this machine may call it by.
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

// Host reports whether a client may call the cloud by a name. A page in somebody's browser can
// make its own name resolve to any address, so an unknown name is refused; and without tenants
// only names of this machine are known.
func (s *Server) Host(name string) bool {
	if api.IsLoopback(name) {
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
	return s.transport != nil && s.transport.names(name)
}

// Reload reads the files of TLS again. What is broken is told of, and what was read last stays.
func (s *Server) Reload() error {
	if s.transport == nil {
		return nil
	}
	return s.transport.reload()
}

// Stats are counted from the start.
type Stats struct {
	MaxConnections int
	AcceptErrors   int64     // such as no descriptors
	Refused        int64     // certificates and authorities that were not taken, or could not be read
	CertificateTo  time.Time // the end of the certificate; zero without TLS or before ACME has one
}

// Stats returns them.
func (s *Server) Stats() Stats {
	x := Stats{MaxConnections: s.o.MaxConnections, AcceptErrors: s.listener.errors.Load()}
	if s.transport != nil {
		x.Refused = s.transport.refused.Load()
		x.CertificateTo = s.transport.end()
	}
	return x
}

// minTLS is also Go's default for servers. It is named since what SECURITY.md says depends on it.
const minTLS = tls.VersionTLS12
