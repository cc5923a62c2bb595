package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"cpar"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/bearer"
)

type operation struct {
	id, method, path string
	scopes           tenant.Scopes
}

func operations(t *testing.T, url string, token bearer.Token) (all []operation) {
	t.Helper()
	_, b := ask(t, token, "GET", url+"/openapi.json", nil)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			o := operation{id: op.OperationID, method: strings.ToUpper(method), path: path}
			for _, one := range op.Security {
				set, err := tenant.ParseScopes(one["token"])
				if err != nil {
					t.Fatalf("%s: %v", o.id, err)
				}
				o.scopes |= set
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.id, b.id) })
	return all
}

func (o operation) at(url string, id cpar.IndexID, d cpar.Digest) string {
	return url + strings.NewReplacer("{id}", id.String(), "{digest}", d.String(), "{album}", id.String(), "{name}", "blob").Replace(o.path)
}

func ask(t *testing.T, token bearer.Token, method, url string, body io.Reader) (*http.Response, []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if !token.IsZero() {
		token.SetHeader(q.Header)
	}
	return answer(t, q)
}

func answer(t *testing.T, q *http.Request) (*http.Response, []byte) {
	t.Helper()
	r, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, b
}

type calls struct {
	mu   sync.Mutex
	made []string
}

func (c *calls) add(what string, k store.IndexRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, fmt.Sprintf("%s %s", what, k.Tenant))
}

func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made
	c.made = nil
	return made
}

type counting struct {
	api.Store
	*calls
}

func (s counting) List(ctx context.Context, tenant string) ([]store.Info, error) {
	s.add("list", store.IndexRef{Tenant: tenant})
	return s.Store.List(ctx, tenant)
}
func (s counting) Manifest(ctx context.Context, k store.IndexRef) ([]byte, error) {
	s.add("manifest", k)
	return s.Store.Manifest(ctx, k)
}
func (s counting) Missing(ctx context.Context, k store.IndexRef, m *cpar.Manifest) ([]cpar.Digest, error) {
	s.add("missing", k)
	return s.Store.Missing(ctx, k, m)
}
func (s counting) HasSegment(ctx context.Context, k store.IndexRef, d cpar.Digest) (int64, bool, error) {
	s.add("has", k)
	return s.Store.HasSegment(ctx, k, d)
}
func (s counting) OpenSegment(ctx context.Context, k store.IndexRef, d cpar.Digest) (*store.SegmentReader, error) {
	s.add("open", k)
	return s.Store.OpenSegment(ctx, k, d)
}
func (s counting) PutSegment(ctx context.Context, k store.IndexRef, d cpar.Digest, size int64, r io.Reader) error {
	s.add("put", k)
	return s.Store.PutSegment(ctx, k, d, size, r)
}
func (s counting) PutManifest(ctx context.Context, k store.IndexRef, b []byte) error {
	s.add("activate", k)
	return s.Store.PutManifest(ctx, k, b)
}
func (s counting) Usage(ctx context.Context, tenant string) (store.Usage, error) {
	s.add("usage", store.IndexRef{Tenant: tenant})
	return s.Store.Usage(ctx, tenant)
}
func (s counting) Delete(ctx context.Context, k store.IndexRef) error {
	s.add("delete", k)
	return s.Store.Delete(ctx, k)
}

// asking answers like fake if the store has the index.
type asking struct {
	fake
	store *store.Store[bool]
	calls *calls
}

func (a *asking) Annotate(ctx context.Context, k store.IndexRef, requests []*cpar.Request) ([]*cpar.Reply, error) {
	a.calls.add("get", k)
	x, err := a.store.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	return a.fake.Annotate(ctx, k, requests)
}

func (a *asking) ReplyBytes(ctx context.Context, k store.IndexRef, _ []*cpar.Request) (int64, error) {
	a.calls.add("size", k)
	x, err := a.store.Get(ctx, k)
	if err != nil {
		return 0, err
	}
	x.Release()
	return 1000, nil
}

type town struct {
	url, data string
	calls     *calls
	store     *store.Store[bool]
}

func (c *town) handler(t *testing.T) http.Handler {
	t.Helper()
	registry, err := tenant.Open(c.data, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := api.New(counting{c.store, c.calls}, &asking{store: c.store, calls: c.calls}, api.Options{Auth: registry})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func startTown(t *testing.T) *town {
	t.Helper()
	data := t.TempDir()
	s, err := store.Open(data, load, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := &town{data: data, calls: new(calls), store: s}
	c.issue(t, "anna", "all", tenant.Admin) // so that tokens are required
	srv := httptest.NewServer(c.handler(t))
	t.Cleanup(srv.Close)
	c.url = srv.URL
	return c
}

func (c *town) issue(t *testing.T, name, label string, scopes tenant.Scopes) bearer.Token {
	t.Helper()
	made, err := (&tenant.Editor{Data: c.data}).Add(t.Context(), name, label, scopes, tenant.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Token
}

// said returns a response without the random request id.
func said(w *httptest.ResponseRecorder) string {
	return strings.ReplaceAll(fmt.Sprint(w.Code, w.Header(), w.Body), w.Header().Get("X-Request-Id"), "")
}

type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a refused request was read")
	return 0, io.EOF
}

// Responses are the same for existing and missing indexes, and nothing is read.
func TestOperationsRequireScopes(t *testing.T) {
	c := startTown(t)
	all := c.issue(t, "anna", "again", tenant.Admin)
	_, m := build(t, 1, 1)
	ops := operations(t, c.url, all)
	if len(ops) < 12 {
		t.Fatalf("%d operations", len(ops))
	}
	var h http.Handler
	from := 0
	serve := func(o operation, token string, id cpar.IndexID) *httptest.ResponseRecorder {
		q := httptest.NewRequest(o.method, o.at("http://localhost", id, m.Segments[0].Digest), unread{t})
		from++
		q.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", from>>8, from&255)
		if token != "" {
			q.Header.Set("Authorization", token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		return w
	}
	removed := c.issue(t, "anna", "removed", tenant.Admin)
	if _, err := (&tenant.Editor{Data: c.data}).Remove(t.Context(), "anna", "removed"); err != nil {
		t.Fatal(err)
	}
	typo := []byte(all.Reveal())
	typo[20] ^= 1
	strangers := map[string]string{
		"none": "", "malformed": "Bearer " + string(typo), "another kind": "Basic YTpi", "no token": "Bearer x",
		"unknown": "Bearer " + bearer.New().Reveal(), "removed": "Bearer " + removed.Reveal(),
	}
	for _, o := range ops {
		if (o.scopes == 0) != (o.id == "health") {
			t.Errorf("%s: scopes %v", o.id, o.scopes)
		}
		if o.id == "health" {
			continue
		}
		h = c.handler(t)
		for name, header := range strangers {
			w := serve(o, header, m.ID)
			var p cparhttp.Problem
			json.Unmarshal(w.Body.Bytes(), &p)
			if w.Code != 401 || p.Code != cparhttp.CodeUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s, %s: status %d, %s", o.id, name, w.Code, w.Body)
			}
			if other := serve(o, header, cpar.IndexID{9}); said(other) != said(w) {
				t.Errorf("%s, %s: other ids are answered differently:\n%s\n%s", o.id, name, said(other), said(w))
			}
			if name != "none" && !strings.Contains(w.Body.String(), tenant.ErrToken.Error()) {
				t.Errorf("%s, %s: %s", o.id, name, w.Body)
			}
		}
	}
	for i := range 5 {
		scope := tenant.Scopes(1) << i
		token := "Bearer " + c.issue(t, "berta", scope.String(), scope).Reveal()
		for _, o := range ops {
			if o.scopes == 0 || o.scopes&scope != 0 || scope == tenant.Admin {
				continue
			}
			w := serve(o, token, m.ID)
			var p cparhttp.Problem
			json.Unmarshal(w.Body.Bytes(), &p)
			if w.Code != 403 || p.Code != cparhttp.CodeScope || !strings.Contains(w.Header().Get("WWW-Authenticate"), "insufficient_scope") {
				t.Errorf("%s with scope %v: status %d, %s", o.id, scope, w.Code, w.Body)
			}
		}
	}
	if made := c.calls.take(); len(made) > 0 {
		t.Errorf("for refused requests the store was asked: %v", made)
	}
	for _, o := range ops {
		for _, name := range append(o.scopes.Names(), "admin") {
			set, _ := tenant.ParseScopes([]string{name})
			token := c.issue(t, "carla", o.id+"-"+name+fmt.Sprint(len(name)), set)
			if r, b := ask(t, token, o.method, o.at(c.url, m.ID, m.Segments[0].Digest), nil); r.StatusCode == 401 || r.StatusCode == 403 {
				t.Errorf("%s with scope %s: %s, %s", o.id, name, r.Status, b)
			}
			if _, err := (&tenant.Editor{Data: c.data}).Remove(t.Context(), "carla", o.id+"-"+name+fmt.Sprint(len(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
