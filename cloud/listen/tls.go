package listen

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"

	"cpar"
	"cpar/internal/hint"
)

// pollTime is the interval at which certificate files are read and compared with
// their last contents. Modification times and symbolic links would not reveal
// every change.
const pollTime = 30 * time.Second

// expirySoon is a certificate's remaining lifetime at which the log warns.
const expirySoon = 14 * 24 * time.Hour

type tlsReloader struct {
	certFile, keyFile, caFile string
	acme                      *issuer // nil for certificates from files
	log                       *slog.Logger
	refused                   atomic.Int64

	mu      sync.Mutex
	tried   [3][]byte // last contents of the files, valid or not
	current atomic.Pointer[loaded]
	warned  time.Time // the last expiry that was reported
}

type loaded struct {
	config *tls.Config
	// challenge is for connections from an ACME directory, which presents no
	// client certificate.
	challenge *tls.Config
	leaf      *x509.Certificate // nil for certificates from ACME
}

func newTLSReloader(o Options) (*tlsReloader, error) {
	t := &tlsReloader{certFile: o.Cert, keyFile: o.Key, caFile: o.ClientCA, log: o.Log}
	if len(o.ACME.Domains) > 0 {
		var err error
		if t.acme, err = newIssuer(o.ACME, o.Log); err != nil {
			return nil, err
		}
	}
	if err := t.reload(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *tlsReloader) forClient(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	now := t.current.Load()
	if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto && now.challenge != nil {
		return now.challenge, nil
	}
	return now.config, nil
}

// reload reads the files. On error it keeps the last valid configuration.
func (t *tlsReloader) reload() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var files [3][]byte
	for i, path := range []string{t.certFile, t.keyFile, t.caFile} {
		if path == "" {
			continue
		}
		var err error
		if files[i], err = os.ReadFile(path); err != nil {
			t.refused.Add(1)
			return hint.Add(fmt.Errorf("reading the TLS files: %w: %w", cpar.ErrInput, err), "name a file that this program may read")
		}
	}
	now := t.current.Load()
	if now != nil && bytes.Equal(files[0], t.tried[0]) && bytes.Equal(files[1], t.tried[1]) && bytes.Equal(files[2], t.tried[2]) {
		return nil
	}
	t.tried = files
	next, err := t.load(files)
	if err != nil {
		t.refused.Add(1)
		return err
	}
	t.current.Store(next)
	if now != nil {
		t.log.Info("certificates were read again", "until", t.expiry())
	}
	return nil
}

func (t *tlsReloader) load(files [3][]byte) (*loaded, error) {
	config := &tls.Config{MinVersion: minTLS, NextProtos: []string{"h2", "http/1.1"}}
	next := &loaded{config: config}
	if t.acme != nil {
		config.GetCertificate = t.acme.certificate
		next.challenge = &tls.Config{MinVersion: minTLS, NextProtos: []string{acme.ALPNProto}, GetCertificate: t.acme.challengeCertificate}
	} else {
		pair, err := tls.X509KeyPair(files[0], files[1])
		if err != nil {
			return nil, hint.Add(fmt.Errorf("%s and %s: %w: %w", t.certFile, t.keyFile, cpar.ErrInput, err),
				"name a chain of certificates and the key of the first, both in PEM")
		}
		config.Certificates, next.leaf = []tls.Certificate{pair}, pair.Leaf
	}
	if t.caFile != "" {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(files[2]) {
			return nil, hint.Add(fmt.Errorf("%w: no certificate in %s", cpar.ErrInput, t.caFile), "name certificates of authorities in PEM")
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
		// Disable resumption, because a session must not outlive the authority
		// of its client certificate.
		config.SessionTicketsDisabled = true
	}
	return next, nil
}

func (t *tlsReloader) watch(done <-chan struct{}) {
	if t.acme != nil {
		go t.acme.issue(done)
	}
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	lastError := ""
	for {
		// Report the same error only once.
		if err := t.reload(); err == nil {
			lastError = ""
		} else if err.Error() != lastError {
			lastError = err.Error()
			t.log.Error("certificates are kept as they were", "error", err)
		}
		t.tellExpiry(time.Now())
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}

func (t *tlsReloader) tellExpiry(now time.Time) {
	end := t.expiry()
	if end.IsZero() || end.Equal(t.warned) || end.Sub(now) > expirySoon {
		return
	}
	t.warned = end
	t.log.Warn("the certificate expires soon", "until", end)
}

func (t *tlsReloader) expiry() time.Time {
	if t.acme != nil {
		return t.acme.expiry()
	}
	return t.current.Load().leaf.NotAfter
}

func (t *tlsReloader) validFor(name string) bool {
	leaf := t.current.Load().leaf
	return leaf != nil && leaf.VerifyHostname(name) == nil
}
