package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/bearer"
	"cpar/internal/durable"
)

const ourAlbum = "0123456789abcdef0123456789abcdef"

func sumOf(b string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(b))) }

func blobURL(url, name string) string { return url + "/v1/albums/" + ourAlbum + "/blobs/" + name }

func TestBlobRoutes(t *testing.T) {
	c := startWith(t, t.TempDir(), load, api.Options{}, store.Options{Quota: func(string) int64 { return 1 << 20 }})
	put := func(name, body string, header ...string) (*http.Response, cparhttp.Problem) {
		t.Helper()
		r, p, _ := do(t, "PUT", blobURL(c.url, name), strings.NewReader(body), append([]string{cparhttp.HeaderSHA256, sumOf(body)}, header...)...)
		return r, p
	}
	absent, match := []string{"If-None-Match", "*"}, func(old string) []string { return []string{"If-Match", strconv.Quote(sumOf(old))} }
	for i, x := range []struct {
		name, body string
		header     []string
		status     int
		code       string
	}{
		{"p1", "hello, world", absent, 201, ""},
		{"p1", "hello, world", absent, 200, ""},
		{"p1", "other", absent, 412, cparhttp.CodeExists},
		{"p1", "other", match("hello, world"), 422, cparhttp.CodeInput},
		{"p1", "other", nil, 422, cparhttp.CodeInput},
		{"p1", "other", append(match("hello, world"), absent...), 422, cparhttp.CodeInput},
		{"kopia.repository", "one", match("zero"), 412, cparhttp.CodeChanged},
		{"kopia.repository", "one", absent, 201, ""},
		{"kopia.repository", "two", match("zero"), 412, cparhttp.CodeChanged},
		{"kopia.repository", "two", match("one"), 201, ""},
		{"kopia.repository", "two", match("one"), 200, ""},
		{"p2", "x", []string{"If-None-Match", "*", cparhttp.HeaderSHA256, sumOf("y")}, 422, cparhttp.CodeInput},
		{"p2", "x", []string{"If-None-Match", "*", cparhttp.HeaderSHA256, "y"}, 422, cparhttp.CodeInput},
		{"p2", "", absent, 201, ""},
		{"p3", strings.Repeat("x", 1<<20), absent, 507, cparhttp.CodeQuota},
		{".p", "x", absent, 422, cparhttp.CodeInput},
		{"P", "x", absent, 422, cparhttp.CodeInput},
		{strings.Repeat("p", 129), "x", absent, 422, cparhttp.CodeInput},
		{strings.Repeat("p", 128), "x", absent, 201, ""},
	} {
		if r, p := put(x.name, x.body, x.header...); r.StatusCode != x.status || p.Code != x.code {
			t.Errorf("%d: put %.10s %.10q: %s %+v; want %d %s", i, x.name, x.body, r.Status, p, x.status, x.code)
		}
	}
	if r, p, _ := do(t, "PUT", blobURL(c.url, "p4"), struct{ *strings.Reader }{strings.NewReader("chunked")}, "If-None-Match", "*", cparhttp.HeaderSHA256, sumOf("chunked")); r.StatusCode != 422 || !strings.Contains(p.Detail, "Content-Length") {
		t.Errorf("without a length: %s %+v", r.Status, p)
	}
	for span, want := range map[string]string{"": "hello, world", "bytes=0-4": "hello", "bytes=7-": "world", "bytes=-5": "world", "bytes=7-99": "world",
		"bytes=0-0,2-3": "hello, world", "pages=1-2": "hello, world", "bytes=x-2": "hello, world", "bytes=0-": "hello, world"} {
		header := []string{}
		if span != "" {
			header = []string{"Range", span}
		}
		r, _, b := do(t, "GET", blobURL(c.url, "p1"), nil, header...)
		part := want != "hello, world" || span == "bytes=0-"
		if string(b) != want || (r.StatusCode == 206) != part || (r.Header.Get("Content-Range") != "") != part || r.Header.Get("ETag") != strconv.Quote(sumOf("hello, world")) {
			t.Errorf("range %q: %s %q %v", span, r.Status, b, r.Header)
		}
	}
	for _, span := range []string{"bytes=12-", "bytes=99-100", "bytes=-0", "bytes=5-3"} {
		if r, p, _ := do(t, "GET", blobURL(c.url, "p1"), nil, "Range", span); r.StatusCode != 416 || p.Code != cparhttp.CodeRange {
			t.Errorf("range %q: %s %+v", span, r.Status, p)
		}
	}
	r, _, _ := do(t, "HEAD", blobURL(c.url, "p1"), nil)
	if at, err := http.ParseTime(r.Header.Get("Last-Modified")); r.StatusCode != 200 || r.ContentLength != 12 || err != nil || time.Since(at) > time.Minute {
		t.Errorf("head: %s %v %v", r.Status, r.Header, err)
	}
	for _, name := range []string{"p1", "p1", "never"} {
		if r, _, _ := do(t, "DELETE", blobURL(c.url, name), nil); r.StatusCode != 204 {
			t.Errorf("delete %s: %s", name, r.Status)
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		if r, p, _ := do(t, method, blobURL(c.url, "p1"), nil); r.StatusCode != 404 || method == "GET" && p.Code != cparhttp.CodeNotFound {
			t.Errorf("%s of a deleted blob: %s %+v", method, r.Status, p)
		}
	}
	if r, _ := put("p1", "anew", absent...); r.StatusCode != 201 {
		t.Errorf("put again: %s", r.Status)
	}
}

// The client of package cparhttp agrees with the server.
func TestBlobClient(t *testing.T) {
	c := start(t, api.Options{})
	ctx, want := t.Context(), map[string][]byte{}
	for i := range 25 {
		name := fmt.Sprintf("p%02d", i)
		want[name] = bytes.Repeat([]byte{byte(i)}, 1000*i)
		for range 2 {
			if err := c.PutBlob(ctx, ourAlbum, name, want[name], nil); err != nil {
				t.Fatal(err)
			}
		}
		b, err := c.GetBlob(ctx, ourAlbum, name, 0, -1)
		if err != nil || !bytes.Equal(b, want[name]) {
			t.Fatalf("%s: %d bytes, %v", name, len(b), err)
		}
		info, err := c.StatBlob(ctx, ourAlbum, name)
		if err != nil || info.Bytes != int64(len(b)) || info.SHA256 != sha256.Sum256(b) || info.Name != name {
			t.Errorf("%+v, %v", info, err)
		}
	}
	for _, x := range []struct{ offset, length int64 }{{0, 1}, {999, 2}, {9999, 1}, {9990, 100}, {5, -1}, {0, 0}} {
		b, err := c.GetBlob(ctx, ourAlbum, "p10", x.offset, x.length)
		end := min(x.offset+x.length, 10000)
		if x.length < 0 {
			end = 10000
		}
		if err != nil || !bytes.Equal(b, want["p10"][x.offset:end]) {
			t.Errorf("%+v: %d bytes, %v", x, len(b), err)
		}
	}
	if _, err := c.GetBlob(ctx, ourAlbum, "p10", 10000, 1); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("beyond the end: %v", err)
	}
	if err := c.PutBlob(ctx, ourAlbum, "p10", []byte("x"), nil); !errors.Is(err, cparhttp.ErrExists) {
		t.Errorf("other bytes under a used name: %v", err)
	}
	if err := c.PutBlob(ctx, ourAlbum, "kopia.blobcfg", []byte("x"), &cpar.Digest{}); !errors.Is(err, cparhttp.ErrChanged) {
		t.Errorf("replacing a missing blob: %v", err)
	}
	if err := c.DeleteBlob(ctx, ourAlbum, "p24"); err != nil {
		t.Error(err)
	}
	if _, err := c.StatBlob(ctx, ourAlbum, "p24"); !errors.Is(err, cparhttp.ErrNotFound) {
		t.Errorf("a deleted blob: %v", err)
	}
	list, next, err := c.ListBlobs(ctx, ourAlbum, "p1", "p14")
	if err != nil || next != "" || len(list) != 5 || list[0].Name != "p15" {
		t.Errorf("list: %v, %q, %v", list, next, err)
	}
	_, _, b := do(t, "GET", c.url+"/v1/albums/"+ourAlbum+"/blobs?limit=2&after=p03", nil)
	var page cparhttp.BlobList
	if err := json.Unmarshal(b, &page); err != nil || len(page.Blobs) != 2 || page.Next != "p05" || page.Blobs[0].Modified.Location() != time.UTC {
		t.Errorf("a page: %s, %v", b, err)
	}
	albums, err := c.Albums(ctx)
	if err != nil || len(albums) != 1 || albums[0].Album != ourAlbum || albums[0].Blobs != 24 {
		t.Errorf("albums: %v, %v", albums, err)
	}
	if u, err := c.Usage(ctx); err != nil || u.Blobs != 24 || u.DeletedBytes != 24000 || u.Albums != 1 {
		t.Errorf("usage: %+v, %v", u, err)
	}
}

// All routes treat another tenant's album like a missing one and do not change
// it. A token for indexes alone may not use these routes.
func TestAnotherTenantsAlbumLooksMissing(t *testing.T) {
	c := startTown(t)
	anna, berta := c.issue(t, "anna", "a", tenant.Album), c.issue(t, "berta", "b", tenant.Album)
	if err := c.client(t, anna).PutBlob(t.Context(), ourAlbum, "p1", []byte("hers"), nil); err != nil {
		t.Fatal(err)
	}
	none := strings.Repeat("e", 32)
	h := c.handler(t)
	serve := func(token bearer.Token, method, album, tail, body string) string {
		q := httptest.NewRequest(method, "http://localhost/v1/albums/"+album+"/blobs"+tail, strings.NewReader(body))
		token.SetHeader(q.Header)
		q.Header.Set(cparhttp.HeaderSHA256, sumOf(body))
		q.Header.Set("If-None-Match", "*")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		return strings.ReplaceAll(said(w), album, "ALBUM")
	}
	for _, x := range [][3]string{{"GET", ""}, {"GET", "?prefix=p"}, {"GET", "/p1"}, {"HEAD", "/p1"}, {"DELETE", "/p1"}, {"PUT", "/p1", "other"}, {"PUT", "/p2", "hers"}} {
		theirs, missing := serve(berta, x[0], ourAlbum, x[1], x[2]), serve(berta, x[0], none, x[1], x[2])
		if theirs != missing {
			t.Errorf("%s %s: of another's album it says\n%s\nand of none\n%s", x[0], x[1], theirs, missing)
		}
	}
	if b, err := c.client(t, anna).GetBlob(t.Context(), ourAlbum, "p1", 0, -1); err != nil || string(b) != "hers" {
		t.Errorf("afterwards: %q, %v", b, err)
	}
	if list, err := c.client(t, anna).Albums(t.Context()); err != nil || len(list) != 1 || list[0].Blobs != 1 {
		t.Errorf("afterwards: %v, %v", list, err)
	}
	indexes := c.issue(t, "anna", "indexes", tenant.Annotate|tenant.Push|tenant.Delete)
	if err := c.client(t, indexes).DeleteBlob(t.Context(), ourAlbum, "p1"); !errors.Is(err, cparhttp.ErrToken) {
		t.Errorf("a token for indexes: %v", err)
	}
	if _, err := c.client(t, anna).List(t.Context()); !errors.Is(err, cparhttp.ErrToken) {
		t.Errorf("a token for albums lists indexes: %v", err)
	}
}

// Indexes and blobs share a tenant's quota.
func TestOneQuotaForIndexesAndBlobs(t *testing.T) {
	folder, m := build(t, 1, 1)
	quota := int64(m.Bytes()) + 4096*int64(len(m.Segments)) + 10_000
	c := startWith(t, t.TempDir(), load, api.Options{}, store.Options{Quota: func(string) int64 { return quota }})
	if err := c.PutBlob(t.Context(), ourAlbum, "p1", make([]byte, 6000), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(t.Context(), folder, nil); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("a push beside a blob: %v", err)
	}
	quota += 96
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Errorf("a push that fits: %v", err)
	}
	if err := c.PutBlob(t.Context(), ourAlbum, "p2", nil, nil); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("a blob beside all: %v", err)
	}
	if err := c.Delete(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	if err := c.PutBlob(t.Context(), ourAlbum, "p2", nil, nil); err != nil {
		t.Errorf("a blob after a deletion: %v", err)
	}
}

// unsynced skips syncing, which would slow the test down.
type unsynced struct{ durable.FS }

func (u unsynced) Create(path string, perm fs.FileMode) (durable.File, error) {
	f, err := u.FS.Create(path, perm)
	return unsyncedFile{f}, err
}
func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

// A list of albums takes memory for the reply before it is made.
func TestListOfAlbumsWaitsForMemory(t *testing.T) {
	const albums = 500
	data := t.TempDir()
	s, err := store.Open(data, load, store.Options{FS: unsynced{durable.OS}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i := range albums {
		folder := filepath.Join(data, "albums", fmt.Sprintf("%032x", i))
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, fmt.Sprintf("a.%s.%020d-a", sumOf(""), 0)), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if u, err := s.Albums().Rebuild(t.Context(), ""); err != nil || u.Albums != albums {
		t.Fatalf("%+v, %v", u, err)
	}
	gate := admission.New(admission.Limits{Memory: 64 << 20, Wait: time.Millisecond})
	h, err := api.New(s, new(fake), api.Options{Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	list := func() (status int, took uint64) {
		q, w := httptest.NewRequest("GET", "http://localhost/v1/albums", nil), httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h.ServeHTTP(w, q)
		runtime.ReadMemStats(&after)
		return w.Code, after.TotalAlloc - before.TotalAlloc
	}
	if status, _ := list(); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	release, err := gate.AcquireReply(t.Context(), "", 14<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if status, took := list(); status != http.StatusServiceUnavailable || took > 100*albums {
		t.Errorf("without memory: status %d, and it took %d bytes", status, took)
	}
}

// FuzzBlobs sends requests to the routes of blobs. No request panics or
// allocates more than it justifies, and a stored blob is what was sent.
func FuzzBlobs(f *testing.F) {
	s, err := store.Open(f.TempDir(), load, store.Options{Quota: func(string) int64 { return 64 << 20 }})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	h, err := api.New(s, new(fake), api.Options{})
	if err != nil {
		f.Fatal(err)
	}
	sum := sumOf("body")
	f.Add("PUT", "/blobs/p1", sum, "*", "", "", []byte("body"))
	f.Add("PUT", "/blobs/kopia.repository", sum, "", `"`+sum+`"`, "", []byte("body"))
	f.Add("GET", "/blobs/p1", "", "", "", "bytes=1-2", []byte(nil))
	f.Add("GET", "/blobs/p1", "", "", "", "bytes=-9223372036854775807", []byte(nil))
	f.Add("GET", "/blobs?prefix=p&after=a&limit=3", "", "", "", "", []byte(nil))
	f.Add("HEAD", "/blobs/%2e%2e", "", "", "", "", []byte(nil))
	f.Add("DELETE", "/blobs/p1", "", "", "", "", []byte(nil))
	f.Fuzz(func(t *testing.T, method, path, digest, none, match, span string, body []byte) {
		q, err := http.NewRequest(method, "http://localhost/v1/albums/"+ourAlbum+path, bytes.NewReader(body))
		if err != nil || slices.Contains([]string{"", "CONNECT"}, method) {
			return
		}
		for name, value := range map[string]string{cparhttp.HeaderSHA256: digest, "If-None-Match": none, "If-Match": match, "Range": span} {
			if value != "" {
				q.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if w.Code == http.StatusInternalServerError {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		checkDescribed(t, method, q.URL.EscapedPath(), w.Code, "")
		if method != "PUT" || w.Code != http.StatusCreated {
			return
		}
		got := httptest.NewRecorder()
		q, _ = http.NewRequest("GET", q.URL.String(), nil)
		h.ServeHTTP(got, q)
		if !bytes.Equal(got.Body.Bytes(), body) || fmt.Sprintf("%x", sha256.Sum256(body)) != digest {
			t.Errorf("%d bytes were stored as %d", len(body), got.Body.Len())
		}
	})
}
