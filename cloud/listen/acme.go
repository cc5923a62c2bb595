package listen

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"cpar"
	"cpar/internal/hint"
)

// ACME says how certificates are issued (RFC 8555). autocert of golang.org/x/crypto does it, by
// the challenge tls-alpn-01 (RFC 8737), which needs no listener besides this one: the directory
// connects to port 443 of the name. certmagic can do more (several machines, DNS challenges), and
// brings a logger and DNS libraries; nothing here needs them.
type ACME struct {
	// Domains are the names that certificates are for; none: no ACME.
	Domains []string
	// Directory is the URL of the ACME directory; "" is that of Let's Encrypt.
	Directory string
	// CA is a PEM file with the authorities that the directory's own certificate may be of;
	// "" takes the system's.
	CA string
	// Email is told to the directory, which may write to it; may be empty.
	Email string
	// Cache is the folder that keys and certificates are kept in.
	Cache string
}

// An issuer has certificates issued and renewed. Only issue asks for one: a stranger's handshake
// must not spend the number of tries that a directory allows.
type issuer struct {
	manager *autocert.Manager
	domains []string
	log     *slog.Logger

	first chan struct{} // closed when all were tried for the first time

	mu     sync.Mutex
	issued map[string]time.Time // domain → end of its certificate
}

func newIssuer(o ACME, log *slog.Logger) (*issuer, error) {
	domains := make([]string, len(o.Domains))
	for i, d := range o.Domains {
		domains[i] = strings.ToLower(d)
	}
	client := &acme.Client{DirectoryURL: o.Directory}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		pool := x509.NewCertPool()
		if err == nil && !pool.AppendCertsFromPEM(pem) {
			err = fmt.Errorf("no certificate in %s", o.CA)
		}
		if err != nil {
			return nil, hint.Add(fmt.Errorf("reading the authorities of the ACME directory: %w: %w", cpar.ErrInput, err), "name certificates in PEM with --acme-ca")
		}
		client.HTTPClient = &http.Client{
			Timeout:   time.Minute,
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool}},
		}
	}
	return &issuer{
		manager: &autocert.Manager{
			Prompt:     autocert.AcceptTOS,
			Cache:      autocert.DirCache(o.Cache), // made with mode 0700, its files 0600
			HostPolicy: autocert.HostWhitelist(domains...),
			Client:     client,
			Email:      o.Email,
		},
		domains: domains,
		log:     log,
		first:   make(chan struct{}),
		issued:  map[string]time.Time{},
	}, nil
}

// modern says that a client understands what every client of today does, so that autocert takes
// the same (ECDSA) certificate for all.
func modern(domain string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{
		ServerName:       domain,
		CipherSuites:     []uint16{tls.TLS_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		SupportedCurves:  []tls.CurveID{tls.CurveP256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
	}
}

// issue gets what is missing, with patience: one minute after the first failure, then longer, up
// to an hour. What there is, autocert renews a month before its end.
func (i *issuer) issue(done <-chan struct{}) {
	wait := time.Minute
	tried := sync.OnceFunc(func() { close(i.first) })
	for {
		missing := false
		for _, domain := range i.domains {
			if err := i.get(domain); err != nil {
				missing = true
				i.log.Error("no certificate", "domain", domain, "again_in", wait, "error", err)
			}
		}
		tried()
		pause := time.Hour // to see when renewed ones end
		if missing {
			pause, wait = wait, min(2*wait, time.Hour)
		} else {
			wait = time.Minute
		}
		select {
		case <-time.After(pause):
		case <-done:
			return
		}
	}
}

func (i *issuer) get(domain string) error {
	c, err := i.manager.GetCertificate(modern(domain))
	if err != nil {
		return err
	}
	leaf := c.Leaf
	if leaf == nil {
		if leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
			return err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.issued[domain].Equal(leaf.NotAfter) {
		i.log.Info("a certificate was issued", "domain", domain, "until", leaf.NotAfter)
	}
	i.issued[domain] = leaf.NotAfter
	return nil
}

// certificate answers a client. The name may be missing: a client that calls the cloud by its
// address sends none, and gets the first certificate.
func (i *issuer) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if name == "" {
		name = i.domains[0]
	}
	if !slices.Contains(i.domains, name) {
		return nil, errors.New("a name that is not served")
	}
	// Just started: what is kept is being read, or issued for the first time.
	select {
	case <-i.first:
	case <-time.After(headerTime / 2):
	}
	i.mu.Lock()
	_, ok := i.issued[name]
	i.mu.Unlock()
	if !ok {
		return nil, errors.New("the certificate has not been issued yet")
	}
	return i.manager.GetCertificate(modern(name))
}

// prove answers the directory. Nothing is issued: autocert looks for the token that it waits with.
func (i *issuer) prove(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return i.manager.GetCertificate(hello)
}

// end is when the first of the certificates ends; zero if one is missing.
func (i *issuer) end() (first time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, domain := range i.domains {
		switch t := i.issued[domain]; {
		case t.IsZero():
			return time.Time{}
		case first.IsZero() || t.Before(first):
			first = t
		}
	}
	return first
}
