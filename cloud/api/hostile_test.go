package api_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/api"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/testing/indexsample"
	"cpar/internal/wire"
)

func raw(t *testing.T, c *cloud, text string) (status int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(conn, text)
	conn.(*net.TCPConn).CloseWrite()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestWrongLengthsAreRefused(t *testing.T) {
	c := start(t, api.Options{StallTimeout: 2 * time.Second})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	index := "/v1/indexes/" + m.ID.String()
	digest := strings.Repeat("ab", 32)
	for _, target := range []string{
		"POST " + index + "/annotate", "POST " + index + "/annotate-batch", "POST " + index + "/missing",
		"PUT " + index + "/manifest", "PUT " + index + "/segments/" + digest,
	} {
		for _, k := range []struct {
			what, headers, body string
			want                []int
		}{
			{"huge", "Content-Length: 9223372036854775807\r\n", "x", []int{413}},
			{"beyond 64 bits", "Content-Length: 18446744073709551617\r\n", "x", []int{400}},
			{"negative", "Content-Length: -1\r\n", "x", []int{400}},
			{"no number", "Content-Length: 1e3\r\n", "x", []int{400}},
			{"hexadecimal", "Content-Length: 0x10\r\n", "x", []int{400}},
			{"two", "Content-Length: 1\r\nContent-Length: 2\r\n", "xx", []int{400}},
			{"too long", "Content-Length: 100\r\n", "x", []int{400}},
			{"a chunk beyond 64 bits", "Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nx", []int{400}},
			{"a huge chunk", "Transfer-Encoding: chunked\r\n", "7fffffffffffffff\r\nx", []int{400}},
			{"a negative chunk", "Transfer-Encoding: chunked\r\n", "-1\r\nx\r\n0\r\n\r\n", []int{400}},
			{"a chunk cut short", "Transfer-Encoding: chunked\r\n", "10\r\nx", []int{400}},
			{"an unknown coding", "Transfer-Encoding: gzip\r\n", "x", []int{400, 501}},
			{"two codings", "Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n", []int{400, 501}},
		} {
			status := raw(t, c, target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+k.headers+"\r\n"+k.body)
			if !slices.Contains(k.want, status) {
				t.Errorf("%s, %s: status %d, want %v", target, k.what, status, k.want)
			}
		}
	}
	if got, err := c.List(t.Context()); err != nil || len(got) != 1 || got[0].Damaged != "" {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}

func TestRequestsOfWrongSizeAreRefused(t *testing.T) {
	c := startCloud(t)
	index := "/v1/indexes/" + c.id.String()
	good := cpar.Params{Scheme: cpar.SchemeCAPIA, L: 3, Approx: 1000}
	encode := func(q *cpar.Request) []byte {
		b, err := q.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	vector := func(n int) []uint64 { return slices.Repeat([]uint64{1}, n) }
	fine := encode(&cpar.Request{Index: c.id, Params: good, Vector: vector(2)})
	if w := c.serve("POST", index+"/annotate", fine); w.Code != 200 {
		t.Fatalf("a good request: %d %s", w.Code, w.Body)
	}
	huge, many := bytes.Clone(fine), bytes.Clone(fine)
	copy(huge[32:36], []byte{0xff, 0xff, 0xff, 0xff})
	more := encode(&cpar.Request{Index: c.id, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 4, Approx: 1000}, Vector: vector(2)})
	for i := range fine {
		if fine[i] != more[i] { // the low byte of L
			many[i], many[i+1] = 0xff, 0xff
		}
	}
	for what, b := range map[string][]byte{
		"no vector":         encode(&cpar.Request{Index: c.id, Params: good}),
		"a short vector":    encode(&cpar.Request{Index: c.id, Params: good, Vector: vector(1)}),
		"a long vector":     encode(&cpar.Request{Index: c.id, Params: good, Vector: vector(3)}),
		"100,000 words":     encode(&cpar.Request{Index: c.id, Params: good, Vector: vector(1e5)}),
		"order ciphertexts": encode(&cpar.Request{Index: c.id, Params: cpar.Params{Scheme: cpar.SchemeCPAR, L: 3, Approx: 500}, Vector: vector(2), Order: make([]cpar.OrderCiphertext, 1000)}),
		"65,535 wanted":     many,
		"a count of words":  huge,
		"one byte more":     append(bytes.Clone(fine), 0),
		"one byte less":     fine[:len(fine)-1],
		"another index":     encode(&cpar.Request{Index: cpar.IndexID{9}, Params: good, Vector: vector(2)}),
		"sealed":            append([]byte("CPARq\x00\x03\x00"), make([]byte, 1000)...),
	} {
		for _, as := range []struct {
			path string
			body []byte
		}{
			{"/annotate", b},
			{"/annotate-batch", wire.AppendBatch(nil, [][]byte{fine, b})},
		} {
			w := c.serve("POST", index+as.path, as.body)
			if w.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s as %s: %d %s", what, as.path, w.Code, w.Body)
			}
		}
	}
}

func TestUploadsOutOfOrderKeepActiveIndex(t *testing.T) {
	c := start(t, api.Options{})
	folder, first := build(t, 1, 1)
	_, second := build(t, 1, 2)
	manifest1, _ := first.MarshalBinary()
	manifest2, _ := second.MarshalBinary()
	_, segments1 := indexsample.Segments(first, 1)
	_, segments2 := indexsample.Segments(second, 2)
	index := c.url + "/v1/indexes/" + first.ID.String()
	put := func(what, path string, body []byte, want int) {
		t.Helper()
		if resp, _, b := do(t, "PUT", path, bytes.NewReader(body)); resp.StatusCode != want {
			t.Errorf("%s: %s: %s", what, resp.Status, b)
		}
	}
	segment := func(m *cpar.Manifest, i int) string { return index + "/segments/" + m.Segments[i].Digest.String() }
	holds := func(what string, m *cpar.Manifest, segments [][]byte) {
		t.Helper()
		got, err := c.Manifest(t.Context(), m.ID)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(m) {
			t.Fatalf("%s: %v, %v", what, got, err)
		}
		for i, s := range m.Segments {
			var b bytes.Buffer
			if err := c.Segment(t.Context(), m.ID, s, &b); err != nil || !bytes.Equal(b.Bytes(), segments[i]) {
				t.Errorf("%s: segment %d: %v", what, i, err)
			}
		}
	}
	put("a manifest before its segments", index+"/manifest", manifest1, 409)
	for i := len(segments1) - 1; i >= 0; i-- {
		put("backwards", segment(first, i), segments1[i], 204)
	}
	put("a segment again", segment(first, 0), segments1[0], 204)
	put("other bytes for one that is there", segment(first, 0), segments2[0], 204)
	put("other bytes", segment(second, 0), segments1[0], 422)
	put("a part", segment(second, 0), segments2[0][:len(segments2[0])/2], 422)
	put("the manifest under another index", c.url+"/v1/indexes/"+strings.Repeat("7", 32)+"/manifest", manifest1, 422)
	put("the manifest", index+"/manifest", manifest1, 204)
	holds("first", first, segments1)
	put("the manifest again", index+"/manifest", manifest1, 204)
	put("the second, incomplete", index+"/manifest", manifest2, 409)
	holds("still the first", first, segments1)
	for i := range segments2 {
		put("the second's", segment(second, i), segments2[i], 204)
		put("and the first's again", segment(first, i), segments1[i], 204)
	}
	put("the second", index+"/manifest", manifest2, 204)
	holds("second", second, segments2)
	put("the first, from a recording", index+"/manifest", manifest1, 409)
	holds("still the second", second, segments2)
	if err := c.Delete(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	put("a recording after the deletion", index+"/manifest", manifest2, 409)
	if _, err := c.Manifest(t.Context(), first.ID); !errors.Is(err, cparhttp.ErrNotFound) {
		t.Errorf("it is back: %v", err)
	}
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Errorf("pushed anew: %v", err)
	}
}

type nobody struct{}

func (nobody) Authenticate(*http.Request) (tenant.Principal, error) {
	return tenant.Principal{}, tenant.ErrToken
}

// FuzzHandler checks for panics, excessive memory and undocumented errors.
// Without a token the store must stay untouched.
func FuzzHandler(f *testing.F) {
	c := startCloud(f)
	asked := &calls{}
	guarded, err := api.New(counting{c.cloud.Store, asked}, c.cloud, api.Options{Auth: nobody{}})
	if err != nil {
		f.Fatal(err)
	}
	index := "/v1/indexes/" + c.id.String()
	annotate, _ := (&cpar.Request{Index: c.id, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 3, Approx: 1000}, Vector: []uint64{1, 2}}).MarshalBinary()
	for _, k := range []struct {
		method, path, headers string
		body                  []byte
	}{
		{"GET", "/v1/health", "", nil},
		{"GET", "/v1/indexes", "Authorization: Bearer x\r\n", nil},
		{"GET", index + "/manifest", "", nil},
		{"GET", index + "/segments/" + c.manifest.Segments[0].Digest.String(), "Range: bytes=0-3\r\n", nil},
		{"HEAD", index + "/segments/" + strings.Repeat("0", 64), "", nil},
		{"PUT", index + "/segments/" + strings.Repeat("0", 64), "", []byte("x")},
		{"PUT", index + "/manifest", "Content-Encoding: gzip\r\n", c.encoded},
		{"POST", index + "/missing", "Expect: 100-continue\r\n", c.encoded},
		{"POST", index + "/annotate", "Content-Type: application/json\r\n", annotate},
		{"POST", index + "/annotate-batch", "", wire.AppendBatch(nil, [][]byte{annotate, annotate})},
		{"DELETE", index, "", nil},
		{"GET", "/problems/busy", "Accept: text/html\r\n", nil},
		{"GET", "/readyz", "Origin: http://photos.example\r\n", nil},
		{"OPTIONS", "*", "", nil},
		{"GET", "http://photos.example/v1/health", "", nil},
		{"GET", "/v1//indexes/%2e%2e/%00", "X-Request-Id: a\r\nTransfer-Encoding: chunked\r\n", []byte("3\r\nabc\r\n0\r\n\r\n")},
	} {
		f.Add(k.method, k.path, k.headers, k.body)
	}
	f.Fuzz(func(t *testing.T, method, path, headers string, body []byte) {
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n", method, path, len(body), headers)
		r, err := http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(head), bytes.NewReader(body))))
		if err != nil {
			return
		}
		stranger := r.Clone(t.Context())
		stranger.Body = io.NopCloser(bytes.NewReader(body))
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, stranger)
		if made := asked.take(); len(made) > 0 || w.Code == http.StatusInternalServerError {
			t.Errorf("%q: without a token the store is asked %v, status %d", head, made, w.Code)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w = httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		if took, may := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+100*(len(head)+len(body))); took > may {
			t.Errorf("%d bytes were allocated for %d", took, len(head)+len(body))
		}
		switch {
		case w.Code == http.StatusNoContent && r.Method == http.MethodDelete:
			c.push(t)
		case w.Code >= 400:
			var p cparhttp.Problem
			if r.Method != http.MethodHead {
				p = problemIn(t, w)
			}
			checkDescribed(t, r.Method, r.URL.EscapedPath(), w.Code, p.Code)
			if p.Code == cparhttp.CodeInternal {
				t.Errorf("%q: a bug: %+v", head, p)
			}
		case w.Code < 200 || w.Code >= 300:
			t.Errorf("%q: status %d", head, w.Code)
		}
	})
}
