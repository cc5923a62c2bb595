package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"cpar"
	"cpar/cparhttp"
	"cpar/eval/measure"
	"cpar/internal/bearer"
)

// An AttackRow holds measurements of a cloud under attack by several
// connections.
type AttackRow struct {
	Attack      string
	Connections int
	// Above is the peak anonymous memory minus the memory of the idle cloud, in
	// 2²⁰ bytes. After is the memory above idle twenty seconds later, while the
	// attackers are still connected.
	Above, After float64
	// Answer is the time in milliseconds until another tenant gets an answer
	// during the attack.
	Answer float64
}

const (
	attackTime = 10 * time.Second
	attackRest = 20 * time.Second
)

type attack struct {
	name        string
	connections int
	address     func(i int) string
	protocol    string
	do          func(c net.Conn, token bearer.Token)
}

// attacks measures two attacks: clients that read no answers, and tenants that
// send large manifests slowly.
func (b *builder) attacks(ctx context.Context, work string) (out []AttackRow, err error) {
	one := func(int) string { return "127.0.0.1" }
	ninety := func(i int) string { return fmt.Sprintf("127.0.0.%d", 2+i%90) }
	for i, a := range []attack{
		{"clients that read no answers, one address", 900, one, "h2", takeNothing},
		{"clients that read no answers, ninety addresses", 900, ninety, "h2", takeNothing},
		{"slow manifests of two tenants", 12, one, "http/1.1", sendSlowly},
	} {
		row, err := b.measureAttack(ctx, filepath.Join(work, fmt.Sprint("attack-", i)), a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		out = append(out, row)
	}
	return out, nil
}

func (b *builder) measureAttack(ctx context.Context, folder string, a attack) (row AttackRow, err error) {
	var tokens []bearer.Token
	for _, name := range []string{"a", "b", "honest"} {
		t, err := token(ctx, folder, name)
		if err != nil {
			return row, err
		}
		tokens = append(tokens, t)
	}
	cert, key, pool, err := certificate(folder)
	if err != nil {
		return row, err
	}
	d, err := start(ctx, b.Cpard, folder, "--tls-cert", cert, "--tls-key", key)
	if err != nil {
		return row, err
	}
	defer d.stop()
	c, err := cparhttp.New(d.url, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}})
	if err == nil {
		err = c.SetToken(tokens[2])
	}
	if err == nil {
		_, err = c.List(ctx)
	}
	if err != nil {
		return row, d.explain(err)
	}
	idle, greatest := d.anonymousMB(), d.watch()
	end := a.begin(ctx, strings.TrimPrefix(d.url, "https://"), pool, tokens)
	defer end()
	time.Sleep(attackTime)
	began := time.Now()
	if _, err := c.List(ctx); err != nil {
		return row, d.explain(err)
	}
	row = AttackRow{Attack: a.name, Connections: a.connections, Answer: measure.RoundTo(time.Since(began).Seconds()*1000, 1)}
	row.Above = measure.RoundTo(greatest()-idle, 1)
	time.Sleep(attackRest)
	row.After = measure.RoundTo(d.anonymousMB()-idle, 1)
	return row, nil
}

func (a attack) begin(ctx context.Context, address string, pool *x509.CertPool, tokens []bearer.Token) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range a.connections {
		all.Go(func() {
			from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(a.address(i))}}
			dial := tls.Dialer{NetDialer: from, Config: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", NextProtos: []string{a.protocol}}}
			if c, err := dial.DialContext(ctx, "tcp", address); err == nil {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { c.Close() })()
				a.do(c, tokens[i%2])
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// sendSlowly sends a manifest of the maximum size at 17 kB/s.
func sendSlowly(c net.Conn, token bearer.Token) {
	h := http.Header{"Host": {"localhost"}, "Content-Length": {fmt.Sprint(cparhttp.MaxManifestBytes)}}
	token.SetHeader(h)
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\n", strings.Replace(cparhttp.PathMissing, "{id}", cpar.IndexID{1}.String(), 1))
	h.Write(c)
	for _, err := io.WriteString(c, "\r\n"); err == nil; _, err = c.Write(make([]byte, 1700)) {
		time.Sleep(100 * time.Millisecond)
	}
}

// takeNothing requests 64 answers over HTTP/2 without reading their bodies. It
// responds to pings, so that the cloud keeps the connection.
func takeNothing(c net.Conn, _ bearer.Token) {
	var hello, head bytes.Buffer
	hello.WriteString(http2.ClientPreface)
	f, enc := http2.NewFramer(&hello, c), hpack.NewEncoder(&head)
	f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	for i := range 64 {
		head.Reset()
		for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", cparhttp.PathHealth}} {
			enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true})
	}
	c.Write(hello.Bytes())
	to := http2.NewFramer(c, nil)
	for {
		frame, err := f.ReadFrame()
		switch g := frame.(type) {
		case *http2.PingFrame:
			to.WritePing(true, g.Data)
		case *http2.SettingsFrame:
			to.WriteSettingsAck()
		}
		if err != nil {
			io.Copy(io.Discard, c)
			return
		}
	}
}

// certificate writes package httptest's certificate for 127.0.0.1 and its key.
func certificate(folder string) (cert, key string, pool *x509.CertPool, err error) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool = x509.NewCertPool()
	pool.AddCert(s.Certificate())
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err == nil {
			err = os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
		}
	}
	return cert, key, pool, err
}
