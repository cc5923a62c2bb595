package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/durable"
	"cpar/internal/hint"
)

func TestProblems(t *testing.T) {
	c := start(t, api.Options{})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	manifest, _ := m.MarshalBinary()
	newer := bytes.Clone(manifest)
	newer[6]++
	_, other := build(t, 1, 2)
	incomplete, _ := other.MarshalBinary()
	req, _ := request(m.ID, 3).MarshalBinary()
	newerReq := bytes.Clone(req)
	newerReq[6]++
	index := "/v1/indexes/" + m.ID.String()
	nobody := "/v1/indexes/" + strings.Repeat("0", 32)
	segment := "/segments/" + strings.Repeat("0", 64)
	for _, k := range []struct {
		method, path string
		body         []byte
		status       int
		code         string
	}{
		{"GET", "/", nil, 404, "not_found"},
		{"GET", "/v1/indexes/", nil, 404, "not_found"},
		{"GET", "/v1/indexes/..%2f..%2fx/manifest", nil, 422, "input"},
		{"GET", "/v1/indexes/" + strings.ToUpper(m.ID.String()[:31]) + "A/manifest", nil, 422, "input"},
		{"GET", nobody + "/manifest", nil, 404, "not_found"},
		{"DELETE", nobody, nil, 404, "not_found"},
		{"DELETE", "/v1/indexes/x", nil, 422, "input"},
		{"GET", index + segment, nil, 404, "not_found"},
		{"HEAD", index + segment, nil, 404, ""},
		{"GET", index + "/segments/xyz", nil, 422, "input"},
		{"PUT", index + segment, []byte("x"), 422, "input"},
		{"PUT", index + "/manifest", nil, 422, "input"},
		{"PUT", index + "/manifest", newer, 422, "version"},
		{"PUT", index + "/manifest", incomplete, 409, "incomplete"},
		{"PUT", nobody + "/manifest", manifest, 422, "input"},
		{"PUT", index + "/manifest", make([]byte, cparhttp.MaxManifestBytes+1), 413, "too_large"},
		{"POST", index + "/missing", []byte("CPARM"), 422, "input"},
		{"POST", index + "/annotate", nil, 422, "input"},
		{"POST", index + "/annotate", req[:len(req)-1], 422, "input"},
		{"POST", index + "/annotate", newerReq, 422, "version"},
		{"POST", index + "/annotate", make([]byte, cpar.MaxRequestBytes+1), 413, "too_large"},
		{"POST", nobody + "/annotate", req, 422, "input"},
	} {
		var body io.Reader
		if k.body != nil {
			body = bytes.NewReader(k.body)
		}
		resp, p, _ := do(t, k.method, c.url+k.path, body)
		if resp.StatusCode != k.status || p.Code != k.code {
			t.Errorf("%s %s with %d bytes: status %d, %+v; want %d, %s", k.method, k.path, len(k.body), resp.StatusCode, p, k.status, k.code)
		}
		if k.body != nil {
			resp, p, _ := do(t, k.method, c.url+k.path, struct{ io.Reader }{bytes.NewReader(k.body)})
			if resp.StatusCode != k.status || p.Code != k.code {
				t.Errorf("%s %s chunked: status %d, %+v; want %d, %s", k.method, k.path, resp.StatusCode, p, k.status, k.code)
			}
		}
	}
	if got, err := c.store.Manifest(context.Background(), store.IndexRef{Index: m.ID}); err != nil || !bytes.Equal(got, manifest) {
		t.Errorf("the index changed: %v", err)
	}
	resp, _, _ := do(t, "HEAD", c.url+index+"/segments/"+m.Segments[0].Digest.String(), nil)
	if resp.StatusCode != 200 || resp.ContentLength != int64(m.Segments[0].Bytes) {
		t.Errorf("HEAD of a segment: %d, %d bytes", resp.StatusCode, resp.ContentLength)
	}
}

func TestErrorsOfTheAnnotator(t *testing.T) {
	c := start(t, api.Options{})
	_, m := build(t, 1, 1)
	for _, k := range []struct {
		err  error
		code string
		want error
	}{
		{fmt.Errorf("a: %w: b", cpar.ErrInput), "input", cpar.ErrInput},
		{fmt.Errorf("a: %w: b", cpar.ErrCorrupt), "input", cpar.ErrInput},
		{fmt.Errorf("a: %w: %w: b", cpar.ErrCorrupt, store.ErrDamaged), "corrupt", cpar.ErrCorrupt},
		{fmt.Errorf("/a/path: %w: %w", cpar.ErrStorage, durable.ErrTooManyFiles), "busy", cpar.ErrCloud},
		{fmt.Errorf("a: %w: b", cpar.ErrVersion), "version", cpar.ErrVersion},
		{fmt.Errorf("/a/path: %w: b", cpar.ErrStorage), "storage", cpar.ErrStorage},
		{fmt.Errorf("a: %w: %w: b", cpar.ErrInput, store.ErrNotFound), "not_found", cparhttp.ErrNotFound},
		{errors.New("/a/path: something else"), "internal", cpar.ErrCloud},
		{context.DeadlineExceeded, "busy", cpar.ErrCloud},
	} {
		c.fake.do = func(context.Context, cpar.IndexID, *cpar.Request) (*cpar.Reply, error) { return nil, k.err }
		_, _, err := c.Annotate(t.Context(), request(m.ID, 1))
		if !errors.Is(err, k.want) {
			t.Errorf("%v arrives as %v", k.err, err)
		}
		b, _ := request(m.ID, 1).MarshalBinary()
		_, p, text := do(t, "POST", c.url+"/v1/indexes/"+m.ID.String()+"/annotate", bytes.NewReader(b))
		if p.Code != k.code || strings.Contains(string(text), "/a/path") {
			t.Errorf("%v: %s", k.err, text)
		}
	}
}

func TestQuotaOverHTTP(t *testing.T) {
	folder, m := build(t, 1, 1)
	c := startWith(t, t.TempDir(), load, api.Options{}, store.Options{Quota: func(string) int64 { return int64(m.Bytes()) - 1 }})
	_, err := c.Push(t.Context(), folder, nil)
	if !errors.Is(err, cpar.ErrStorage) || !strings.Contains(hint.Of(err), "delete an index") {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
	last := m.Segments[len(m.Segments)-1]
	resp, p, _ := do(t, "PUT", c.url+"/v1/indexes/"+m.ID.String()+"/segments/"+last.Digest.String(), bytes.NewReader(make([]byte, last.Bytes)))
	if resp.StatusCode != http.StatusInsufficientStorage || p.Code != cparhttp.CodeQuota {
		t.Errorf("status %d, %+v", resp.StatusCode, p)
	}
}

func TestPanicEndsTheRequestOnly(t *testing.T) {
	c := start(t, api.Options{})
	_, m := build(t, 1, 1)
	c.fake.do = func(context.Context, cpar.IndexID, *cpar.Request) (*cpar.Reply, error) {
		panic("the secret of the panic")
	}
	for range 5 {
		_, _, err := c.Annotate(t.Context(), request(m.ID, 1))
		if !errors.Is(err, cpar.ErrCloud) || strings.Contains(err.Error(), "secret") {
			t.Fatalf("after a panic: %v", err)
		}
	}
	if !strings.Contains(c.log.String(), "the secret of the panic") {
		t.Error("the panic is not logged")
	}
	c.fake.do = nil
	if _, _, err := c.Annotate(t.Context(), request(m.ID, 1)); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func TestBrowsersAreRefused(t *testing.T) {
	c := start(t, api.Options{})
	for _, k := range []struct {
		header []string
		status int
	}{
		{nil, 404},
		{[]string{"Host", "localhost:1234"}, 404},
		{[]string{"Host", "[::1]"}, 404},
		{[]string{"Host", "photos.example"}, 403},
		{[]string{"Host", "127.0.0.1.photos.example:80"}, 403},
		{[]string{"Origin", "http://photos.example"}, 403},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		resp, p, _ := do(t, "DELETE", c.url+"/v1/indexes/"+strings.Repeat("0", 32), nil, k.header...)
		if resp.StatusCode != k.status || k.status == 403 && p.Code != "forbidden" {
			t.Errorf("%v: status %d, %+v; want %d", k.header, resp.StatusCode, p, k.status)
		}
	}
}
