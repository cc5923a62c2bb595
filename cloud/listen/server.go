package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	headerTime = 10 * time.Second // for the headers of a request, or a TLS handshake
	idleTime   = 2 * time.Minute
	// headerBytes is enough for a token, which is the longest header that a
	// client sends.
	headerBytes = 16 << 10
	// streams bounds concurrent requests on an HTTP/2 connection. It equals a
	// tenant's default limit of concurrent requests. As a defence against
	// rapid-reset attacks, Go closes a connection on which 4·streams requests
	// wait for a handler.
	streams = 16
	// unread bounds the bytes of HTTP/2 bodies buffered over all connections.
	// An HTTP/1.1 connection buffers only 4 KiB.
	unread = 64 << 20
	// window and frameSize are the minimum sizes that HTTP/2 allows.
	window, frameSize = 64 << 10, 16 << 10
)

func (s *Server) newHTTP() *http.Server {
	each := min(max(unread/s.o.MaxConnections, window), 1<<20)
	srv := &http.Server{
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          streams,
			MaxReadFrameSize:              frameSize, // a connection keeps a buffer of this size
			MaxReceiveBufferPerConnection: each,
			MaxReceiveBufferPerStream:     each,
			SendPingTimeout:               idleTime,
			WriteByteTimeout:              time.Minute,
		},
		// Otherwise net/http would answer OPTIONS * before any check.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     s.o.ErrorLog,
		ConnState:                    s.o.ConnState,
		ConnContext:                  withVisitor,
	}
	if s.transport != nil {
		srv.TLSConfig = &tls.Config{
			MinVersion:         minTLS,
			NextProtos:         []string{"h2", "http/1.1"},
			GetConfigForClient: s.transport.forClient,
		}
	}
	return srv
}

// Serve answers requests until ctx is done. Then running requests have the
// duration `grace` to finish.
func (s *Server) Serve(ctx context.Context, handler http.Handler, grace time.Duration) error {
	defer s.Close()
	s.http.Handler = handler
	served := make(chan error, 1)
	go func() {
		if s.transport != nil {
			served <- s.http.ServeTLS(s.listener, "", "")
		} else {
			served <- s.http.Serve(s.listener)
		}
	}()
	if s.transport != nil {
		go s.transport.watch(s.done)
	}
	select {
	case err := <-served:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serving on %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	s.o.Log.Info("stopping")
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.http.Shutdown(stop); errors.Is(err, context.DeadlineExceeded) {
		s.o.Log.Warn("requests were cut off")
	}
	return nil
}

func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.done)
		s.http.Close()
		s.listener.Close()
	})
}
