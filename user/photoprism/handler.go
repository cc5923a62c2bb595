package photoprism

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpar"
	"cpar/internal/hint"
)

type Options struct {
	// Token is the bearer key. An empty token admits no request.
	Token string
	// Hosts lists the host names that requests may use. Loopback is always allowed.
	Hosts []string
	// Addresses, if set, permits any IP address as the host. No web page can
	// use an IP address as its own name.
	Addresses bool
	// Label finds the labels of a photo. It returns cpar.ErrInput for an
	// unusable image.
	Label func(ctx context.Context, pictures [][]byte) ([]Label, error)
	// Log receives one line per request, without the request's content.
	Log *slog.Logger
}

type server struct {
	o        Options
	token    [sha256.Size]byte
	slots    chan struct{} // requests in progress
	queue    chan struct{} // requests in progress or waiting
	patience time.Duration
}

func Handler(o Options) http.Handler { return newServer(o, bodyTimeout) }

func newServer(o Options, patience time.Duration) http.Handler {
	s := &server{o: o, token: sha256.Sum256([]byte(o.Token)), slots: make(chan struct{}, working), queue: make(chan struct{}, working+waiting), patience: patience}
	mux := http.NewServeMux()
	for _, route := range []string{"/api/v1/vision/labels", "/api/v1/vision/labels/{model}", "/api/v1/vision/labels/{model}/{version}"} {
		mux.HandleFunc("POST "+route, s.labels)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, "", http.StatusNotFound, "this service offers only labels: POST /api/v1/vision/labels")
	})
	return s.guard(mux)
}

// guard rejects requests from web pages and requests without the key.
func (s *server) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		w := &recorder{ResponseWriter: rw}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !s.named(r.Host):
			// A web page can make its own host name resolve to this machine
			// (DNS rebinding).
			s.refuse(w, "", http.StatusForbidden, "this service does not accept that host name")
		case origin.Check(r) != nil:
			s.refuse(w, "", http.StatusForbidden, "requests from other sites' pages are refused")
		case !s.authorized(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.refuse(w, "", http.StatusUnauthorized, "the key is missing or wrong")
		default:
			next.ServeHTTP(w, r)
		}
		// Path and method are omitted, because the client chose them.
		s.o.Log.Info("request", "status", w.status, "pictures", w.pictures, "labels", w.labels, "took", time.Since(begun).Round(time.Millisecond))
	})
}

func (s *server) named(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return s.o.Addresses || ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// authorized checks the key. It compares digests of equal length, so that timing
// does not reveal the key.
func (s *server) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return s.o.Token != "" && subtle.ConstantTimeCompare(given[:], s.token[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

func (s *server) labels(rw http.ResponseWriter, r *http.Request) {
	w := rw.(*recorder)
	select {
	case s.queue <- struct{}{}:
		defer func() { <-s.queue }()
	default:
		w.Header().Set("Retry-After", "5")
		s.refuse(w, "", http.StatusTooManyRequests, "too many requests at once")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), labelTimeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		s.refuse(w, "", http.StatusServiceUnavailable, "busy for too long")
		return
	}
	body, status, problem := s.read(w, r)
	if problem != "" {
		w.Header().Set("Connection", "close")
		s.refuse(w, "", status, problem)
		return
	}
	id, pictures, err := decodeRequest(body)
	w.pictures = len(pictures)
	if err == nil {
		var found []Label
		if found, err = s.o.Label(ctx, pictures); err == nil {
			w.labels = len(found)
			w.answer(response{ID: id, Code: http.StatusOK, Model: &model{"labels", "cpar", "latest"}, Result: result{found}})
			return
		}
	}
	s.fail(w, id, err)
}

// read reads a body within the size and time limits.
func (s *server) read(w *recorder, r *http.Request) (body []byte, status int, problem string) {
	if r.ContentLength > MaxBody {
		return nil, http.StatusRequestEntityTooLarge, "the request is too large"
	}
	control := http.NewResponseController(w.ResponseWriter)
	control.SetReadDeadline(time.Now().Add(s.patience))
	defer control.SetReadDeadline(time.Time{})
	body, err := io.ReadAll(http.MaxBytesReader(w.ResponseWriter, r.Body, MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, "the request is too large"
	case err != nil:
		return nil, http.StatusRequestTimeout, "the request is incomplete"
	}
	return body, 0, ""
}

// fail reports an input error to the client and logs any other error.
func (s *server) fail(w *recorder, id string, err error) {
	if errors.Is(err, cpar.ErrInput) {
		text := err.Error()
		if h := hint.Of(err); h != "" {
			text += "; " + h
		}
		s.refuse(w, id, http.StatusBadRequest, text)
		return
	}
	s.o.Log.Error("no labels", "why", err.Error(), "hint", hint.Of(err))
	s.refuse(w, id, http.StatusServiceUnavailable, "the index could not be asked; the log of cpar says why")
}

func (s *server) refuse(w http.ResponseWriter, id string, code int, why string) {
	w.(*recorder).answer(response{ID: id, Code: code, Error: why})
}

// A recorder remembers the status of a response for the log.
type recorder struct {
	http.ResponseWriter
	status, pictures, labels int
}

func (w *recorder) answer(r response) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // unreachable: only strings and finite numbers
	}
	b = append(b, '\n')
	w.status = r.Code
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(r.Code)
	w.Write(b)
}
