package listen

import (
	"cmp"
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

// ACME configures automatic certificates (RFC 8555). Package autocert requests
// them from an ACME directory (a certificate authority). To answer the challenge
// tls-alpn-01 (RFC 8737), port 443 of the domain must be reachable from the
// directory. Package certmagic, which is not used, supports more challenges but
// adds a logger and DNS libraries.
type ACME struct {
	// Domains lists the names for certificates. If empty, ACME is off.
	Domains []string
	// Directory is the URL of the ACME directory. The default is Let's Encrypt.
	Directory string
	// CA is a PEM file with authorities for the directory's own certificate.
	CA string
	// Email is an optional contact for the directory.
	Email string
	// Cache is the folder for keys and certificates.
	Cache string
}

// An issuer requests and renews certificates. Only method issue requests new
// certificates. If handshakes did so, clients could use up the directory's rate
// limit.
type issuer struct {
	manager *autocert.Manager
	domains []string
	log     *slog.Logger

	first chan struct{} // closed after the first attempt for every domain

	mu     sync.Mutex
	issued map[string]time.Time // domain → expiry of its certificate
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
			Cache:      autocert.DirCache(o.Cache), // with modes 0700 and 0600
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

// modernHello returns the ClientHello of a client for which autocert selects ECDSA.
func modernHello(domain string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{
		ServerName:       domain,
		CipherSuites:     []uint16{tls.TLS_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		SupportedCurves:  []tls.CurveID{tls.CurveP256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
	}
}

// issue requests missing certificates until `done` is closed. Pauses after
// failures grow. Package autocert renews certificates a month before they
// expire.
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
		pause := time.Hour // after it, get reads the expiry of renewed certificates
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
	c, err := i.manager.GetCertificate(modernHello(domain))
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

// certificate returns the certificate for the server name in `hello`. If
// `hello` has no name, it returns the certificate of the first domain.
func (i *issuer) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := cmp.Or(strings.ToLower(strings.TrimSuffix(hello.ServerName, ".")), i.domains[0])
	if !slices.Contains(i.domains, name) {
		return nil, errors.New("this server does not serve that name")
	}
	// At startup, wait for the first certificates.
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
	return i.manager.GetCertificate(modernHello(name))
}

// challengeCertificate returns the certificate that answers the directory's challenge.
func (i *issuer) challengeCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return i.manager.GetCertificate(hello)
}

// expiry returns the earliest expiry, or zero if a certificate is missing.
func (i *issuer) expiry() (first time.Time) {
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
