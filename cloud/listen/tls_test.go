package listen

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

// Symbolic links may be exchanged, as by Kubernetes and certbot.
func TestCertificatesAreReloaded(t *testing.T) {
	a := newAuthority(t)
	dir := t.TempDir()
	version := func(name string, serial int64) {
		cert, key := a.issue(t, serial, "photos.example")
		write(t, filepath.Join(dir, name, "cert.pem"), cert)
		write(t, filepath.Join(dir, name, "key.pem"), key)
	}
	point := func(to string) {
		t.Helper()
		next := filepath.Join(dir, "next")
		if err := os.Symlink(to, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, "current")); err != nil {
			t.Fatal(err)
		}
	}
	version("one", 1)
	version("two", 2)
	point("one")
	var log logbook
	s := serve(t, Options{Cert: filepath.Join(dir, "current", "cert.pem"), Key: filepath.Join(dir, "current", "key.pem"), Log: log.logger()}, nil)
	if n := serialOf(t, s, a); n != 1 {
		t.Errorf("certificate %d", n)
	}
	if err := s.Reload(); err != nil || strings.Contains(log.String(), "read again") {
		t.Errorf("nothing has changed: %v; log %s", err, log.String())
	}
	point("two")
	if err := s.Reload(); err != nil || serialOf(t, s, a) != 2 {
		t.Errorf("after the exchange: certificate %d, %v", serialOf(t, s, a), err)
	}
	for name, change := range map[string]func(){
		"another's key": func() {
			version("three", 3)
			_, key := a.issue(t, 4)
			write(t, filepath.Join(dir, "three", "key.pem"), key)
		},
		"no certificate": func() { write(t, filepath.Join(dir, "three", "cert.pem"), []byte("soon")) },
		"half a file": func() {
			version("three", 3)
			b, _ := os.ReadFile(filepath.Join(dir, "three", "cert.pem"))
			write(t, filepath.Join(dir, "three", "cert.pem"), b[:len(b)/2])
		},
		"no file": func() { os.Remove(filepath.Join(dir, "three", "key.pem")) },
	} {
		change()
		point("three")
		before := s.Stats().Refused
		err := s.Reload()
		if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" || s.Stats().Refused != before+1 || serialOf(t, s, a) != 2 {
			t.Errorf("%s: %v, refused %d, certificate %d", name, err, s.Stats().Refused-before, serialOf(t, s, a))
		}
	}
	version("three", 3)
	if err := s.Reload(); err != nil || serialOf(t, s, a) != 3 {
		t.Errorf("mended: certificate %d, %v", serialOf(t, s, a), err)
	}
	if !strings.Contains(log.String(), "certificates were read again") || s.Stats().CertificateTo.IsZero() {
		t.Errorf("log %s", log.String())
	}
}

func TestClientCertificatesAreRequired(t *testing.T) {
	a, clients, strangers := newAuthority(t), newAuthority(t), newAuthority(t)
	ca := write(t, filepath.Join(t.TempDir(), "ca.pem"), clients.pem)
	s := serve(t, withTLS(t, a, Options{ClientCA: ca}), nil)
	pair := func(by *authority) tls.Certificate {
		cert, key := by.issue(t, 9, "a client")
		p, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, k := range map[string]struct {
		certs []tls.Certificate
		ok    bool
	}{"ours": {[]tls.Certificate{pair(clients)}, true}, "none": {nil, false}, "a stranger's": {[]tls.Certificate{pair(strangers)}, false}} {
		resp, err := client(a, "photos.example", k.certs...).Get(s.URL())
		if (err == nil) != k.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	h := client(a, "photos.example", pair(clients))
	h.Transport.(*http.Transport).TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	for range 2 {
		resp, err := h.Get(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.TLS.DidResume {
			t.Error("a session was resumed")
		}
	}
	write(t, ca, strangers.pem)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if resp, err := h.Get(s.URL()); err == nil {
		resp.Body.Close()
		t.Error("a certificate from a removed authority")
	}
}

func TestProtocolVersions(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, withTLS(t, a, Options{}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	h := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: a.pool(), ServerName: "localhost"}}}
	defer h.CloseIdleConnections()
	resp, err := h.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); string(b) != "HTTP/2.0" {
		t.Errorf("%s", b)
	}
	for _, v := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		if c, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: a.pool(), ServerName: "localhost", MinVersion: v, MaxVersion: v}); err == nil {
			c.Close()
			t.Errorf("TLS version %x", v)
		}
	}
}

func TestNames(t *testing.T) {
	a := newAuthority(t)
	for _, tenants := range []bool{false, true} {
		o := withTLS(t, a, Options{Address: "127.0.0.1:0", Tenants: tenants})
		if tenants {
			o.Hosts = []string{"Proxy.Example", "192.0.2.3"}
		}
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for name, want := range map[string]bool{
			"localhost": true, "127.0.0.1": true, "::1": true, "photos.example": tenants, "PHOTOS.example": tenants, "proxy.example": tenants,
			"192.0.2.3": tenants, "evil.example": false, "photos.example.evil.example": false, "": false, "192.0.2.4": false,
		} {
			if s.Host(name) != want {
				t.Errorf("tenants %v: %q is answered: %v", tenants, name, !want)
			}
		}
	}
}

func TestOpenRefusesBrokenFiles(t *testing.T) {
	a := newAuthority(t)
	good := withTLS(t, a, Options{Address: "127.0.0.1:0"})
	junk := write(t, filepath.Join(t.TempDir(), "junk"), []byte("junk"))
	for name, change := range map[string]func(*Options){
		"certificate": func(o *Options) { o.Cert = junk },
		"key":         func(o *Options) { o.Key = "absent" },
		"authorities": func(o *Options) { o.ClientCA = junk },
		"directory": func(o *Options) {
			o.Cert, o.Key, o.Tenants, o.ACME = "", "", true, ACME{Domains: []string{"photos.example"}, CA: junk}
		},
	} {
		o := good
		change(&o)
		if s, err := Open(o); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%s: %v", name, err)
			if s != nil {
				s.Close()
			}
		}
	}
}
