package daemon_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/daemon"
	"cpar/cloud/listen"
	"cpar/cloud/telemetry"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/bearer"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
)

type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *lines) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func (l *lines) wait(t *testing.T, text string) string {
	t.Helper()
	for range 10000 {
		if _, rest, ok := strings.Cut(l.String(), text); ok {
			return strings.FieldsFunc(rest+" ", func(r rune) bool { return r <= ' ' })[0]
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("the log does not say %q:\n%s", text, l)
	return ""
}

func certified(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return cert, key, pool
}

type withToken struct {
	http.RoundTripper
	token bearer.Token
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	w.token.SetHeader(r.Header)
	return w.RoundTripper.RoundTrip(r)
}

func scan(t *testing.T, folder string) *cpar.Manifest {
	t.Helper()
	m := &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: indexsample.Manifest(1).ID, Records: 5, Dim: 7, KeywordBytes: 16}
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := indexsample.Write(w, m, 1); err != nil {
		t.Fatal(err)
	}
	return m
}

// Client data are tokens, addresses, tenants' names and bodies.
func TestLogAndMetricsContainNoClientData(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	const name = "photographer-of-weddings"
	issued, err := (&tenant.Editor{Data: data}).Add(t.Context(), name, "laptop-of-ann", tenant.Annotate|tenant.Push|tenant.Delete, tenant.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cert, key, pool := certified(t)
	log := new(lines)
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{Data: data, Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url },
			Network: listen.Options{Cert: cert, Key: key}, Watch: telemetry.Options{Listen: "127.0.0.1:0", Profile: true},
			Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	}()
	var url string
	select {
	case url = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	operator := "http://" + log.wait(t, "msg=metrics address=")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	c, err := cparhttp.New(url, &http.Client{Transport: withToken{transport, issued.Token}})
	if err != nil {
		t.Fatal(err)
	}

	folder := t.TempDir()
	m := scan(t, folder)
	if _, err := c.Push(ctx, folder, nil); err != nil {
		t.Fatal(err)
	}
	const marker = 0x5ec2e75ec2e75ec2
	q := &cpar.Request{Index: m.ID, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 3, Approx: 1000}, Vector: []uint64{marker, 2, 3, 4, 5, 6, marker}}
	if _, _, err := c.Annotate(ctx, q); err != nil {
		t.Fatal(err)
	}

	guess := bearer.New()
	send := func(method, path, token string, body io.Reader) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Request-Id", "id-of-the-client")
		r.Header.Set("User-Agent", "program-of-the-client")
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	index, text := "/v1/indexes/"+m.ID.String(), "text-of-the-client"
	send("GET", "/v1/indexes", guess.Reveal(), nil)
	send("GET", "/v1/indexes", text, nil)
	send("GET", "/v1/indexes?token="+guess.Reveal(), issued.Token.Reveal(), nil)
	send("GET", "/"+text, issued.Token.Reveal(), nil)
	send("GET", "/v1/indexes/"+text+"/manifest", issued.Token.Reveal(), nil)
	send(strings.ToUpper(strings.ReplaceAll(text, "-", "")), index, issued.Token.Reveal(), nil)
	for _, path := range []string{"/annotate", "/annotate-batch", "/missing"} {
		send("POST", index+path, issued.Token.Reveal(), strings.NewReader(text))
		encoded, _ := q.MarshalBinary()
		send("POST", index+path, issued.Token.Reveal(), bytes.NewReader(encoded[:len(encoded)-1]))
	}
	send("PUT", index+"/manifest", issued.Token.Reveal(), strings.NewReader("CPARM"+text))
	send("PUT", index+"/segments/"+strings.Repeat("ab", 32), issued.Token.Reveal(), strings.NewReader(text))
	// net/http logs failed handshakes with the address.
	for _, hello := range []string{"GET /" + text + " HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05hello"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, hello)
		io.Copy(io.Discard, conn)
		conn.Close()
	}
	log.wait(t, "TLS handshake error")
	r, w := io.Pipe()
	go func() { io.WriteString(w, text); w.CloseWithError(io.ErrUnexpectedEOF) }()
	req, _ := http.NewRequestWithContext(ctx, "POST", url+index+"/annotate", r)
	issued.Token.SetHeader(req.Header)
	if resp, err := transport.RoundTrip(req); err == nil {
		resp.Body.Close()
	}

	resp, err := http.Get(operator + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	id := issued.Tenant.ID
	if !strings.Contains(string(metrics), `cpar_annotations_total{scheme="capia"} 1`) || !strings.Contains(string(metrics), `cpar_tenant_requests_total{tenant="`+id+`"}`) {
		t.Errorf("metrics:\n%s", metrics)
	}
	logged := log.String()
	if !strings.Contains(logged, "scheme=capia requests=1") || !strings.Contains(logged, "tenant="+id) || strings.Count(logged, "msg=request") < 20 {
		t.Errorf("log:\n%s", logged)
	}
	logged = regexp.MustCompile(`(?m)^.*msg=(serving|metrics) .*$`).ReplaceAllString(logged, "")
	encoded, _ := q.MarshalBinary()
	for what, secret := range map[string]string{
		"token": issued.Token.Reveal(), "guessed token": guess.Reveal(), "part of a token": issued.Token.Reveal()[10:30],
		"digest of a token": issued.Token.Digest().String(), "address": "127.0.0.1", "text": text, "name": name, "label": "laptop-of-ann",
		"header": "of-the-client", "body in hexadecimal": hex.EncodeToString(encoded[40:60]), "body in base64": base64.StdEncoding.EncodeToString(encoded[40:60]),
		"word in decimal": fmt.Sprint(uint64(marker)), "word in hexadecimal": "5ec2e75e", "data folder": data,
	} {
		for where, b := range map[string]string{"log": logged, "metrics": string(metrics)} {
			if strings.Contains(strings.ToLower(b), strings.ToLower(secret)) {
				t.Errorf("%s is in the %s:\n%s", what, where, b)
			}
		}
	}
	if strings.Contains(string(metrics), m.ID.String()) {
		t.Error("an index is in the metrics")
	}
}

func TestOnlyOperatorSeesDamage(t *testing.T) {
	data, folder := filepath.Join(t.TempDir(), "data"), t.TempDir()
	m := scan(t, folder)
	log := new(lines)
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{Data: data, Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url },
			Watch: telemetry.Options{Listen: "127.0.0.1:0"}, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	var url string
	select {
	case url = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	operator := "http://" + log.wait(t, "msg=metrics address=")
	get := func(url string) (int, string) {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, b := get(operator + "/readyz"); status != 200 {
		t.Errorf("nothing is wrong yet: %d %s", status, b)
	}
	index := filepath.Join(data, "indexes", m.ID.String())
	if err := os.CopyFS(index, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	vectors := indexdir.SegmentPath(index, m.Segments[0].Digest)
	b, err := os.ReadFile(vectors)
	if err != nil {
		t.Fatal(err)
	}
	b[100] ^= 1
	os.Chmod(vectors, 0o600)
	if err := os.WriteFile(vectors, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cparhttp.New(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := &cpar.Request{Index: m.ID, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 3, Approx: 1000}, Vector: make([]uint64, 7)}
	if _, _, err := c.Annotate(ctx, q); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a damaged index answers: %v", err)
	}
	// Results of checks are reused for a second.
	status, text := 0, ""
	for range 100 {
		if status, text = get(operator + "/readyz"); status != 200 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if status != 503 || !strings.Contains(text, `"check":"damage"`) || strings.Contains(text, m.ID.String()) {
		t.Errorf("the operator is told %d %s", status, text)
	}
	if status, text := get(url + "/readyz"); status != 200 || text != "ok\n" {
		t.Errorf("any client is told %d %s", status, text)
	}
	if _, text := get(operator + "/metrics"); !strings.Contains(text, "cpar_indexes_damaged 1\n") || !strings.Contains(text, `cpar_ready{check="damage"} 0`) {
		t.Errorf("metrics: %s", text)
	}
	if _, err := c.Push(ctx, folder, nil); err != nil {
		t.Error(err)
	}
	for range 100 {
		if status, text = get(operator + "/readyz"); status == 200 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if status != 200 {
		t.Errorf("mended: %d %s", status, text)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
