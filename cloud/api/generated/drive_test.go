package generated_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/daemon"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/testing/indexsample"
	"cpar/internal/wire"
)

// operations are the document's. Each request crosses out its operation.
type operations map[string]*regexp.Regexp // by method and path

func readOperations(t *testing.T) operations {
	b, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	left := operations{}
	for path, methods := range doc.Paths {
		for method := range methods {
			left[strings.ToUpper(method)+" "+path] = regexp.MustCompile("^" + regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "[^/]+") + "$")
		}
	}
	return left
}

func (left operations) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	for name, path := range left {
		if err == nil && resp.StatusCode < 300 && strings.HasPrefix(name, r.Method+" ") && path.MatchString(r.URL.Path) {
			delete(left, name)
		}
	}
	return resp, err
}

func driveAlbum(t *testing.T, c *ClientWithResponses, is func(what string, status int, err error, got int, body []byte)) {
	ctx, album, name, bytes := t.Context(), "0123456789abcdef0123456789abcdef", "p-1", "some bytes"
	star := PutBlobParamsIfNoneMatch("*")
	params := &PutBlobParams{CparSha256: fmt.Sprintf("%x", sha256.Sum256([]byte(bytes))), IfNoneMatch: &star}
	for _, status := range []int{201, 200} {
		put, err := c.PutBlobWithBodyWithResponse(ctx, album, name, params, cparhttp.TypeBinary, strings.NewReader(bytes))
		is("put", status, err, put.StatusCode(), put.Body)
	}
	albums, err := c.ListAlbumsWithResponse(ctx)
	is("albums", 200, err, albums.StatusCode(), albums.Body)
	list, err := c.ListBlobsWithResponse(ctx, album, &ListBlobsParams{})
	is("blobs", 200, err, list.StatusCode(), list.Body)
	if x := list.JSON200.Blobs; len(albums.JSON200.Albums) != 1 || len(x) != 1 || x[0].Name != name || x[0].Bytes != int64(len(bytes)) || list.JSON200.Next != "" {
		t.Errorf("list: %s", list.Body)
	}
	has, err := c.HasBlobWithResponse(ctx, album, name)
	is("has", 200, err, has.StatusCode(), has.Body)
	span := "bytes=5-6"
	part, err := c.GetBlobWithResponse(ctx, album, name, &GetBlobParams{Range: &span})
	is("range", 206, err, part.StatusCode(), part.Body)
	got, err := c.GetBlobWithResponse(ctx, album, name, &GetBlobParams{})
	is("get", 200, err, got.StatusCode(), got.Body)
	if string(got.Body) != bytes || string(part.Body) != bytes[5:7] {
		t.Errorf("it has %q and %q", got.Body, part.Body)
	}
	deleted, err := c.DeleteBlobWithResponse(ctx, album, name)
	is("delete", 204, err, deleted.StatusCode(), deleted.Body)
}

// The generated client performs every documented operation on a real daemon,
// with a token.
func TestGeneratedClient(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	issued, err := (&tenant.Editor{Data: data}).Add(t.Context(), "stranger", "test", tenant.Annotate|tenant.Push|tenant.Delete|tenant.Album|tenant.Admin, tenant.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{Data: data, Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url }})
	}()
	var url string
	select {
	case url = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	left := readOperations(t)
	hc := &http.Client{Transport: left}
	c, err := NewClientWithResponses(url, WithHTTPClient(hc), WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		issued.Token.SetHeader(r.Header)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	// is stops the test unless an operation ended as expected.
	is := func(what string, status int, err error, got int, body []byte) {
		t.Helper()
		if err != nil || got != status {
			t.Fatalf("%s: %v, status %d: %s", what, err, got, body)
		}
	}

	health, err := c.HealthWithResponse(ctx)
	is("health", 200, err, health.StatusCode(), health.Body)
	if health.JSON200.Status != "ok" || int(health.JSON200.Format) != cpar.Version {
		t.Errorf("health: %+v", health.JSON200)
	}
	token, err := c.TokenWithResponse(ctx)
	is("token", 200, err, token.StatusCode(), token.Body)
	if !token.JSON200.Needed || strings.Join(token.JSON200.Scopes, " ") != "annotate push delete album admin" {
		t.Errorf("token: %+v", token.JSON200)
	}

	m := &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: indexsample.Manifest(1).ID, Records: 5, Dim: 7, KeywordBytes: 16}
	kinds, segments := indexsample.Segments(m, 1)
	for i, b := range segments {
		m.Segments = append(m.Segments, cpar.Segment{Kind: kinds[i], Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	}
	manifest, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	id := m.ID.String()
	early, err := c.ActivateIndexWithBodyWithResponse(ctx, id, cparhttp.TypeBinary, bytes.NewReader(manifest))
	is("activation before the segments", 409, err, early.StatusCode(), early.Body)
	if p := early.ApplicationproblemJSON409; p == nil || p.Code != Incomplete || !p.Code.Valid() || p.Type == "" || !strings.HasPrefix(*p.Instance, "urn:uuid:") {
		t.Errorf("its problem: %s", early.Body)
	}
	missing, err := c.MissingSegmentsWithBodyWithResponse(ctx, id, cparhttp.TypeBinary, bytes.NewReader(manifest))
	is("missing", 200, err, missing.StatusCode(), missing.Body)
	if len(missing.JSON200.Missing) != len(segments) {
		t.Errorf("missing: %s", missing.Body)
	}
	for i, s := range m.Segments {
		put, err := c.PutSegmentWithBodyWithResponse(ctx, id, s.Digest.String(), cparhttp.TypeBinary, bytes.NewReader(segments[i]))
		is("upload", 204, err, put.StatusCode(), put.Body)
		has, err := c.HasSegmentWithResponse(ctx, id, s.Digest.String())
		is("has", 200, err, has.StatusCode(), nil)
		if has.HTTPResponse.ContentLength != int64(s.Bytes) {
			t.Errorf("segment %d has %d bytes", i, has.HTTPResponse.ContentLength)
		}
	}
	active, err := c.ActivateIndexWithBodyWithResponse(ctx, id, cparhttp.TypeBinary, bytes.NewReader(manifest))
	is("activation", 204, err, active.StatusCode(), active.Body)
	list, err := c.ListIndexesWithResponse(ctx)
	is("list", 200, err, list.StatusCode(), list.Body)
	if x := list.JSON200.Indexes; len(x) != 1 || x[0].Id != id || x[0].Scheme != "capia" || x[0].Records != 5 || x[0].Damaged != nil {
		t.Errorf("list: %s", list.Body)
	}
	got, err := c.GetManifestWithResponse(ctx, id)
	is("manifest", 200, err, got.StatusCode(), got.Body)
	if !bytes.Equal(got.Body, manifest) {
		t.Error("the manifest differs")
	}
	segment, err := c.GetSegmentWithResponse(ctx, id, m.Segments[1].Digest.String())
	is("segment", 200, err, segment.StatusCode(), nil)
	if !bytes.Equal(segment.Body, segments[1]) {
		t.Error("the segment differs")
	}

	q := &cpar.Request{Index: m.ID, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 2, Approx: 1000}, Vector: make([]uint64, 7)}
	request, err := q.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	one, err := c.AnnotateWithBodyWithResponse(ctx, id, cparhttp.TypeBinary, bytes.NewReader(request))
	is("annotate", 200, err, one.StatusCode(), one.Body)
	reply, err := cpar.DecodeReply(one.Body)
	if err != nil || len(reply.Matches) != 2 {
		t.Errorf("reply: %+v, %v", reply, err)
	}
	many, err := c.AnnotateBatchWithBodyWithResponse(ctx, id, cparhttp.TypeBinary, bytes.NewReader(wire.AppendBatch(nil, [][]byte{request, request})))
	is("batch", 200, err, many.StatusCode(), many.Body)
	if replies, err := wire.DecodeBatch(many.Body, cpar.ErrCorrupt); err != nil || len(replies) != 2 || !bytes.Equal(replies[1], one.Body) {
		t.Errorf("batch: %v", err)
	}
	cut, err := c.AnnotateWithBodyWithResponse(ctx, id, cparhttp.TypeBinary, bytes.NewReader(request[:40]))
	is("half a request", 422, err, cut.StatusCode(), cut.Body)
	if p := cut.ApplicationproblemJSON422; p == nil || !p.Code.Valid() || p.Detail == nil {
		t.Errorf("half a request: %s", cut.Body)
	}

	driveAlbum(t, c, is)

	usage, err := c.UsageWithResponse(ctx)
	is("usage", 200, err, usage.StatusCode(), usage.Body)
	if usage.JSON200.Indexes != 1 || usage.JSON200.Bytes != int64(m.Bytes()) {
		t.Errorf("usage: %s", usage.Body)
	}

	stranger, err := NewClientWithResponses(url, WithHTTPClient(hc))
	if err != nil {
		t.Fatal(err)
	}
	refused, err := stranger.DeleteIndexWithResponse(ctx, id)
	is("deletion without a token", 401, err, refused.StatusCode(), refused.Body)
	if p := refused.ApplicationproblemJSON401; p == nil || p.Code != Unauthorized {
		t.Errorf("without a token: %s", refused.Body)
	}
	deleted, err := c.DeleteIndexWithResponse(ctx, id)
	is("deletion", 204, err, deleted.StatusCode(), deleted.Body)
	gone, err := c.GetManifestWithResponse(ctx, id)
	is("manifest of a deleted index", 404, err, gone.StatusCode(), gone.Body)
	if p := gone.ApplicationproblemJSON404; p == nil || p.Code != NotFound {
		t.Errorf("deleted: %s", gone.Body)
	}
	for name := range left {
		t.Errorf("%s was not driven", name)
	}
	hc.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
