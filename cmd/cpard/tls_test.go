package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type book struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *book) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	os.Stderr.Write(p)
	return l.b.Write(p)
}

func (l *book) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

func logs(ts *testscript.TestScript, _ bool, args []string) {
	l := &ts.Value("daemon").(*process).log
	want := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		text := l.b.String()
		l.mu.Unlock()
		if want.MatchString(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("it logs %s", text)
		}
	}
}

func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value("daemon").(*process).cmd.Process.Signal(map[string]os.Signal{"HUP": syscall.SIGHUP}[args[0]]))
}

func client(ts *testscript.TestScript) *http.Client {
	if ts.Getenv("CA") == "" {
		return http.DefaultClient
	}
	b, err := os.ReadFile(ts.MkAbs(ts.Getenv("CA")))
	ts.Check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

func certify(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ca, key := authority(ts, dir)
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	leaf := template()
	for _, n := range args[1:] {
		if ip := net.ParseIP(n); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, own.Public(), key)
	ts.Check(err)
	writePEM(ts, filepath.Join(dir, "cert.pem"), "CERTIFICATE", der)
	der, err = x509.MarshalPKCS8PrivateKey(own)
	ts.Check(err)
	writePEM(ts, filepath.Join(dir, "key.pem"), "PRIVATE KEY", der)
}

func authority(ts *testscript.TestScript, dir string) (*x509.Certificate, *ecdsa.PrivateKey) {
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		ts.Check(err)
		block, _ := pem.Decode(b)
		return block.Bytes
	}
	if _, err := os.Stat(filepath.Join(dir, "ca.pem")); errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		c := template()
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		ts.Check(err)
		writePEM(ts, filepath.Join(dir, "ca.pem"), "CERTIFICATE", der)
		der, err = x509.MarshalECPrivateKey(key)
		ts.Check(err)
		writePEM(ts, filepath.Join(dir, "ca.key"), "EC PRIVATE KEY", der)
	}
	c, err := x509.ParseCertificate(read("ca.pem"))
	ts.Check(err)
	key, err := x509.ParseECPrivateKey(read("ca.key"))
	ts.Check(err)
	return c, key
}

func template() *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "a story"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
}

func writePEM(ts *testscript.TestScript, path, kind string, der []byte) {
	ts.Check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}
