package photoprism

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/user/access"
)

// grace limits the time that shutdown waits for running requests.
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

func ReadToken(path string) (string, error) {
	b, err := access.Read("the service's key", path)
	return strings.TrimSpace(string(b)), err
}

// CheckToken rejects keys that are easy to guess or not valid in a header.
func CheckToken(token string) error {
	plain := !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(token) >= 16 && plain {
		return nil
	}
	return hint.Add(fmt.Errorf("reading the service's key: %w: it has fewer than 16 characters, or characters other than letters, digits and signs", cpar.ErrInput),
		"let cpar make one: leave out --token-file and CPAR_VISION_TOKEN")
}

// MadeToken reads the key from a file. If there is no file, it creates one with
// a random key, which only the file's owner may read.
func MadeToken(path string) (token string, made bool, err error) {
	token, err = ReadToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	var b [24]byte
	rand.Read(b[:])
	token = hex.EncodeToString(b[:])
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = durable.WriteNew(durable.OS, path, []byte(token+"\n"), 0o600)
	}
	if err != nil {
		return "", false, fmt.Errorf("keeping the service's key: %w: %w", cpar.ErrStorage, err)
	}
	return token, true, nil
}
