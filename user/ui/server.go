package ui

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/album"
)

//go:embed page
var embedded embed.FS

type Options struct {
	// Folders hold the photos. Only undoing a run changes photos outside them.
	Folders []string
	// Album, if not nil, is shown instead of folders, without Backend. Cloud is the
	// address of the album's server. Related returns words that a search for a word
	// also finds. Seeker, if not nil, finds photos by likeness.
	Album   *album.Live
	Cloud   string
	Related func(word string) []string
	Seeker  Seeker
	// Port is the port on loopback. 0 selects a free port.
	Port    int
	Backend Backend
	// Ready receives the address, with the token in its fragment.
	Ready func(address string) error
}

type Server struct {
	backend Backend
	host    string // address and port as browsers send them
	token   string
	photos  *shelf
	thumbs  *thumbnails
	dropped *dropped
	album   *albumPage // nil if the page shows folders

	decided    *decisions
	survey     *survey
	listings   *lru.Cache[string, *listing]
	life       context.Context // ends when the server stops
	surveying  sync.WaitGroup
	ruling     sync.Mutex                     // held during a change of the vocabulary
	cloudViews *lru.Cache[string, *CloudView] // by photo id
}

const maxCloudViews = 64

func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic(err) // unreachable: the size is constant
	}
	return c
}

func Serve(ctx context.Context, o Options) error {
	photos, err := openShelf(o.Folders)
	if err != nil {
		return err
	}
	defer photos.close()
	if o.Album == nil {
		if err := photos.fill(ctx, o.Backend); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if err != nil {
		err = fmt.Errorf("listening on loopback: %w: %w", cpar.ErrInput, err)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = hint.Add(err, "another program uses port %d; omit --port to use any free one", o.Port)
		}
		return err
	}
	defer listener.Close()
	s := newServer(listener.Addr().String(), o.Backend, photos)
	if o.Album != nil {
		s.album = newAlbumPage(o.Album, o.Cloud, o.Related)
		s.album.seeker = o.Seeker
	}
	if o.Ready != nil {
		if err := o.Ready("http://" + s.host + "/#token=" + s.token); err != nil {
			return err
		}
	}
	return s.serve(ctx, listener)
}

func newServer(host string, b Backend, photos *shelf) *Server {
	return &Server{survey: &survey{by: map[string]*summary{}, shared: map[string]string{}, failing: map[string]string{}},
		listings: newCache[string, *listing](maxListings), life: context.Background(), backend: b, host: host, token: newToken(), photos: photos, thumbs: newThumbnails(),
		dropped: newDropped(), decided: &decisions{by: map[string]Decision{}}, cloudViews: newCache[string, *CloudView](maxCloudViews)}
}

// serve serves until the context ends, which also cancels requests in progress. It
// waits briefly for them.
func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	s.life = ctx
	if s.album == nil {
		s.surveying.Go(func() { s.surveyAll(ctx) })
	}
	defer s.surveying.Wait()
	web := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(silent{}, "", 0), // a closed browser tab is not an error
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if web.Shutdown(patience) != nil {
			web.Close()
		}
	})
	err := web.Serve(listener)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the page: %w", err)
}

type silent struct{}

func (silent) Write(p []byte) (int, error) { return len(p), nil }

func (s *Server) handler() http.Handler {
	page, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // unreachable: the files are embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", files(page))
	if s.album != nil {
		mux.HandleFunc("GET /{$}", ofAlbum(page))
	}
	s.routes(mux)
	return s.guard(mux)
}

// ofAlbum serves the page in the mode for an album.
func ofAlbum(page fs.FS) http.HandlerFunc {
	index, err := fs.ReadFile(page, "index.html")
	if err != nil {
		panic(err) // unreachable: the files are embedded
	}
	index = bytes.Replace(index, []byte(`data-mode="folders"`), []byte(`data-mode="album"`), 1)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(index)
	}
}

// files serves the page's files without directory listings.
func files(page fs.FS) http.Handler {
	serve := http.FileServerFS(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := cmp.Or(r.URL.Path[1:], "index.html")
		if info, err := fs.Stat(page, name); err != nil || info.IsDir() {
			refuse(w, http.StatusNotFound, "there is no such page")
			return
		}
		serve.ServeHTTP(w, r)
	})
}
