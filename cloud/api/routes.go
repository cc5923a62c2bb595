package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"cpar"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
)

type none struct{}

// An IndexPath is the path parameter of an index. It is exported because the
// framework huma inspects only exported embedded structs.
type IndexPath struct {
	ID string `path:"id" pattern:"^[0-9a-f]{32}$" doc:"The id of the index, with 32 lower-case hexadecimal digits"`
}

func (in *IndexPath) index(ctx context.Context) store.IndexRef {
	id, _ := cpar.ParseIndexID(in.ID) // cannot fail, because the pattern has matched
	return store.IndexRef{Tenant: tenantOf(ctx), Index: id}
}

type SegmentPath struct {
	IndexPath
	Digest string `path:"digest" pattern:"^[0-9a-f]{64}$" doc:"The SHA-256 of the segment, with 64 lower-case hexadecimal digits"`
}

func (in *SegmentPath) digest() cpar.Digest {
	d, _ := cpar.ParseDigest(in.Digest) // cannot fail, because the pattern has matched
	return d
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

type sizeOutput struct {
	// huma omits zero headers, but an empty segment has length 0.
	Length string `header:"Content-Length"`
	Type   string `header:"Content-Type"`
}

type operation struct {
	name, method, path, summary string
	takes, gives                string   // descriptions of the binary bodies, or ""
	fails                       []string // problem codes in addition to the common codes
}

const securityName = "token"

var binaryContent = map[string]*huma.MediaType{cparhttp.TypeBinary: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}

// handle registers an operation for tokens with one of these scopes, or admin.
func handle[I, O any](s *server, h huma.API, scopes tenant.Scopes, o operation, f func(context.Context, *I) (*O, error)) {
	op := huma.Operation{OperationID: o.name, Method: o.method, Path: o.path, Summary: o.summary,
		Security: []map[string][]string{}, Responses: map[string]*huma.Response{"default": {
			Description: "A problem. The member code identifies its kind for programs.", Content: problemContent,
		}}}
	if o.takes != "" {
		op.RequestBody = &huma.RequestBody{Description: o.takes, Required: true, Content: binaryContent}
	}
	if o.gives != "" {
		op.Responses["200"] = &huma.Response{Description: o.gives, Content: binaryContent}
	}
	for _, name := range scopes.Names() {
		op.Security = append(op.Security, map[string][]string{securityName: {name}})
	}
	describeProblems(&op, o.fails, scopes != anybody)
	s.scopes[o.method+" "+o.path] = scopes
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, s.problem(err)
		}
		return out, nil
	})
}

func (s *server) register(h huma.API) {
	const get, put, post = http.MethodGet, http.MethodPut, http.MethodPost
	with := func(codes []string, more ...string) []string { return slices.Concat(codes, more) }
	storage := []string{cparhttp.CodeStorage, cparhttp.CodeAway}
	index := with(storage, cparhttp.CodeInput)
	stored := with(index, cparhttp.CodeNotFound, cparhttp.CodeCorrupt, cparhttp.CodeVersion)
	pushed := with(index, cparhttp.CodeTooLarge, cparhttp.CodeVersion)
	search := with(stored, cparhttp.CodeTooLarge)
	handle(s, h, anybody, operation{"health", get, cparhttp.PathHealth, "Check that the cloud is running", "", "", nil}, s.health)
	handle(s, h, anyToken, operation{"token", get, cparhttp.PathToken, "Show the scopes of the request's token", "", "", nil}, s.token)
	handle(s, h, tenant.Admin, operation{"usage", get, cparhttp.PathUsage,
		"Show the used storage and the limits", "", "", storage}, s.usage)
	handle(s, h, tenant.Annotate|tenant.Delete, operation{"list-indexes", get, cparhttp.PathIndexes,
		"List the active indexes", "", "", storage}, s.list)
	handle(s, h, tenant.Delete, operation{"delete-index", http.MethodDelete, cparhttp.PathIndex,
		"Delete an index", "", "", with(index, cparhttp.CodeNotFound)}, s.delete)
	// A device that pushes reads the manifest, so that it does not overwrite
	// another device's push.
	handle(s, h, anyIndex, operation{"get-manifest", get, cparhttp.PathManifest,
		"Fetch the active manifest", "", "The manifest", stored}, s.manifest)
	handle(s, h, tenant.Push, operation{"activate-index", put, cparhttp.PathManifest,
		"Activate an index after all its segments are uploaded", "The manifest", "", with(pushed, cparhttp.CodeIncomplete)}, s.activate)
	handle(s, h, tenant.Push, operation{"missing-segments", post, cparhttp.PathMissing,
		"List the segments of a manifest that are not uploaded yet", "The manifest", "", pushed}, s.missing)
	handle(s, h, anyIndex, operation{"has-segment", http.MethodHead, cparhttp.PathSegment,
		"Check whether a segment is stored, in an active index or as an upload", "", "", with(index, cparhttp.CodeNotFound, cparhttp.CodeVersion)}, s.hasSegment)
	// The scope "delete" is enough. To delete an index by name, a client reads
	// the segment that contains the name.
	handle(s, h, tenant.Annotate|tenant.Delete, operation{"get-segment", get, cparhttp.PathSegment,
		"Fetch a segment of the active index", "", "The segment's bytes", stored}, s.segment)
	handle(s, h, tenant.Push, operation{"put-segment", put, cparhttp.PathSegment,
		"Upload a segment", "The segment's bytes, which must have the digest in the path", "", with(index, cparhttp.CodeTooLarge, cparhttp.CodeQuota, cparhttp.CodeIncomplete)}, s.upload)
	handle(s, h, tenant.Annotate, operation{"annotate", post, cparhttp.PathAnnotate,
		"Find the records nearest to an encrypted request", "The request", "The reply", search}, s.annotate)
	handle(s, h, tenant.Annotate, operation{"annotate-batch", post, cparhttp.PathAnnotateBatch,
		fmt.Sprintf("Answer 1 to %d encrypted requests together", cparhttp.MaxBatch),
		"The number of requests (4 bytes), then for each request its length (4 bytes) and the request",
		"The number of replies (4 bytes), then for each reply its length (4 bytes) and the reply, in the order of the requests", search}, s.annotateBatch)
	s.registerAlbums(h, storage)
}

func (s *server) health(context.Context, *none) (*healthOutput, error) {
	return &healthOutput{cparhttp.Health{Status: "ok", Format: cpar.Version}}, nil
}

func (s *server) list(ctx context.Context, _ *none) (*listOutput, error) {
	done, err := s.gate.AcquireCheck(ctx, tenantOf(ctx))
	if err != nil {
		return nil, err
	}
	defer done()
	infos, err := s.store.List(ctx, tenantOf(ctx))
	if err == nil {
		err = s.hold(ctx, s.gate.AcquireReply, int64(len(infos))*infoBytes)
	}
	if err != nil {
		return nil, err
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
	return nil, s.store.Delete(ctx, in.index(ctx))
}

func (s *server) manifest(ctx context.Context, in *IndexPath) (*binaryOutput, error) {
	b, err := s.store.Manifest(ctx, in.index(ctx))
	if err == nil {
		err = s.hold(ctx, s.gate.AcquireReply, int64(len(b)))
	}
	return &binaryOutput{cparhttp.TypeBinary, b}, err
}

const infoBytes = 512

// manifestTimes is the memory that a manifest takes, in multiples of its encoded
// size. It covers the encoded and the decoded form, a map by digest, and the
// text in the response.
const manifestTimes = 8

func (s *server) activate(ctx context.Context, in *bodyInput) (*none, error) {
	b, err := s.readBody(ctx, &in.body, cparhttp.MaxManifestBytes, manifestTimes)
	if err != nil {
		return nil, err
	}
	done, err := s.gate.AcquireBuild(ctx, tenantOf(ctx))
	if err != nil {
		return nil, err
	}
	defer done()
	return nil, s.store.PutManifest(ctx, in.index(ctx), b)
}

func (s *server) missing(ctx context.Context, in *bodyInput) (*missingOutput, error) {
	b, err := s.readBody(ctx, &in.body, cparhttp.MaxManifestBytes, manifestTimes)
	if err != nil {
		return nil, err
	}
	done, err := s.gate.AcquireCheck(ctx, tenantOf(ctx))
	if err != nil {
		return nil, err
	}
	defer done()
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		return nil, err
	}
	digests, err := s.store.Missing(ctx, in.index(ctx), m)
	out := &missingOutput{cparhttp.MissingList{Missing: []string{}}}
	for _, d := range digests {
		out.Body.Missing = append(out.Body.Missing, d.String())
	}
	return out, err
}

func (s *server) hasSegment(ctx context.Context, in *SegmentPath) (*sizeOutput, error) {
	done, err := s.gate.AcquireCheck(ctx, tenantOf(ctx)) // may read the whole segment
	if err != nil {
		return nil, err
	}
	defer done()
	size, ok, err := s.store.HasSegment(ctx, in.index(ctx), in.digest())
	if err == nil && !ok {
		err = fmt.Errorf("segment %s: %w: %w", in.Digest, cpar.ErrInput, store.ErrNotFound)
	}
	return &sizeOutput{fmt.Sprint(size), cparhttp.TypeBinary}, err
}

func (s *server) segment(ctx context.Context, in *SegmentPath) (*streamOutput, error) {
	if err := s.hold(ctx, s.gate.AcquireBody, streamBytes); err != nil {
		return nil, err
	}
	if err := s.load(ctx, in.index(ctx)); err != nil {
		return nil, err
	}
	r, err := s.store.OpenSegment(ctx, in.index(ctx), in.digest())
	if err != nil {
		return nil, err
	}
	return &streamOutput{func(ctx huma.Context) {
		defer r.Close()
		ctx.SetHeader("Content-Type", cparhttp.TypeBinary)
		ctx.SetHeader("Content-Length", fmt.Sprint(r.Size()))
		ctx.SetStatus(http.StatusOK)
		// A client that disconnects is not a server error.
		_, _ = io.CopyBuffer(struct{ io.Writer }{ctx.BodyWriter()}, struct{ io.Reader }{r}, make([]byte, streamBytes))
	}}, nil
}

func (s *server) upload(ctx context.Context, in *uploadInput) (*none, error) {
	if err := s.hold(ctx, s.gate.AcquireBody, streamBytes); err != nil {
		return nil, err
	}
	err := s.store.PutSegment(ctx, in.index(ctx), in.digest(), in.length, in.stream(s.o.StallTimeout, minStreamed))
	if !errors.Is(err, errBodyCut) {
		in.drain(s.o.StallTimeout) // the store may return without reading the body
	}
	return nil, err
}
