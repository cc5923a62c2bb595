package cparhttp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// IsLoopback reports whether `host`, without a port, is localhost or a loopback
// address.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// OnlyLoopback returns a copy of t that connects only to this machine, so that
// requests need no encryption. It uses no proxy. It rejects other addresses
// even if "localhost" resolves to them.
func OnlyLoopback(t *http.Transport) *http.Transport {
	t = t.Clone()
	t.Proxy = nil
	dial := t.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		to := conn.RemoteAddr()
		if a, ok := to.(*net.TCPAddr); ok && !a.IP.IsLoopback() || to.Network() == "udp" {
			conn.Close() // before a byte is sent
			return nil, fmt.Errorf("%s leads to %v, which is not this machine", address, to)
		}
		return conn, nil
	}
	return t
}
