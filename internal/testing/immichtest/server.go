// Package immichtest is a test double of an Immich server: an in-memory library
// behind the calls that package user/immich makes. It enforces the permissions
// of keys, rejects unknown fields in bodies, and requires UUIDs.
package immichtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const Key = "immich-test-key-0123456789"

type Photo struct {
	ID, Name, Checksum string
	Type               string // empty means IMAGE
	Taken              time.Time
	Album              string
	Foreign            bool // owned by a partner account
	Trashed            bool
	Preview            []byte // nil gives status 404
	Tags               []string
}

type tag struct{ id, value, parent string }

// A Server is a library in memory. Tests may change its fields under Lock.
type Server struct {
	sync.Mutex
	Photos []*Photo
	// May lists the permissions of the API key.
	May []string
	// Page is the maximum number of photos per page.
	Page int
	// Before, if not nil, receives every call first and may answer it.
	Before func(w http.ResponseWriter, r *http.Request) (answered bool)
	// Calls records the method and path of every call.
	Calls []string

	tags []tag
	next int
}

// New returns a server with photos and a key with the necessary permissions.
func New(photos ...*Photo) *Server {
	return &Server{Photos: photos, Page: 1000, May: []string{"asset.read", "asset.view", "tag.read", "tag.create", "tag.asset", "tag.delete"}}
}

func ID(kind, n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, n) }

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func (s *Server) Tags() (values []string) {
	s.Lock()
	defer s.Unlock()
	for _, t := range s.tags {
		values = append(values, t.value)
	}
	slices.Sort(values)
	return values
}

func (s *Server) Make(value string) {
	s.Lock()
	defer s.Unlock()
	s.make(value)
}

func (s *Server) make(value string) tag {
	parent := ""
	if at := strings.LastIndex(value, "/"); at >= 0 {
		parent = s.make(value[:at]).id
	}
	if i := slices.IndexFunc(s.tags, func(t tag) bool { return t.value == value }); i >= 0 {
		return s.tags[i]
	}
	s.next++
	s.tags = append(s.tags, tag{ID(0xa, s.next), value, parent})
	return s.tags[len(s.tags)-1]
}

func (s *Server) photo(id string) *Photo {
	for _, p := range s.Photos {
		if p.ID == id {
			return p
		}
	}
	return nil
}

var routes = []struct {
	pattern, permission string
	answer              func(*Server, http.ResponseWriter, *http.Request)
}{
	{"POST /api/search/metadata", "asset.read", (*Server).search},
	{"GET /api/assets/{id}", "asset.read", (*Server).asset},
	{"GET /api/assets/{id}/thumbnail", "asset.view", (*Server).thumbnail},
	{"GET /api/tags", "tag.read", (*Server).list},
	{"PUT /api/tags", "tag.create", (*Server).upsert},
	{"PUT /api/tags/{id}/assets", "tag.asset", (*Server).assign},
	{"DELETE /api/tags/{id}/assets", "tag.asset", (*Server).assign},
	{"DELETE /api/tags/{id}", "tag.delete", (*Server).remove},
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	s.Calls = append(s.Calls, r.Method+" "+r.URL.RequestURI())
	before := s.Before
	s.Unlock()
	if before != nil && before(w, r) {
		return
	}
	s.Lock()
	defer s.Unlock()
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("x-api-key") != Key:
				refuse(w, 401, "Invalid API key")
			case !slices.Contains(s.May, route.permission):
				refuse(w, 403, "Missing required permission: "+route.permission)
			case r.PathValue("id") != "" && !uuid.MatchString(r.PathValue("id")):
				refuse(w, 400, "id must be a UUID")
			default:
				route.answer(s, w, r)
			}
		})
	}
	mux.ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"message": message, "error": http.StatusText(status), "statusCode": status, "correlationId": "x"})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil || r.Header.Get("Content-Type") != "application/json" {
		refuse(w, 400, fmt.Sprint("validation failed: ", err))
		return false
	}
	return true
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Type        string
		Page, Size  int
		Order       string
		TakenAfter  *time.Time
		AlbumIDs    []string `json:"albumIds"`
		TagIDs      []string `json:"tagIds"`
		WithDeleted bool
	}
	if !read(w, r, &q) {
		return
	}
	if q.Page < 1 || q.Size < 1 || q.Size > 1000 {
		refuse(w, 400, "page and size")
		return
	}
	found := []map[string]any{}
	for _, p := range s.Photos {
		kind := cmp.Or(p.Type, "IMAGE")
		if q.Type != "" && q.Type != kind || q.TakenAfter != nil && p.Taken.Before(*q.TakenAfter) || p.Trashed && !q.WithDeleted ||
			len(q.AlbumIDs) > 0 && !slices.Contains(q.AlbumIDs, p.Album) || !s.tagged(p, q.TagIDs) {
			continue
		}
		// Include fields that the client does not use, as a real server does.
		found = append(found, map[string]any{"id": p.ID, "type": kind, "originalFileName": p.Name, "checksum": p.Checksum,
			"originalPath": "/data/" + p.Name, "isTrashed": p.Trashed, "thumbhash": nil, "duration": "0:00:00.00000"})
	}
	size := min(q.Size, s.Page)
	from, to := min((q.Page-1)*size, len(found)), min(q.Page*size, len(found))
	var next any
	if to < len(found) {
		next = strconv.Itoa(q.Page + 1)
	}
	answer(w, 200, map[string]any{
		"albums": map[string]any{"total": 0, "count": 0, "items": []any{}, "facets": []any{}},
		"assets": map[string]any{"total": to - from, "count": to - from, "items": found[from:to], "facets": []any{}, "nextPage": next},
	})
}

func (s *Server) tagged(p *Photo, ids []string) bool {
	for _, id := range ids {
		i := slices.IndexFunc(s.tags, func(t tag) bool { return t.id == id })
		if i < 0 || !slices.ContainsFunc(p.Tags, func(v string) bool { return v == s.tags[i].value || strings.HasPrefix(v, s.tags[i].value+"/") }) {
			return false
		}
	}
	return true
}

func (t tag) json() map[string]any {
	m := map[string]any{"id": t.id, "value": t.value, "name": t.value[strings.LastIndex(t.value, "/")+1:], "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}
	if t.parent != "" {
		m["parentId"] = t.parent
	}
	return m
}

func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	p := s.photo(r.PathValue("id"))
	if p == nil {
		refuse(w, 400, "Not found or no asset.read access")
		return
	}
	tags := []any{}
	for _, v := range p.Tags {
		tags = append(tags, s.make(v).json())
	}
	answer(w, 200, map[string]any{"id": p.ID, "type": "IMAGE", "originalFileName": p.Name, "checksum": p.Checksum, "isTrashed": p.Trashed, "tags": tags})
}

func (s *Server) thumbnail(w http.ResponseWriter, r *http.Request) {
	p := s.photo(r.PathValue("id"))
	if p == nil || p.Preview == nil || r.URL.Query().Get("size") != "preview" {
		refuse(w, 404, "Asset media not found")
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	w.Write(p.Preview)
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	all := []any{}
	for _, t := range s.tags {
		all = append(all, t.json())
	}
	answer(w, 200, all)
}

func (s *Server) upsert(w http.ResponseWriter, r *http.Request) {
	var q struct{ Tags []string }
	if !read(w, r, &q) {
		return
	}
	all := []any{}
	for _, v := range q.Tags {
		all = append(all, s.make(v).json())
	}
	answer(w, 200, all)
}

func (s *Server) assign(w http.ResponseWriter, r *http.Request) {
	var q struct {
		IDs []string `json:"ids"`
	}
	if !read(w, r, &q) {
		return
	}
	at := slices.IndexFunc(s.tags, func(t tag) bool { return t.id == r.PathValue("id") })
	if at < 0 {
		refuse(w, 400, "Not found or no tag.asset access")
		return
	}
	value, out := s.tags[at].value, []any{}
	for _, id := range q.IDs {
		p := s.photo(id)
		why := ""
		switch {
		case p == nil:
			why = "not_found"
		case p.Foreign:
			why = "no_permission"
		case r.Method == http.MethodPut && slices.Contains(p.Tags, value):
			why = "duplicate"
		case r.Method == http.MethodPut:
			p.Tags = append(p.Tags, value)
		case !slices.Contains(p.Tags, value):
			why = "not_found"
		default:
			p.Tags = slices.DeleteFunc(p.Tags, func(v string) bool { return v == value })
		}
		one := map[string]any{"id": id, "success": why == ""}
		if why != "" {
			one["error"] = why
		}
		out = append(out, one)
	}
	answer(w, 200, out)
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	at := slices.IndexFunc(s.tags, func(t tag) bool { return t.id == r.PathValue("id") })
	if at < 0 {
		refuse(w, 400, "Not found or no tag.delete access")
		return
	}
	s.tags = slices.Delete(s.tags, at, at+1)
	w.WriteHeader(http.StatusNoContent)
}
