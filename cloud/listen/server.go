package listen

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	headerTime = 10 * time.Second // also of a TLS handshake
	idleTime   = 2 * time.Minute
	// headerBytes are enough for a token, which is the longest thing that a client sends.
	headerBytes = 16 << 10
	// streams are the requests of one HTTP/2 connection at once. Go refuses a connection on
	// which four times as many wait for a handler, which ends a rapid reset.
	streams = 64
	// unread is how much of HTTP/2 bodies that nobody reads yet is held over all connections.
	// One of HTTP/1.1 holds 4 KiB, and the rest waits at the sender.
	unread = 64 << 20
	// window is the least that HTTP/2 allows a connection, and a frame.
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
			MaxReadFrameSize:              frameSize, // a buffer of this size stays with a connection
			MaxReceiveBufferPerConnection: each,
			MaxReceiveBufferPerStream:     each,
			SendPingTimeout:               idleTime,
			WriteByteTimeout:              time.Minute,
		},
		// Else net/http would answer OPTIONS * past every check.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     s.o.ErrorLog,
		ConnState:                    s.o.ConnState,
	}
	if s.transport != nil {
		srv.TLSConfig = s.transport.server()
	}
	return srv
}

// Serve answers until ctx is done, then lets running requests finish for at most grace.
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

// Close ends everything at once.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.done)
		s.http.Close()
		s.listener.Close()
	})
}
