package photoprism

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"cpar"
	"cpar/internal/hint"
)

// grace is how long shutdown waits for running requests.
const grace = 10 * time.Second

// Listen opens an address. Beyond loopback it requires a certificate, because
// keys and images would otherwise cross the network in the clear.
func Listen(address string, cert *tls.Certificate) (l net.Listener, loopback bool, err error) {
	l, err = net.Listen("tcp", address)
	if err != nil {
		return nil, false, fmt.Errorf("listening: %w: %w", cpar.ErrInput, err)
	}
	// Check the resolved address: localhost is loopback only by convention.
	a, ok := l.Addr().(*net.TCPAddr)
	loopback = ok && a.IP.IsLoopback()
	if !loopback && cert == nil {
		l.Close()
		return nil, false, hint.Add(fmt.Errorf("listening: %w: %s is not a loopback address, and there is no certificate", cpar.ErrInput, address),
			"pass --tls-cert and --tls-key, or listen on 127.0.0.1")
	}
	return l, loopback, nil
}

// Serve serves until ctx ends and then waits for running requests.
func Serve(ctx context.Context, l net.Listener, cert *tls.Certificate, h http.Handler, log *slog.Logger) error {
	var only http.Protocols
	only.SetHTTP1(true)
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 2 * labelTimeout, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, Protocols: &only, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		err := s.Shutdown(ctx)
		if err != nil {
			err = s.Close()
		}
		ended <- err
	})
	var err error
	if cert != nil {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}
		err = s.ServeTLS(l, "", "")
	} else {
		err = s.Serve(l)
	}
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w: %w", cpar.ErrStorage, err)
	}
	return <-ended
}
