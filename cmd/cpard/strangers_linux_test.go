package main

import (
	"bufio"
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
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"cpar/cloud/tenant"
	"cpar/cparhttp"
)

// serveTLS starts cpard with a tenant and returns its process, its authority
// and a client with a token.
func serveTLS(t *testing.T, args ...string) (*pressed, *x509.CertPool) {
	t.Helper()
	data := t.TempDir()
	e := tenant.Editor{Data: filepath.Join(data, "d")}
	made, err := e.Add(t.Context(), "anna", "default", tenant.Annotate|tenant.Push|tenant.Delete, tenant.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cert, key, pool := selfSigned(t, data)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"serve", "--data", e.Data, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key}, args...)...)
	cmd.Args[0], cmd.Stderr = "cpard", os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	p := &pressed{address: strings.TrimPrefix(url, "https://"), pid: cmd.Process.Pid}
	h := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	if p.client, err = cparhttp.New(url, h); err == nil {
		err = p.client.SetToken(made.Token)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.watch(t)
	return p, pool
}

// selfSigned writes the certificate of package httptest, for 127.0.0.1, and its key.
func selfSigned(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool = x509.NewCertPool()
	pool.AddCert(s.Certificate())
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, pool
}

// unread opens an HTTP/2 connection, asks for 64 answers, reads no byte of
// their bodies, and answers pings until ctx is done.
func unread(ctx context.Context, address, from string, pool *x509.CertPool) {
	d := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}, Config: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", NextProtos: []string{"h2"}}}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	var hello, head bytes.Buffer
	hello.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&hello, c)
	f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	enc := hpack.NewEncoder(&head)
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
		if err != nil {
			io.Copy(io.Discard, c)
			return
		}
		switch g := frame.(type) {
		case *http2.PingFrame:
			to.WritePing(true, g.Data)
		case *http2.SettingsFrame:
			to.WriteSettingsAck()
		}
	}
}

// Clients without a token that read no answer hold at most 64 MB, and nothing
// once their time for a token has passed, although their connections stay.
func TestStrangersAreBounded(t *testing.T) {
	const connections = 900
	for name, address := range map[string]func(i int) string{
		"one address":      func(int) string { return "127.0.0.1" },
		"ninety addresses": func(i int) string { return fmt.Sprintf("127.0.0.%d", 2+i%90) },
	} {
		t.Run(name, func(t *testing.T) {
			p, pool := serveTLS(t)
			if _, err := p.client.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			idle := p.peak(time.Second)
			ctx, end := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer end()
			for i := range connections {
				all.Go(func() { unread(ctx, p.address, address(i), pool) })
			}
			most := p.peak(10 * time.Second)
			t.Logf("idle %d MB, at most %d MB above it", idle>>10, (most-idle)>>10)
			if most-idle > 64<<10 && !raceDetector {
				t.Errorf("%d MB of anonymous memory above idle", (most-idle)>>10)
			}
			if _, err := p.client.List(t.Context()); err != nil {
				t.Errorf("a client with a token: %v", err)
			}
			for waited := 11; p.peak(time.Second)-idle > 24<<10 && !raceDetector; waited++ {
				if waited == 60 {
					t.Fatalf("after %d s, %d MB above idle", waited, p.peak(0)>>10-idle>>10)
				}
			}
		})
	}
}
