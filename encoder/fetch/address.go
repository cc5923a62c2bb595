package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

const maxRedirects = 10

var errForbiddenRedirect = errors.New("redirect to a forbidden address")

// CheckAddress parses the address of a file. It accepts https://, and http://
// only for this machine.
func CheckAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		err = fmt.Errorf("%w: %s is not the address of a file", cpar.ErrInput, sanitize.Text(address))
	case u.User != nil || u.Fragment != "":
		err = fmt.Errorf("%w: the address has a user, or a fragment", cpar.ErrInput)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		err = fmt.Errorf("%w: over http:// anyone on the path to %s could change the file", cpar.ErrInput, sanitize.Text(u.Host))
	default:
		return u, CheckName(u.Path)
	}
	return nil, hint.Add(err, "write it like https://example.org/models/NAME.onnx")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (t *transfer) host() string { return sanitize.Text(t.url.Host) }

// client returns a client that follows redirects only to HTTPS and, from plain
// HTTP on this machine, to plain HTTP on this machine.
func (t *transfer) client() *http.Client {
	transport := t.transport
	if transport == nil {
		transport = newTransport()
	}
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= maxRedirects:
			return faultf("%s redirects more than %d times", t.host(), maxRedirects)
		case next.URL.Scheme == "https":
			return nil
		case next.URL.Scheme == "http" && loopback(next.URL.Hostname()) && via[0].URL.Scheme == "http":
			return nil
		}
		return fmt.Errorf("%w: %s://%s: %w", cpar.ErrInput, sanitize.Text(next.URL.Scheme), sanitize.Text(next.URL.Host), errForbiddenRedirect)
	}}
}

// A byScheme sends plain HTTP requests only to this machine, whatever proxies
// and name servers say.
type byScheme struct{ https, http http.RoundTripper }

func (s byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return s.https.RoundTrip(r)
	}
	return s.http.RoundTrip(r)
}

func newTransport() http.RoundTripper {
	https := http.DefaultTransport.(*http.Transport).Clone()
	https.DisableCompression, https.DisableKeepAlives = true, true
	here := https.Clone()
	here.Proxy = nil
	here.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: loopbackOnly}).DialContext
	return byScheme{https, here}
}

// loopbackOnly permits only connections to this machine. `address` is an IP
// address, already resolved.
func loopbackOnly(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsLoopback() {
		return nil
	}
	return errors.New("the address is not on this machine")
}
