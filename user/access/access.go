// Package access holds a cloud's address and the credentials to connect to it.
//
//	Access ─▶ Client: a *cparhttp.Client that sends the token to its cloud only
//
// A token, the password for a cloud, comes from a file or an environment
// variable, but never from an argument, which every program on the machine can
// read. A bearer.Token prints as redacted.
package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/bearer"
	"cpar/internal/hint"
)

// An Access holds an address and credentials, each "" if unused.
type Access struct {
	Cloud string
	Token bearer.Token
	// CA is a PEM file of authorities that may sign the cloud's certificate,
	// or "" for the system's authorities.
	CA string
	// Cert and Key are the PEM files of the client certificate.
	Cert, Key string
}

const maxFileBytes = 1 << 20

// Read reads a small file, called `what` in errors.
func Read(what, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w: %w", what, cpar.ErrInput, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w: %w", what, cpar.ErrInput, err)
	}
	return b, nil
}

func ReadToken(path string) (bearer.Token, error) {
	b, err := Read("the token", path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = hint.Add(err, "write the token that the cloud's operator gave you into a file that only you can read (chmod 600)")
		}
		return bearer.Token{}, err
	}
	return ParseToken(string(b), path)
}

// ParseToken parses a token. Parameter `from` names its source in errors.
func ParseToken(text, from string) (bearer.Token, error) {
	t, err := bearer.Parse(strings.TrimSpace(text))
	if err != nil {
		return t, fmt.Errorf("%s: %w", from, err)
	}
	return t, nil
}

// Client returns a client of the cloud. Errors wrap cpar.ErrInput.
func (a Access) Client() (*cparhttp.Client, error) {
	hc, err := a.HTTP()
	if err != nil {
		return nil, err
	}
	c, err := cparhttp.New(a.Cloud, hc)
	if err != nil {
		return nil, err
	}
	return c, c.SetToken(a.Token)
}

// HTTP returns the HTTP client that method Client uses. HTTP's client sends no token.
func (a Access) HTTP() (*http.Client, error) {
	if a.CA == "" && a.Cert == "" && a.Key == "" {
		return &http.Client{}, nil
	}
	config := &tls.Config{}
	if a.CA != "" {
		b, err := Read("the certificates of the cloud", a.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(b) {
			return nil, hint.Add(fmt.Errorf("reading the certificates of the cloud: %w: %s holds none", cpar.ErrInput, a.CA), "it is a file in PEM form, starting with -----BEGIN CERTIFICATE-----")
		}
	}
	if (a.Cert == "") != (a.Key == "") {
		return nil, fmt.Errorf("presenting a certificate: %w: certificate and key must be given together", cpar.ErrInput)
	}
	if a.Cert != "" {
		pair, err := tls.LoadX509KeyPair(a.Cert, a.Key)
		if err != nil {
			return nil, hint.Add(fmt.Errorf("reading the client certificate: %w: %w", cpar.ErrInput, err), "both are files in PEM form")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return &http.Client{Transport: transport}, nil
}

// Same reports whether two addresses refer to the same cloud.
func Same(a, b string) bool {
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	if err1 != nil || err2 != nil {
		return false
	}
	return strings.EqualFold(x.Scheme, y.Scheme) && strings.EqualFold(x.Hostname(), y.Hostname()) && port(x) == port(y) &&
		strings.Trim(x.Path, "/") == strings.Trim(y.Path, "/")
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}
