package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
)

// AlbumPath and BlobPath are path parameters, exported for huma like IndexPath.
type AlbumPath struct {
	Album string `path:"album" pattern:"^[0-9a-f]{32}$" doc:"The id of the album, with 32 lower-case hexadecimal digits"`
}

type BlobPath struct {
	AlbumPath
	Name string `path:"name" pattern:"^[a-z0-9_-][a-z0-9._-]{0,127}$" doc:"The name of the blob. It has 1 to 128 of the characters a-z, 0-9, '.', '_' and '-', and does not begin with a dot."`
}

func (in *BlobPath) ref(ctx context.Context) album.Ref {
	return album.Ref{Tenant: tenantOf(ctx), Album: in.Album, Name: in.Name}
}

type blobsInput struct {
	AlbumPath
	Prefix string `query:"prefix" maxLength:"128" doc:"List only blobs whose names begin with this prefix"`
	After  string `query:"after" maxLength:"128" doc:"List only blobs whose names come after this name in the order of bytes"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"The maximum number of blobs to list"`
}

type getBlobInput struct {
	BlobPath
	Range string `header:"Range" doc:"One range of bytes, such as bytes=0-99. A header with several ranges is ignored."`
}

type putBlobInput struct {
	BlobPath
	SHA256      string `header:"Cpar-Sha256" pattern:"^[0-9a-f]{64}$" required:"true" doc:"The SHA-256 of the body, with 64 lower-case hexadecimal digits"`
	IfNoneMatch string `header:"If-None-Match" enum:"*" doc:"Store the blob unless another blob has its name. A request needs exactly one of If-None-Match and If-Match."`
	IfMatch     string `header:"If-Match" pattern:"^\"[0-9a-f]{64}\"$" doc:"Replace the blob that has this ETag. Only the blobs kopia.repository, kopia.blobcfg and kopia.maintenance can be replaced."`
	body
}

type albumsOutput struct{ Body cparhttp.AlbumList }
type blobsOutput struct{ Body cparhttp.BlobList }
type putBlobOutput struct{ Status int }

func (s *server) registerAlbums(h huma.API, storage []string) {
	const get = http.MethodGet
	with := func(codes ...string) []string {
		return slices.Concat(storage, []string{cparhttp.CodeCorrupt, cparhttp.CodeVersion, cparhttp.CodeInput}, codes)
	}
	handle(s, h, tenant.Album, operation{"list-albums", get, cparhttp.PathAlbums,
		"List the albums", "", "", with()}, s.albums)
	handle(s, h, tenant.Album, operation{"list-blobs", get, cparhttp.PathBlobs,
		"List blobs of an album, in the order of their names", "", "", with()}, s.blobs)
	handle(s, h, tenant.Album, operation{"has-blob", http.MethodHead, cparhttp.PathBlob,
		"Describe a blob: its size, its digest as ETag, and its time", "", "", with(cparhttp.CodeNotFound)}, s.hasBlob)
	handle(s, h, tenant.Album, operation{"get-blob", get, cparhttp.PathBlob,
		"Fetch a blob, or a range of it with status 206", "", "The blob's bytes", with(cparhttp.CodeNotFound, cparhttp.CodeRange)}, s.getBlob)
	handle(s, h, tenant.Album, operation{"put-blob", http.MethodPut, cparhttp.PathBlob,
		"Store a blob. The status is 201 if it is new and 200 if it is stored already", "The blob's bytes, with the digest that Cpar-Sha256 gives", "",
		with(cparhttp.CodeTooLarge, cparhttp.CodeQuota, cparhttp.CodeExists, cparhttp.CodeChanged)}, s.putBlob)
	handle(s, h, tenant.Album, operation{"delete-blob", http.MethodDelete, cparhttp.PathBlob,
		"Delete a blob, if it exists. The operator can recover it for some time", "", "", with()}, s.deleteBlob)
	blob := h.OpenAPI().Paths[cparhttp.PathBlob]
	blob.Get.Responses["206"] = &huma.Response{Description: "The bytes of the range", Content: binaryContent}
	delete(blob.Put.Responses, "204")
	blob.Put.Responses["200"] = &huma.Response{Description: "The blob was stored before"}
	blob.Put.Responses["201"] = &huma.Response{Description: "The blob is stored"}
}

func (s *server) albums(ctx context.Context, _ *none) (*albumsOutput, error) {
	u, err := s.store.Albums().Usage(ctx, tenantOf(ctx))
	if err == nil {
		err = s.hold(ctx, s.gate.AcquireReply, int64(u.Albums)*infoBytes)
	}
	if err != nil {
		return nil, err
	}
	list, err := s.store.Albums().Albums(ctx, tenantOf(ctx))
	out := &albumsOutput{cparhttp.AlbumList{Albums: []cparhttp.AlbumInfo{}}}
	for _, x := range list {
		if x.Blobs > 0 { // otherwise all its blobs are deleted
			out.Body.Albums = append(out.Body.Albums, cparhttp.AlbumInfo{Album: x.Album, Blobs: x.Blobs, Bytes: x.Bytes})
		}
	}
	return out, err
}

func (s *server) blobs(ctx context.Context, in *blobsInput) (*blobsOutput, error) {
	if err := s.hold(ctx, s.gate.AcquireReply, int64(in.Limit)*infoBytes); err != nil {
		return nil, err
	}
	list, more, err := s.store.Albums().List(ctx, tenantOf(ctx), in.Album, in.Prefix, in.After, in.Limit)
	out := &blobsOutput{cparhttp.BlobList{Blobs: []cparhttp.BlobInfo{}}}
	for _, b := range list {
		out.Body.Blobs = append(out.Body.Blobs, cparhttp.BlobInfo(b))
	}
	if more {
		out.Body.Next = list[len(list)-1].Name
	}
	return out, err
}

// errRange means that the requested range lies beyond the end of the blob.
var errRange = errors.New("the blob has no such bytes")

type blobOutput struct {
	Length       string `header:"Content-Length"`
	Type         string `header:"Content-Type"`
	ETag         string `header:"ETag"`
	LastModified string `header:"Last-Modified"`
	AcceptRanges string `header:"Accept-Ranges"`
}

func describeBlob(b album.Blob) *blobOutput {
	return &blobOutput{fmt.Sprint(b.Bytes), cparhttp.TypeBinary, strconv.Quote(b.SHA256.String()), b.Modified.UTC().Format(http.TimeFormat), "bytes"}
}

func (s *server) hasBlob(ctx context.Context, in *BlobPath) (*blobOutput, error) {
	b, err := s.store.Albums().Stat(ctx, in.ref(ctx))
	if err != nil {
		return nil, err
	}
	return describeBlob(b), nil
}

func (s *server) getBlob(ctx context.Context, in *getBlobInput) (*streamOutput, error) {
	if err := s.hold(ctx, s.gate.AcquireBody, streamBytes); err != nil {
		return nil, err
	}
	var from, length int64
	part := false
	b, r, err := s.store.Albums().Get(ctx, in.ref(ctx), func(b album.Blob) (int64, int64, error) {
		if from, length, part = parseRange(in.Range, b.Bytes); length <= 0 && part {
			return 0, 0, fmt.Errorf("%w: %w: %q", cpar.ErrInput, errRange, in.Range)
		}
		return from, length, nil
	})
	if err != nil {
		return nil, err
	}
	return &streamOutput{func(ctx huma.Context) {
		defer r.Close()
		h := describeBlob(b)
		ctx.SetHeader("Content-Type", h.Type)
		ctx.SetHeader("ETag", h.ETag)
		ctx.SetHeader("Last-Modified", h.LastModified)
		ctx.SetHeader("Accept-Ranges", h.AcceptRanges)
		ctx.SetHeader("Content-Length", fmt.Sprint(length))
		status := http.StatusOK
		if part {
			status = http.StatusPartialContent
			ctx.SetHeader("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+length-1, b.Bytes))
		}
		ctx.SetStatus(status)
		// A client that disconnects is not a server error. A short body breaks
		// the connection.
		_, _ = io.CopyBuffer(struct{ io.Writer }{ctx.BodyWriter()}, struct{ io.Reader }{r}, make([]byte, streamBytes))
	}}, nil
}

// parseRange returns the range that a Range header names in a blob of `size`
// bytes. It ignores a header that names no range or several, as RFC 9110
// permits. The length is 0 or less if the blob has no such bytes.
func parseRange(header string, size int64) (from, length int64, part bool) {
	span, ok := strings.CutPrefix(header, "bytes=")
	first, last, found := strings.Cut(span, "-")
	if !ok || !found {
		return 0, size, false
	}
	a, err1 := strconv.ParseUint(first, 10, 62)
	z, err2 := strconv.ParseUint(last, 10, 62)
	from, to := int64(a), int64(z)+1
	switch {
	case err1 == nil && last == "":
		to = size
	case first == "" && err2 == nil:
		from, to = max(size-int64(z), 0), size
	case err1 != nil || err2 != nil:
		return 0, size, false
	}
	return from, min(to, size) - from, true
}

func (s *server) putBlob(ctx context.Context, in *putBlobInput) (*putBlobOutput, error) {
	created, err := s.receiveBlob(ctx, in)
	if !errors.Is(err, errBodyCut) {
		in.drain(s.o.StallTimeout) // an existing or refused blob is not read
	}
	if created {
		return &putBlobOutput{http.StatusCreated}, err
	}
	return &putBlobOutput{http.StatusOK}, err
}

func (s *server) receiveBlob(ctx context.Context, in *putBlobInput) (created bool, err error) {
	var old *cpar.Digest
	switch {
	case (in.IfNoneMatch == "") == (in.IfMatch == ""):
		return false, fmt.Errorf("%w: the request needs one of If-None-Match and If-Match", cpar.ErrInput)
	case in.length < 0:
		return false, fmt.Errorf("%w: the request needs a Content-Length", cpar.ErrInput)
	case in.length > cparhttp.MaxBlobBytes:
		return false, tooLarge(cparhttp.MaxBlobBytes)
	case in.IfMatch != "":
		d, err := cpar.ParseDigest(strings.Trim(in.IfMatch, `"`))
		if err != nil {
			return false, err
		}
		old = &d
	}
	sum, err := cpar.ParseDigest(in.SHA256)
	if err == nil {
		err = s.hold(ctx, s.gate.AcquireBody, streamBytes)
	}
	if err != nil {
		return false, err
	}
	return s.store.Albums().Put(ctx, in.ref(ctx), in.length, sum, old, in.stream(s.o.StallTimeout, minStreamed))
}

func (s *server) deleteBlob(ctx context.Context, in *BlobPath) (*none, error) {
	return nil, s.store.Albums().Delete(ctx, in.ref(ctx))
}
