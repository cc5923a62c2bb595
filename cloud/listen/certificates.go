package listen

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cpar"
)

// Certificates returns the certificates that a server would present now. ACME
// certificates are in the order of the domains.
func (o Options) Certificates() ([]*x509.Certificate, error) {
	if o.Cert != "" {
		t, err := newTLSReloader(o)
		if err != nil {
			return nil, err
		}
		return []*x509.Certificate{t.current.Load().leaf}, nil
	}
	var all []*x509.Certificate
	for _, domain := range o.ACME.Domains {
		// Package autocert stores key and chain in a file named like the domain.
		b, err := os.ReadFile(filepath.Join(o.ACME.Cache, strings.ToLower(domain)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the ACME certificate of %s: %w: %w", domain, cpar.ErrStorage, err)
		}
		leaf, err := firstCertificate(b)
		if err != nil {
			return nil, fmt.Errorf("reading the ACME certificate of %s: %w: %w", domain, cpar.ErrCorrupt, err)
		}
		all = append(all, leaf)
	}
	return all, nil
}

func firstCertificate(b []byte) (*x509.Certificate, error) {
	for {
		block, rest := pem.Decode(b)
		if block == nil {
			return nil, errors.New("the file holds no certificate")
		}
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
		b = rest
	}
}
