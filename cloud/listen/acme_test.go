package listen

import (
	"cpar/internal/testing/oracle"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// A pebble is an ACME directory on loopback: github.com/letsencrypt/pebble.
type pebble struct {
	directory string
	ca        string
	roots     *x509.CertPool
}

func startPebble(t *testing.T, port int) *pebble {
	t.Helper()
	program := oracle.Named(t, "CPAR_PEBBLE")
	a := newAuthority(t)
	dir := t.TempDir()
	cert, key := a.issue(t, 1, "127.0.0.1")
	listen, management := oracle.Port(t), oracle.Port(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress":           fmt.Sprintf("127.0.0.1:%d", listen),
		"managementListenAddress": fmt.Sprintf("127.0.0.1:%d", management),
		"certificate":             write(t, filepath.Join(dir, "cert.pem"), cert),
		"privateKey":              write(t, filepath.Join(dir, "key.pem"), key),
		"tlsPort":                 port,
		"httpPort":                oracle.Port(t),
		"retryAfter":              map[string]int{"authz": 1, "order": 1},
		"keyAlgorithm":            "ecdsa",
		"profiles":                map[string]any{"default": map[string]any{"description": "a test's", "validityPeriod": 7776000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-config", write(t, filepath.Join(dir, "pebble.json"), config), "-dnsserver", loopbackDNS(t))
	// By default pebble waits up to fifteen seconds before validation.
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	var out logbook
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("pebble: %s", out.String())
		}
	})
	p := &pebble{fmt.Sprintf("https://127.0.0.1:%d/dir", listen), write(t, filepath.Join(dir, "ca.pem"), a.pem), x509.NewCertPool()}
	root := fmt.Sprintf("https://127.0.0.1:%d/roots/0", management)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		resp, err := client(a, "127.0.0.1").Get(root)
		if err == nil {
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !p.roots.AppendCertsFromPEM(b) {
				t.Fatalf("pebble's root: %s, %v", b, err)
			}
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("pebble does not start: %v; %s", err, out.String())
		}
	}
}

// loopbackDNS resolves every name to this machine. Pebble uses TCP, where a
// two-byte length precedes each message.
func loopbackDNS(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerDNS(c)
		}
	}()
	return l.Addr().String()
}

func answerDNS(c net.Conn) {
	defer c.Close()
	for {
		var n uint16
		if binary.Read(c, binary.BigEndian, &n) != nil {
			return
		}
		b := make([]byte, n)
		var m dnsmessage.Message
		if _, err := io.ReadFull(c, b); err != nil || m.Unpack(b) != nil || len(m.Questions) != 1 {
			return
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
		out, err := m.AppendPack(make([]byte, 2))
		if err != nil {
			return
		}
		binary.BigEndian.PutUint16(out, uint16(len(out)-2))
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// The directory validates the name by connecting here.
func TestACME(t *testing.T) {
	port := oracle.Port(t)
	p := startPebble(t, port)
	cache := filepath.Join(t.TempDir(), "data", "acme")
	clients := newAuthority(t)
	var log logbook
	o := Options{
		Address: fmt.Sprintf("127.0.0.1:%d", port), Tenants: true, Log: log.logger(),
		ACME: ACME{Domains: []string{"Photos.example", "www.photos.example"}, Directory: p.directory, CA: p.ca, Email: "me@photos.example", Cache: cache},
		// The directory has no client certificate and must still get through.
		ClientCA: write(t, filepath.Join(t.TempDir(), "ca.pem"), clients.pem),
	}
	cert, key := clients.issue(t, 3, "a client")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	const stranger = "evil.example"
	// get retries, because the first certificate takes some seconds.
	get := func(s *Server, name string, certs ...tls.Certificate) (err error) {
		h := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: p.roots, ServerName: name, Certificates: certs}}}
		for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			var resp *http.Response
			if resp, err = h.Get(s.URL()); err == nil {
				resp.Body.Close()
				return nil
			}
			// TLS reports this while there is no certificate yet, and for
			// unknown names.
			if !strings.Contains(err.Error(), "internal error") || name == stranger {
				return err
			}
		}
		return err
	}
	s := serve(t, o, nil)
	for _, name := range []string{"photos.example", "www.photos.example"} {
		if err := get(s, name, pair); err != nil {
			t.Fatalf("%s: %v; log %s", name, err, log.String())
		}
		if !s.Host(name) {
			t.Errorf("%s is not answered", name)
		}
	}
	if err := get(s, "photos.example"); err == nil {
		t.Error("a client without a certificate was accepted")
	}
	if err := get(s, stranger, pair); err == nil {
		t.Error("an unknown name got a certificate")
	}
	if end := s.Stats().CertificateTo; time.Until(end) < 24*time.Hour {
		t.Errorf("the certificate ends %v", end)
	}
	for path, want := range map[string]os.FileMode{cache: 0o700 | os.ModeDir, filepath.Join(cache, "photos.example"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	s.Close()
	if all, err := o.Certificates(); err != nil || len(all) != 2 || all[0].VerifyHostname("photos.example") != nil {
		t.Errorf("the cache has %d certificates, %v", len(all), err)
	}

	o.ACME.Directory = fmt.Sprintf("https://127.0.0.1:%d/dir", oracle.Port(t))
	again := serve(t, o, nil)
	if err := get(again, "photos.example", pair); err != nil {
		t.Errorf("from the cache: %v; log %s", err, log.String())
	}
	if err := get(again, "", pair); err != nil && !strings.Contains(err.Error(), "IP SANs") {
		t.Errorf("a client that connects by address gets no certificate: %v", err)
	}
}

func TestHandshakesRequestNoCertificate(t *testing.T) {
	asked := make(chan struct{}, 100)
	directory := serve(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	i, err := newIssuer(ACME{Domains: []string{"photos.example"}, Directory: directory.URL(), Cache: t.TempDir()}, new(logbook).logger())
	if err != nil {
		t.Fatal(err)
	}
	close(i.first)
	for _, name := range []string{"photos.example", "", "evil.example", "PHOTOS.EXAMPLE."} {
		hello := modernHello(name)
		if _, err := i.certificate(hello); err == nil {
			t.Errorf("%q: a certificate", name)
		}
		hello.SupportedProtos = []string{"acme-tls/1"}
		if _, err := i.challengeCertificate(hello); err == nil {
			t.Errorf("%q: a proof", name)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the directory was asked %d times", len(asked))
	}
}
