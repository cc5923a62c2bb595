package api

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cpar"
	"cpar/cparhttp"
)

type none struct{}

// An IndexPath is the path parameter of an index. It is exported because huma
// inspects only exported embedded structs.
type IndexPath struct {
	ID string `path:"id" pattern:"^[0-9a-f]{32}$" doc:"The index: 32 lower-case hexadecimal digits"`
}

// id cannot fail once the pattern has matched.
func (in *IndexPath) id() (cpar.IndexID, error) { return cpar.ParseIndexID(in.ID) }

type SegmentPath struct {
	IndexPath
	Digest string `path:"digest" pattern:"^[0-9a-f]{64}$" doc:"The segment's SHA-256: 64 lower-case hexadecimal digits"`
}

func (in *SegmentPath) name() (id cpar.IndexID, d cpar.Digest, err error) {
	if id, err = in.id(); err == nil {
		d, err = cpar.ParseDigest(in.Digest)
	}
	return id, d, err
}

type bodyInput struct {
	IndexPath
	body
}

type uploadInput struct {
	SegmentPath
	body
}

type listOutput struct{ Body cparhttp.IndexList }
type missingOutput struct{ Body cparhttp.MissingList }
type healthOutput struct{ Body cparhttp.Health }
type streamOutput struct{ Body func(huma.Context) }

type binaryOutput struct {
	Type string `header:"Content-Type"`
	Body []byte
}

func binaryOut(b []byte) *binaryOutput { return &binaryOutput{cparhttp.TypeBinary, b} }

type sizeOutput struct {
	// huma omits zero headers, but an empty segment has length 0.
	Length string `header:"Content-Length"`
	Type   string `header:"Content-Type"`
}

func (s *server) register(h huma.API) {
	h.OpenAPI().Components.Schemas.Map()["Problem"] = problemSchema()
	problem := &huma.Schema{Ref: "#/components/schemas/Problem"}
	binary := map[string]*huma.MediaType{cparhttp.TypeBinary: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}
	operation := func(name, method, path, summary string, set ...func(*huma.Operation)) huma.Operation {
		op := huma.Operation{OperationID: name, Method: method, Path: path, Summary: summary,
			Responses: map[string]*huma.Response{"default": {
				Description: "A problem; its member code tells programs which",
				Content:     map[string]*huma.MediaType{cparhttp.TypeProblem: {Schema: problem}},
			}}}
		for _, f := range set {
			f(&op)
		}
		return op
	}
	takes := func(what string) func(*huma.Operation) {
		return func(op *huma.Operation) {
			op.RequestBody = &huma.RequestBody{Description: what, Required: true, Content: binary}
		}
	}
	gives := func(what string) func(*huma.Operation) {
		return func(op *huma.Operation) {
			op.Responses["200"] = &huma.Response{Description: what, Content: binary}
		}
	}
	huma.Register(h, operation("health", http.MethodGet, cparhttp.PathHealth, "Check that the cloud is running"), s.health)
	huma.Register(h, operation("token", http.MethodGet, cparhttp.PathToken, "Say what the token of this request may do"), s.token)
	huma.Register(h, operation("usage", http.MethodGet, cparhttp.PathUsage, "Say how much is stored, and what the limits are"), s.usage)
	huma.Register(h, operation("list-indexes", http.MethodGet, cparhttp.PathIndexes, "List the active indexes"), s.list)
	huma.Register(h, operation("delete-index", http.MethodDelete, cparhttp.PathIndex, "Delete an index"), s.delete)
	huma.Register(h, operation("get-manifest", http.MethodGet, cparhttp.PathManifest, "Fetch the active manifest", gives("The manifest")), s.manifest)
	huma.Register(h, operation("activate-index", http.MethodPut, cparhttp.PathManifest, "Activate an index whose segments are all uploaded", takes("The manifest")), s.activate)
	huma.Register(h, operation("missing-segments", http.MethodPost, cparhttp.PathMissing, "List the segments of a manifest that are still to be uploaded", takes("The manifest")), s.missing)
	huma.Register(h, operation("has-segment", http.MethodHead, cparhttp.PathSegment, "Check whether a segment is stored, uploaded or active"), s.hasSegment)
	huma.Register(h, operation("get-segment", http.MethodGet, cparhttp.PathSegment, "Fetch a segment of the active index", gives("The segment's bytes")), s.segment)
	huma.Register(h, operation("put-segment", http.MethodPut, cparhttp.PathSegment, "Upload a segment", takes("The segment's bytes, with the digest that the path names")), s.upload)
	huma.Register(h, operation("annotate", http.MethodPost, cparhttp.PathAnnotate, "Find the records nearest to an encrypted request", takes("The request"), gives("The reply")), s.annotate)
	huma.Register(h, operation("annotate-batch", http.MethodPost, cparhttp.PathAnnotateBatch, fmt.Sprintf("Answer 1 to %d encrypted requests together", cparhttp.MaxBatch),
		takes("Their number (4 bytes), then each request's length (4 bytes) and the request"),
		gives("The number of replies (4 bytes), then each reply's length (4 bytes) and the reply, in the order of the requests")), s.annotateBatch)
}

func (s *server) health(context.Context, *none) (*healthOutput, error) {
	return &healthOutput{cparhttp.Health{Status: "ok", Format: cpar.Version}}, nil
}

func (s *server) list(ctx context.Context, _ *none) (*listOutput, error) {
	done, err := s.gate.AcquireCheck(ctx, tenantOf(ctx))
	if err != nil {
		return nil, s.problem(err)
	}
	defer done()
	infos, err := s.store.List(ctx, tenantOf(ctx))
	if err != nil {
		return nil, s.problem(err)
	}
	out := &listOutput{cparhttp.IndexList{Indexes: []cparhttp.IndexInfo{}}}
	for _, x := range infos {
		info := cparhttp.IndexInfo{ID: x.ID, Scheme: x.Scheme.String(), Records: x.Records, Bytes: x.Bytes}
		if x.Err != nil {
			info.Scheme, info.Damaged = "", "it is damaged; its owner must push it again"
		}
		out.Body.Indexes = append(out.Body.Indexes, info)
	}
	return out, nil
}

func (s *server) delete(ctx context.Context, in *IndexPath) (*none, error) {
	id, err := in.id()
	if err == nil {
		err = s.store.Delete(ctx, indexRef(ctx, id))
	}
	return nil, s.problem(err)
}

func (s *server) manifest(ctx context.Context, in *IndexPath) (*binaryOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, s.problem(err)
	}
	b, err := s.store.Manifest(ctx, indexRef(ctx, id))
	return binaryOut(b), s.problem(err)
}

// manifestTimes is the memory of a manifest in multiples of its size: encoded,
// decoded, by digest, and as text in the response.
const manifestTimes = 8

func (s *server) activate(ctx context.Context, in *bodyInput) (*none, error) {
	id, err := in.id()
	if err != nil {
		return nil, s.problem(err)
	}
	b, release, err := s.readBody(ctx, &in.body, cparhttp.MaxManifestBytes, manifestTimes)
	if err != nil {
		return nil, s.problem(err)
	}
	defer release()
	done, err := s.gate.AcquireBuild(ctx, tenantOf(ctx))
	if err != nil {
		return nil, s.problem(err)
	}
	defer done()
	return nil, s.problem(s.store.PutManifest(ctx, indexRef(ctx, id), b))
}

func (s *server) missing(ctx context.Context, in *bodyInput) (*missingOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, s.problem(err)
	}
	b, release, err := s.readBody(ctx, &in.body, cparhttp.MaxManifestBytes, manifestTimes)
	if err != nil {
		return nil, s.problem(err)
	}
	defer release()
	done, err := s.gate.AcquireCheck(ctx, tenantOf(ctx))
	if err != nil {
		return nil, s.problem(err)
	}
	defer done()
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		return nil, s.problem(err)
	}
	digests, err := s.store.Missing(ctx, indexRef(ctx, id), m)
	out := &missingOutput{cparhttp.MissingList{Missing: []string{}}}
	for _, d := range digests {
		out.Body.Missing = append(out.Body.Missing, d.String())
	}
	return out, s.problem(err)
}

func (s *server) hasSegment(ctx context.Context, in *SegmentPath) (*sizeOutput, error) {
	id, d, err := in.name()
	if err != nil {
		return nil, s.problem(err)
	}
	done, err := s.gate.AcquireCheck(ctx, tenantOf(ctx)) // may read the whole segment
	if err != nil {
		return nil, s.problem(err)
	}
	defer done()
	size, ok, err := s.store.HasSegment(ctx, indexRef(ctx, id), d)
	if err == nil && !ok {
		err = segmentNotFound(d)
	}
	return &sizeOutput{fmt.Sprint(size), cparhttp.TypeBinary}, s.problem(err)
}

func (s *server) segment(ctx context.Context, in *SegmentPath) (*streamOutput, error) {
	id, d, err := in.name()
	if err != nil {
		return nil, s.problem(err)
	}
	release, err := s.gate.AcquireBody(ctx, tenantOf(ctx), streamBytes)
	if err != nil {
		return nil, s.problem(err)
	}
	if err := s.load(ctx, indexRef(ctx, id)); err != nil {
		release()
		return nil, s.problem(err)
	}
	r, err := s.store.OpenSegment(ctx, indexRef(ctx, id), d)
	if err != nil {
		release()
		return nil, s.problem(err)
	}
	return &streamOutput{func(ctx huma.Context) {
		defer release()
		defer r.Close()
		ctx.SetHeader("Content-Type", cparhttp.TypeBinary)
		ctx.SetHeader("Content-Length", fmt.Sprint(r.Size()))
		ctx.SetStatus(http.StatusOK)
		// A client that disconnects is no error of the server.
		_, _ = io.CopyBuffer(struct{ io.Writer }{ctx.BodyWriter()}, struct{ io.Reader }{r}, make([]byte, streamBytes))
	}}, nil
}

func (s *server) upload(ctx context.Context, in *uploadInput) (*none, error) {
	id, d, err := in.name()
	if err != nil {
		return nil, s.problem(err)
	}
	release, err := s.gate.AcquireBody(ctx, tenantOf(ctx), streamBytes)
	if err != nil {
		return nil, s.problem(err)
	}
	defer release()
	if err := s.store.PutSegment(ctx, indexRef(ctx, id), d, in.length, in.stream(s.o.StallTimeout, minStreamed)); err != nil {
		return nil, s.problem(err)
	}
	in.drain(s.o.StallTimeout) // the store does not read a segment that it already has
	return nil, nil
}
