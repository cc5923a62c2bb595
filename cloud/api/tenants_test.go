package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/bearer"
	"cpar/internal/testing/indexsample"
	"cpar/internal/wire"
)

func (c *town) client(t *testing.T, token bearer.Token) *cparhttp.Client {
	t.Helper()
	client, err := cparhttp.New(c.url, nil)
	if err == nil {
		err = client.SetToken(token)
	}
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func bodyFor(t *testing.T, o operation, m *cpar.Manifest, id cpar.IndexID, segment []byte) []byte {
	t.Helper()
	other := *m
	other.ID = id
	manifest, err := other.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	q, err := request(id, 1).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	switch o.id {
	case "activate-index", "missing-segments":
		return manifest
	case "annotate":
		return q
	case "annotate-batch":
		return wire.AppendBatch(nil, [][]byte{q})
	case "put-segment":
		return segment
	}
	return nil
}

// Replies and store calls equal those for an unknown id, and the index is
// unchanged.
func TestAnotherTenantsIndexLooksMissing(t *testing.T) {
	c := startTown(t)
	anna, berta := c.issue(t, "anna", "a", tenant.Admin), c.issue(t, "berta", "b", tenant.Admin)
	folder, m := build(t, 1, 1)
	_, segments := indexsample.Segments(m, 1)
	if _, err := c.client(t, anna).Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	nobody := cpar.IndexID{0xee}
	h := c.handler(t)
	c.calls.take()
	serve := func(o operation, id cpar.IndexID) (string, []string) {
		t.Helper()
		q := httptest.NewRequest(o.method, o.at("http://localhost", id, m.Segments[0].Digest), bytes.NewReader(bodyFor(t, o, m, id, segments[0])))
		berta.SetHeader(q.Header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		text := said(w)
		return strings.ReplaceAll(text, id.String(), "ID"), c.calls.take()
	}
	tried := 0
	for _, o := range operations(t, c.url, anna) {
		if o.scopes == 0 {
			continue
		}
		c.calls.take()
		theirs, made := serve(o, m.ID)
		none, madeForNone := serve(o, nobody)
		if theirs != none {
			t.Errorf("%s: of another's index it says\n%s\nand of none\n%s", o.id, theirs, none)
		}
		if !slices.Equal(made, madeForNone) {
			t.Errorf("%s: for another's index the store is asked %v, for none %v", o.id, made, madeForNone)
		}
		for _, call := range made {
			if !strings.HasSuffix(call, " "+c.id(t, "berta")) {
				t.Errorf("%s: the store is asked for another tenant: %s", o.id, call)
			}
		}
		tried++
	}
	if tried < 12 {
		t.Errorf("%d operations were tried", tried)
	}
	got, err := c.client(t, anna).Manifest(t.Context(), m.ID)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(m) {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	list, err := c.client(t, anna).List(t.Context())
	if err != nil || len(list) != 1 {
		t.Errorf("afterwards: %v, %v", list, err)
	}
}

func (c *town) id(t *testing.T, name string) string {
	t.Helper()
	all, err := tenant.List(c.data)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if x.Name == name {
			return x.ID
		}
	}
	t.Fatalf("no tenant %s", name)
	return ""
}

// Owners draw ids, so two may collide.
func TestTwoTenantsShareAnID(t *testing.T) {
	c, ctx := startTown(t), t.Context()
	anna, berta := c.client(t, c.issue(t, "anna", "a", tenant.Admin)), c.client(t, c.issue(t, "berta", "b", tenant.Admin))
	hers, m := build(t, 7, 1)
	if _, err := anna.Push(ctx, hers, nil); err != nil {
		t.Fatal(err)
	}
	other, m2 := build(t, 7, 2)
	if m.ID != m2.ID || m.Segments[0].Digest == m2.Segments[0].Digest {
		t.Fatal("the two indexes do not suit the test")
	}
	if missing, err := berta.Missing(ctx, m); err != nil || len(missing) != len(m.Segments) {
		t.Errorf("of an equal index %d of %d segments are missing, %v", len(missing), len(m.Segments), err)
	}
	if _, err := berta.Push(ctx, other, nil); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		client *cparhttp.Client
		m      *cpar.Manifest
		seed   uint64
	}{"anna": {anna, m, 1}, "berta": {berta, m2, 2}} {
		got, err := x.client.Manifest(ctx, m.ID)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(x.m) {
			t.Errorf("%s: manifest %v, %v", name, got, err)
		}
		_, segments := indexsample.Segments(x.m, x.seed)
		for i, s := range x.m.Segments {
			var b bytes.Buffer
			if err := x.client.Segment(ctx, m.ID, s, &b); err != nil || !bytes.Equal(b.Bytes(), segments[i]) {
				t.Errorf("%s: segment %v: %v", name, s.Kind, err)
			}
		}
		if list, err := x.client.List(ctx); err != nil || len(list) != 1 || list[0].Bytes != x.m.Bytes() {
			t.Errorf("%s: %v, %v", name, list, err)
		}
		if u, err := x.client.Usage(ctx); err != nil || u.Indexes != 1 || u.Bytes != int64(x.m.Bytes()) || u.StorageBytes != tenant.Default.StorageBytes {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
	if err := berta.Delete(ctx, m.ID); err != nil {
		t.Fatal(err)
	}
	if err := berta.Delete(ctx, m.ID); !errors.Is(err, cparhttp.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if got, err := anna.Manifest(ctx, m.ID); err != nil || fmt.Sprint(got) != fmt.Sprint(m) {
		t.Errorf("after the other tenant's deletion: %v, %v", got, err)
	}
}

func TestLimitsApplyPerTenant(t *testing.T) {
	c := startTown(t)
	e := &tenant.Editor{Data: c.data}
	made, err := e.Add(t.Context(), "anna", "a", tenant.Admin, tenant.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	berta := c.issue(t, "berta", "b", tenant.Admin)
	if _, err := e.SetLimits(t.Context(), "anna", tenant.Limits{RequestsPerSecond: 0.01, Burst: 3, StorageBytes: 100}); err != nil {
		t.Fatal(err)
	}
	registry, err := tenant.Open(c.data, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.TempDir(), load, store.Options{Quota: registry.Storage})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := api.New(s, new(fake), api.Options{Auth: registry})
	if err != nil {
		t.Fatal(err)
	}
	_, m := build(t, 1, 1)
	_, segments := indexsample.Segments(m, 1)
	put := operation{method: "PUT", path: cparhttp.PathSegment}
	list := operation{method: "GET", path: cparhttp.PathIndexes}
	serve := func(o operation, token bearer.Token, body []byte) (*httptest.ResponseRecorder, string) {
		q := httptest.NewRequest(o.method, o.at("http://localhost", m.ID, m.Segments[0].Digest), bytes.NewReader(body))
		token.SetHeader(q.Header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		var p cparhttp.Problem
		json.Unmarshal(w.Body.Bytes(), &p)
		return w, p.Code
	}
	if len(segments[0]) <= 100 {
		t.Fatalf("a segment of %d bytes", len(segments[0]))
	}
	if w, code := serve(put, made.Token, segments[0]); w.Code != http.StatusInsufficientStorage || code != cparhttp.CodeQuota {
		t.Errorf("beyond the quota: %d, %s", w.Code, w.Body)
	}
	if w, _ := serve(put, berta, segments[0]); w.Code != http.StatusNoContent {
		t.Errorf("another tenant: %d, %s", w.Code, w.Body)
	}
	for i := range 4 {
		w, code := serve(list, made.Token, nil)
		if limited := i >= 2; limited != (w.Code == http.StatusTooManyRequests) || limited && (w.Header().Get("Retry-After") == "" || code == cparhttp.CodeUnauthorized) {
			t.Errorf("request %d: %d, %v, %s", i+2, w.Code, w.Header(), w.Body)
		}
	}
	if w, _ := serve(list, berta, nil); w.Code != http.StatusOK {
		t.Errorf("another tenant: %d, %s", w.Code, w.Body)
	}
	if registry.Storage("0000000000000000") != 1 || registry.Storage("") != 0 {
		t.Error("the quota of a removed tenant or of the unnamed tenant is wrong")
	}
}

// The right token still works.
func TestGuessedTokensAreLimited(t *testing.T) {
	c := startTown(t)
	right := c.issue(t, "anna", "a", tenant.Annotate)
	h := c.handler(t)
	serve := func(token bearer.Token) *httptest.ResponseRecorder {
		q := httptest.NewRequest("POST", "http://localhost/v1/indexes/01000000000000000000000000000000/annotate", unread{t})
		if token == right {
			q = httptest.NewRequest("GET", "http://localhost/v1/indexes", nil)
		}
		token.SetHeader(q.Header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		return w
	}
	for i := range 50 {
		w := serve(bearer.New())
		var p cparhttp.Problem
		json.Unmarshal(w.Body.Bytes(), &p)
		want := http.StatusUnauthorized
		if i >= 10 {
			want = http.StatusTooManyRequests
		}
		if w.Code != want || p.Code != cparhttp.CodeUnauthorized || (w.Header().Get("Retry-After") != "") != (i >= 10) {
			t.Errorf("guess %d: %d, %v, %s", i+1, w.Code, w.Header(), w.Body)
		}
	}
	if w := serve(right); w.Code != http.StatusOK {
		t.Errorf("the right token: %d, %s", w.Code, w.Body)
	}
	if made := c.calls.take(); !slices.Equal(made, []string{"list " + c.id(t, "anna")}) {
		t.Errorf("the store was asked: %v", made)
	}
}
