package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"cpar"
	cloudpkg "cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/wire"
)

type whole struct {
	handler  http.Handler
	cloud    *cloudpkg.Cloud
	id       cpar.IndexID
	manifest *cpar.Manifest
	encoded  []byte
	segments [][]byte
}

func startCloud(t testing.TB) *whole {
	t.Helper()
	c, err := cloudpkg.New(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	w := &whole{cloud: c, id: cpar.IndexID{1}}
	if w.handler, err = api.New(c.Store, c, api.Options{}); err != nil {
		t.Fatal(err)
	}
	w.make()
	w.push(t)
	return w
}

func (w *whole) make() {
	const n = 20
	w.manifest = &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: w.id, Records: n, Dim: 2, KeywordBytes: 4}
	var rows, keywords []byte
	for i := range n {
		rows = wire.AppendWords(rows, []uint64{uint64(i), 5})
		keywords = fmt.Appendf(keywords, "%04d", i)
	}
	w.segments = [][]byte{rows, keywords, []byte("ledger"), []byte("profile")}
	for i, kind := range []cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentKeywords, cpar.SegmentLedger, cpar.SegmentProfile} {
		b := w.segments[i]
		w.manifest.Segments = append(w.manifest.Segments, cpar.Segment{Kind: kind, Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	}
}

func (w *whole) push(t testing.TB) {
	t.Helper()
	k := store.IndexRef{Index: w.id}
	for i, s := range w.manifest.Segments {
		if err := w.cloud.PutSegment(context.Background(), k, s.Digest, -1, bytes.NewReader(w.segments[i])); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if w.encoded, err = w.manifest.MarshalBinary(); err == nil {
		err = w.cloud.PutManifest(context.Background(), k, w.encoded)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *whole) serve(method, path string, body []byte) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, httptest.NewRequest(method, "http://localhost"+path, bytes.NewReader(body)))
	return rec
}

func problemIn(t testing.TB, w *httptest.ResponseRecorder) (p cparhttp.Problem) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != cparhttp.TypeProblem || p.Status != w.Code || p.Type != cparhttp.ProblemType(p.Code) {
		t.Errorf("status %d as %q: %v: %s", w.Code, w.Header().Get("Content-Type"), err, w.Body)
	}
	return p
}
