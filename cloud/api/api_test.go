package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
)

func TestPushAnnotateDelete(t *testing.T) {
	c, ctx := start(t, api.Options{}), t.Context()
	if _, err := c.List(ctx); err != nil {
		t.Fatal(err)
	}
	if list, err := c.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("list of an empty store: %v, %v", list, err)
	}
	folder, m := build(t, 1, 1)
	var last, total int64
	if _, err := c.Push(ctx, folder, func(d, n int64) {
		if d < last {
			t.Errorf("progress went back from %d to %d", last, d)
		}
		last, total = d, n
	}); err != nil {
		t.Fatal(err)
	}
	if last != total || total != int64(m.Bytes()) {
		t.Errorf("progress ended at %d of %d; the index has %d", last, total, m.Bytes())
	}
	list, err := c.List(ctx)
	if err != nil || len(list) != 1 || list[0].ID != m.ID || list[0].Scheme != "cpar" || list[0].Records != 5 || list[0].Bytes != m.Bytes() {
		t.Errorf("list: %+v, %v", list, err)
	}
	got, err := c.Manifest(ctx, m.ID)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(m) {
		t.Errorf("manifest: %+v, %v", got, err)
	}
	_, segments := indexsample.Segments(m, 1)
	for i, s := range m.Segments {
		var b bytes.Buffer
		if err := c.Segment(ctx, m.ID, s, &b); err != nil || !bytes.Equal(b.Bytes(), segments[i]) {
			t.Errorf("segment %v: %d bytes, %v", s.Kind, b.Len(), err)
		}
	}
	reply, stats, err := c.Annotate(ctx, request(m.ID, 3))
	if err != nil || len(reply.Matches) != 3 || reply.Visited != 7 {
		t.Fatalf("reply: %+v, %v", reply, err)
	}
	q, _ := request(m.ID, 3).MarshalBinary()
	a, _ := reply.MarshalBinary()
	if stats != (cparhttp.Stats{Sent: len(q), Received: len(a)}) {
		t.Errorf("stats %+v; request %d, reply %d", stats, len(q), len(a))
	}
	if err := c.Delete(ctx, m.ID); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"delete":   c.Delete(ctx, m.ID),
		"manifest": func() error { _, err := c.Manifest(ctx, m.ID); return err }(),
		"segment":  c.Segment(ctx, m.ID, m.Segments[0], io.Discard),
	} {
		if !errors.Is(err, cparhttp.ErrNotFound) || !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%s of something missing: %v", what, err)
		}
	}
}

func TestPushResumes(t *testing.T) {
	c, ctx := start(t, api.Options{}), t.Context()
	folder, m := build(t, 1, 1)
	x, err := indexdir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	for i := range 2 {
		if err := c.store.PutSegment(context.Background(), store.IndexRef{Index: m.ID}, m.Segments[i].Digest, -1, bytes.NewReader(x.Segments()[i])); err != nil {
			t.Fatal(err)
		}
	}
	lacks := func(want int) {
		t.Helper()
		if missing, err := c.Missing(ctx, m); err != nil || len(missing) != want || want > 0 && missing[0] != m.Segments[2] {
			t.Errorf("%d segments are missing; want %d: %v", len(missing), want, err)
		}
	}
	lacks(len(m.Segments) - 2)
	var first int64 = -1
	if _, err := c.Push(ctx, folder, func(d, _ int64) {
		if first < 0 {
			first = d
		}
	}); err != nil {
		t.Fatal(err)
	}
	if want := int64(m.Segments[0].Bytes + m.Segments[1].Bytes); first != want {
		t.Errorf("progress starts at %d; %d bytes were stored", first, want)
	}
	lacks(0)
	before := strings.Count(c.log.String(), "method=PUT")
	if _, err := c.Push(ctx, folder, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(c.log.String(), "method=PUT") - before; n != 1 {
		t.Errorf("an unchanged index took %d uploads; want 1, the manifest", n)
	}
	folder2, _ := build(t, 1, 2)
	if _, err := c.Push(ctx, folder2, nil); err != nil {
		t.Errorf("replacing: %v", err)
	}
}

func TestSearchesTakeTurns(t *testing.T) {
	c := start(t, api.Options{Gate: admission.New(admission.Limits{Turns: 2}), AnnotateTimeout: 5 * time.Second})
	_, m := build(t, 1, 1)
	var now, most atomic.Int32
	gate := make(chan struct{})
	c.fake.do = func(ctx context.Context, id cpar.IndexID, _ *cpar.Request) (*cpar.Reply, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-gate
		return &cpar.Reply{Index: id}, nil
	}
	var wg sync.WaitGroup
	for i := range byte(8) { // requests to one index would share a batch
		wg.Go(func() {
			if _, _, err := c.Annotate(t.Context(), request(cpar.IndexID{i}, 1)); err != nil {
				t.Errorf("waiting for a turn: %v", err)
			}
		})
	}
	for wait := 0; now.Load() < 2 && wait < 5000; wait++ {
		time.Sleep(time.Millisecond)
	}
	close(gate)
	wg.Wait()
	if most.Load() != 2 {
		t.Errorf("%d in parallel; want 2", most.Load())
	}
	busy := start(t, api.Options{AnnotateTimeout: 20 * time.Millisecond})
	busy.fake.do = func(ctx context.Context, _ cpar.IndexID, _ *cpar.Request) (*cpar.Reply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, _, err := busy.Annotate(t.Context(), request(m.ID, 1)); !errors.Is(err, cpar.ErrCloud) || hint.Of(err) != "try again later" {
		t.Errorf("out of time: %v", err)
	}
}

func TestStalledBodiesAreCut(t *testing.T) {
	c := start(t, api.Options{})
	_, m := build(t, 1, 1)
	index := "/v1/indexes/" + m.ID.String()
	for _, k := range []struct{ method, path, host, status string }{
		{"POST", index + "/annotate", "127.0.0.1", "400"},
		{"PUT", index + "/segments/" + m.Segments[0].Digest.String(), "127.0.0.1", "400"},
		// Answered before the body was read.
		{"POST", "/v1/indexes/x/annotate", "127.0.0.1", "422"},
		{"POST", index + "/annotate", "photos.example", "403"},
	} {
		c.controlled(t, func(t *testing.T, dial func() net.Conn) {
			conn := dial()
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\nhalf", k.method, k.path, k.host)
			conn.SetReadDeadline(time.Now().Add(time.Minute))
			answer, err := io.ReadAll(conn)
			if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 "+k.status)) {
				t.Errorf("%s %s: %v: %s", k.method, k.path, err, answer)
			}
			// A proxy's client must not learn the server's address.
			if bytes.Contains(answer, []byte("127.0.0.1")) {
				t.Errorf("%s %s: an address is in %s", k.method, k.path, answer)
			}
		})
	}
	if _, ok, err := c.store.HasSegment(context.Background(), store.IndexRef{Index: m.ID}, m.Segments[0].Digest); ok || err != nil {
		t.Errorf("half a segment counts as complete: %v", err)
	}
}

func TestLog(t *testing.T) {
	c := start(t, api.Options{})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	do(t, "GET", c.url+"/v1/indexes/sneaky%0aline/manifest", nil)
	do(t, "GET", c.url+"/sneaky", nil)
	log := c.log.String()
	for _, want := range []string{
		"method=PUT route=/v1/indexes/{id}/segments/{digest} index=" + m.ID.String() + " status=204",
		"method=GET route=/v1/indexes/{id}/manifest index=- status=422",
		"method=GET route=/ index=- status=404",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "sneaky") {
		t.Errorf("a client's text is in the log:\n%s", log)
	}
}

func TestOpenAPI(t *testing.T) {
	c := start(t, api.Options{})
	_, _, b := do(t, "GET", c.url+"/openapi.json", nil)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			RequestBody struct{ Content map[string]any }
			Responses   map[string]struct{ Content map[string]any }
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range map[string]string{
		cparhttp.PathHealth: "get", cparhttp.PathIndexes: "get", cparhttp.PathIndex: "delete", cparhttp.PathManifest: "get put",
		cparhttp.PathMissing: "post", cparhttp.PathSegment: "get head put", cparhttp.PathAnnotate: "post",
		cparhttp.PathAnnotateBatch: "post", cparhttp.PathToken: "get", cparhttp.PathUsage: "get",
		cparhttp.PathAlbums: "get", cparhttp.PathBlobs: "get", cparhttp.PathBlob: "get head put delete",
	} {
		for _, method := range strings.Fields(methods) {
			op, ok := doc.Paths[path][method]
			if !ok {
				t.Errorf("%s %s is not described", method, path)
			}
			if op.Responses["default"].Content[cparhttp.TypeProblem] == nil {
				t.Errorf("%s %s: no problem described: %v", method, path, op.Responses)
			}
			if takes := method == "put" || method == "post"; takes != (op.RequestBody.Content[cparhttp.TypeBinary] != nil) {
				t.Errorf("%s %s: body %v", method, path, op.RequestBody)
			}
		}
	}
	if len(doc.Paths) != 13 {
		t.Errorf("%d paths described; want 13", len(doc.Paths))
	}
	if doc.Paths[cparhttp.PathAnnotate]["post"].Responses["200"].Content[cparhttp.TypeBinary] == nil {
		t.Errorf("the reply is not described as binary: %s", b)
	}
	if !strings.Contains(string(b), `"Problem":{`) || !strings.Contains(string(b), `"$ref":"#/components/schemas/Problem"`) {
		t.Errorf("the problem is not described: %s", b)
	}
	if strings.Contains(string(b), "ErrorModel") {
		t.Error("huma's own error model is described")
	}
	_, _, y := do(t, "GET", c.url+"/openapi.yaml", nil)
	if !strings.Contains(string(y), "openapi: 3.1.0") {
		t.Errorf("yaml: %.100s", y)
	}
}

func TestConcurrentOwners(t *testing.T) {
	c, ctx := start(t, api.Options{}), t.Context()
	var wg sync.WaitGroup
	for i := range uint64(3) {
		folder, m := build(t, i%2, i)
		wg.Go(func() {
			for range 4 {
				// Two owners of one id may take each other's segments.
				if _, err := c.Push(ctx, folder, nil); err != nil && !errors.Is(err, cpar.ErrInput) {
					t.Errorf("pushing: %v", err)
				}
				if _, _, err := c.Annotate(ctx, request(m.ID, 2)); err != nil {
					t.Errorf("annotating: %v", err)
				}
				if _, err := c.List(ctx); err != nil {
					t.Errorf("listing: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzAnnotateBody(f *testing.F) {
	c := start(f, api.Options{})
	_, m := build(f, 1, 1)
	good, _ := request(m.ID, 3).MarshalBinary()
	f.Add(good)
	f.Add(good[:20])
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		resp, err := http.Post(c.url+"/v1/indexes/"+m.ID.String()+"/annotate", cparhttp.TypeBinary, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode >= 500 || resp.StatusCode == 200 && !bytes.HasPrefix(b, []byte("CPAR")) {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
}

func BenchmarkAnnotate(b *testing.B) {
	c := start(b, api.Options{})
	_, m := build(b, 1, 1)
	q := request(m.ID, 10)
	q.Vector = make([]uint64, 1300)
	for b.Loop() {
		if _, _, err := c.Annotate(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}
