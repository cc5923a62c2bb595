package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/user/library"
)

// maxBodyBytes bounds a request body other than a photo.
const maxBodyBytes = 64 << 10

// maxAtOnce bounds the number of photos per call, so that responses stay fast.
const maxAtOnce = 120

// routes registers the API. All routes require the token (guard.go).
func (s *Server) routes(mux *http.ServeMux) {
	if s.album != nil {
		s.album.routes(mux)
		return
	}
	answer(mux, "GET /api/settings", s.settings)
	answerBody(mux, "POST /api/settings", s.choose)
	answer(mux, "GET /api/photos", s.list)
	answerBody(mux, "POST /api/look", s.look)
	answerBody(mux, "POST /api/annotate", s.annotate)
	answerBody(mux, "POST /api/list", s.listPhotos)
	answer(mux, "GET /api/list/{listing}", s.rows)
	answer(mux, "GET /api/words", s.suggested)
	answer(mux, "GET /api/complete", s.completed)
	answer(mux, "GET /api/vocabulary", s.vocabulary)
	answer(mux, "POST /api/vocabulary", s.setVocabulary)
	answer(mux, "POST /api/vocabulary/undo", s.undoVocabulary)
	answer(mux, "GET /api/unreadable", s.unreadable)
	answerBody(mux, "POST /api/mark", s.mark)
	answerBody(mux, "POST /api/unmark", s.unmark)
	answer(mux, "GET /api/pending", s.waiting)
	answerBody(mux, "POST /api/decide", s.decide)
	answerBody(mux, "POST /api/write", s.write)
	answer(mux, "GET /api/cloud/{id}", s.cloud)
	answer(mux, "GET /api/find", s.find)
	answer(mux, "GET /api/runs", s.runs)
	answerBody(mux, "POST /api/undo", s.undo)
	answer(mux, "POST /api/drop", s.drop)
	mux.HandleFunc("GET /api/picture/{id}", s.picture)
	mux.HandleFunc("GET /api/sidecar/{id}", s.sidecar)
}

// answer registers a handler that sends the result of `call` as JSON.
func answer(mux *http.ServeMux, pattern string, call func(w http.ResponseWriter, r *http.Request) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		v, err := call(w, r)
		if err != nil {
			fail(w, err)
			return
		}
		writeJSON(w, http.StatusOK, v)
	})
}

// answerBody is like answer, but decodes a JSON body and passes it to `call`.
func answerBody[T any](mux *http.ServeMux, pattern string, call func(r *http.Request, asked T) (any, error)) {
	answer(mux, pattern, func(w http.ResponseWriter, r *http.Request) (any, error) {
		asked, err := body[T](w, r, maxBodyBytes)
		if err != nil {
			return nil, err
		}
		return call(r, asked)
	})
}

type problem struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

var errUnknown = fmt.Errorf("%w: this photo no longer exists", cpar.ErrInput)

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var large *http.MaxBytesError
	switch code := exitcode.Of(err); {
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errUnknown):
		status = http.StatusNotFound
	case errors.Is(err, context.Canceled):
		status = 499 // the browser has disconnected or the program is stopping
	case code == exitcode.Input || code == exitcode.Usage:
		status = http.StatusUnprocessableEntity
	case code == exitcode.Cloud:
		status = http.StatusBadGateway
	}
	writeJSON(w, status, problem{err.Error(), hint.Of(err)})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // fails only if the browser has disconnected
}

func body[T any](w http.ResponseWriter, r *http.Request, limit int64) (v T, err error) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	d.DisallowUnknownFields()
	if err = d.Decode(&v); err != nil {
		return v, fmt.Errorf("reading the page's request: %w: %w", cpar.ErrInput, err)
	}
	return v, nil
}

func (s *Server) settings(http.ResponseWriter, *http.Request) (any, error) {
	type opened struct {
		Name string `json:"name"`
	}
	out := struct {
		Settings
		Folders []opened `json:"folders"`
		Below   []string `json:"below"` // folders with photos, within the opened folders
		Photos  int      `json:"photos"`
		Skipped string   `json:"skipped"`
	}{Settings: s.backend.Settings(), Below: s.folders()}
	all, skipped := s.photos.list()
	out.Photos, out.Skipped = len(all), skipped
	for _, f := range s.photos.folders {
		out.Folders = append(out.Folders, opened{f.path})
	}
	return out, nil
}

// choose changes settings until the program ends.
func (s *Server) choose(r *http.Request, c Choice) (any, error) {
	if err := s.backend.Choose(c); err != nil {
		return nil, err
	}
	return s.settings(nil, r)
}

// list lists all photos. If the query contains `again`, it first rescans the folders.
func (s *Server) list(_ http.ResponseWriter, r *http.Request) (any, error) {
	if r.URL.Query().Has("again") {
		if err := s.photos.fill(r.Context(), s.backend); err != nil {
			return nil, err
		}
		s.surveying.Go(func() { s.surveyAll(s.life) })
	}
	all, skipped := s.photos.list()
	entries := make([]entry, len(all))
	for i, p := range all {
		entries[i] = entry{ID: p.id, Name: p.name}
	}
	return struct {
		Photos  []entry `json:"photos"`
		Skipped string  `json:"skipped"`
	}{entries, skipped}, nil
}

type ids struct {
	IDs []string `json:"ids"`
}

func (s *Server) look(r *http.Request, asked ids) (any, error) {
	if len(asked.IDs) > maxAtOnce {
		return nil, fmt.Errorf("%w: %d photos at once", cpar.ErrInput, len(asked.IDs))
	}
	views := []*view{}
	for _, id := range asked.IDs {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		v, err := s.view(id)
		if err != nil {
			v = &view{ID: id, Problems: []string{err.Error()}}
		}
		views = append(views, v)
	}
	return views, nil
}

func (s *Server) annotate(r *http.Request, asked ids) (any, error) {
	if x, ok := s.dropped.by.Get(strings.Join(asked.IDs, " ")); ok {
		err := s.annotateDrop(r.Context(), x)
		return []outcome{outcomeOf(x.id, err)}, nil
	}
	if len(asked.IDs) > maxAtOnce {
		return nil, fmt.Errorf("%w: %d photos at once", cpar.ErrInput, len(asked.IDs))
	}
	var paths []string
	for _, id := range asked.IDs {
		p, ok := s.photos.get(id)
		if !ok {
			return nil, errUnknown
		}
		paths = append(paths, p.path)
	}
	answers, err := s.backend.Annotate(r.Context(), paths)
	outcomes := []outcome{}
	for i, a := range answers {
		outcomes = append(outcomes, outcomeOf(asked.IDs[i], a.Err))
		if p, ok := s.photos.get(asked.IDs[i]); ok {
			s.lookAgain(p)
		}
		s.survey.outcome(asked.IDs[i], a.Err)
		if a.CloudView != nil {
			s.cloudViews.Add(asked.IDs[i], a.CloudView)
		}
	}
	return outcomes, err
}

type outcome struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
	// Unusable is set if the file cannot be annotated.
	Unusable bool `json:"unusable,omitempty"`
}

func outcomeOf(id string, err error) outcome {
	o := outcome{ID: id, Unusable: errors.Is(err, cpar.ErrInput)}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

func (s *Server) cloud(_ http.ResponseWriter, r *http.Request) (any, error) {
	saw, _ := s.cloudViews.Get(r.PathValue("id"))
	return struct {
		Saw *CloudView `json:"saw"` // null if nothing was sent or the cache evicted the view
	}{saw}, nil
}

func (s *Server) find(_ http.ResponseWriter, r *http.Request) (any, error) {
	word, err := checkWord(r.URL.Query().Get("word"))
	if err != nil {
		return nil, err
	}
	paths, err := s.backend.Find(r.Context(), word)
	if err != nil {
		return nil, err
	}
	out := struct {
		IDs       []string `json:"ids"`
		Elsewhere int      `json:"elsewhere"` // photos outside the opened folders
	}{IDs: []string{}}
	for _, path := range paths {
		if p, ok := s.photos.at(path); ok {
			out.IDs = append(out.IDs, p.id)
		} else {
			out.Elsewhere++
		}
	}
	return out, nil
}

func (s *Server) runs(http.ResponseWriter, *http.Request) (any, error) {
	runs, err := s.backend.Runs()
	if runs == nil {
		runs = []library.Run{}
	}
	return runs, err
}

func (s *Server) undo(r *http.Request, which struct {
	Run string `json:"run"`
}) (any, error) {
	if which.Run == "" {
		return nil, fmt.Errorf("undoing: %w: no run was named", cpar.ErrInput)
	}
	u, err := s.backend.Undo(r.Context(), which.Run)
	if err != nil {
		return nil, err
	}
	for _, path := range u.Paths {
		if p, ok := s.photos.at(path); ok {
			s.lookAgain(p)
		}
	}
	return u, nil
}

// drop receives a photo dropped onto the page. If the folders lack the same photo,
// drop keeps it in memory.
func (s *Server) drop(w http.ResponseWriter, r *http.Request) (any, error) {
	select {
	case s.dropped.receiving <- struct{}{}:
		defer func() { <-s.dropped.receiving }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDropBytes))
	if err != nil {
		return nil, fmt.Errorf("reading the photo: %w: %w", cpar.ErrInput, err)
	}
	name, err := url.QueryUnescape(r.Header.Get("X-Cpar-Name"))
	if err != nil {
		return nil, fmt.Errorf("reading the photo's name: %w: %w", cpar.ErrInput, err)
	}
	name = baseName(name)
	p, whole, err := s.match(r.Context(), name, data)
	if err != nil {
		return nil, err
	}
	out := struct {
		ID      string `json:"id"`
		Matched bool   `json:"matched"`
		Whole   bool   `json:"whole"` // all photos were compared
	}{Matched: p != nil, Whole: whole}
	if p != nil {
		out.ID = p.id
		return out, nil
	}
	known, err := s.backend.LookData(name, data)
	if err != nil {
		return nil, err
	}
	out.ID = s.dropped.put(name, data, known).id
	return out, nil
}
