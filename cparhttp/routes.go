// Package cparhttp is the HTTP protocol between a device and the server:
// routes, errors, and the device's client. It links neither user/ nor cloud/.
//
//	GET    /v1/health                             health and format version
//	GET    /v1/token                              scopes of the request's token (JSON)
//	GET    /v1/usage                              used storage and the tenant's limits (JSON)
//	GET    /v1/indexes                            list the indexes (JSON)
//	DELETE /v1/indexes/{id}
//	GET    /v1/indexes/{id}/manifest              cpar.Manifest
//	PUT    /v1/indexes/{id}/manifest              activate: cpar.Manifest
//	POST   /v1/indexes/{id}/missing               cpar.Manifest ─▶ digests still missing (JSON)
//	HEAD   /v1/indexes/{id}/segments/{digest}
//	GET    /v1/indexes/{id}/segments/{digest}     bytes
//	PUT    /v1/indexes/{id}/segments/{digest}     bytes
//	POST   /v1/indexes/{id}/annotate              cpar.Request ─▶ cpar.Reply
//	POST   /v1/indexes/{id}/annotate-batch        batch of requests ─▶ batch of replies
//	GET    /v1/albums                             list the albums (JSON)
//	GET    /v1/albums/{album}/blobs               list blobs, page by page (JSON)
//	HEAD   /v1/albums/{album}/blobs/{name}
//	GET    /v1/albums/{album}/blobs/{name}        bytes, or a range of them
//	PUT    /v1/albums/{album}/blobs/{name}        bytes
//	DELETE /v1/albums/{album}/blobs/{name}
//
// A device fetches an index of scheme "local" segment by segment. To update an
// index, a device uploads the missing segments under the same id. Activation
// then replaces the index atomically.
//
// Bodies that are not marked JSON have type application/octet-stream. They
// contain the canonical encoding of package cpar, a batch of package
// internal/wire, or a segment's bytes. Errors are RFC 9457 problem details with
// an additional member, `code`. See Problem.
package cparhttp

import (
	"strings"

	"cpar"
)

// These constants are the routes, as patterns of net/http and OpenAPI.
const (
	PathHealth        = "/v1/health"
	PathToken         = "/v1/token"
	PathUsage         = "/v1/usage"
	PathIndexes       = "/v1/indexes"
	PathIndex         = "/v1/indexes/{id}"
	PathManifest      = "/v1/indexes/{id}/manifest"
	PathMissing       = "/v1/indexes/{id}/missing"
	PathSegment       = "/v1/indexes/{id}/segments/{digest}"
	PathAnnotate      = "/v1/indexes/{id}/annotate"
	PathAnnotateBatch = "/v1/indexes/{id}/annotate-batch"
	PathAlbums        = "/v1/albums"
	PathBlobs         = "/v1/albums/{album}/blobs"
	PathBlob          = "/v1/albums/{album}/blobs/{name}"

	// The following routes need no token and are not in the OpenAPI document.
	PathHealthz     = "/healthz" // reports whether the process is alive
	PathReadyz      = "/readyz"  // reports whether the process can serve requests
	PathProblem     = "/problems/{code}"
	PathOpenAPIJSON = "/openapi.json"
	PathOpenAPIYAML = "/openapi.yaml"
	PathOpenAPI30   = "/openapi-3.0.json" // for client generators without OpenAPI 3.1
)

var Routes = []string{PathHealth, PathToken, PathUsage, PathIndexes, PathIndex, PathManifest, PathMissing, PathSegment, PathAnnotate,
	PathAnnotateBatch, PathAlbums, PathBlobs, PathBlob, PathHealthz, PathReadyz, PathProblem, PathOpenAPIJSON, PathOpenAPIYAML, PathOpenAPI30}

const (
	TypeBinary  = "application/octet-stream"
	TypeJSON    = "application/json"
	TypeProblem = "application/problem+json"
)

// These constants limit bodies that are read into memory, in bytes.
const (
	MaxManifestBytes = 4 << 20
	maxJSONBytes     = 16 << 20
	maxProblemBytes  = 64 << 10
)

type Health struct {
	Status string `json:"status" doc:"ok"`
	Format int    `json:"format" doc:"The version of the binary formats that the cloud reads and writes"`
}

type TokenInfo struct {
	Needed bool     `json:"needed" doc:"Whether this cloud needs a token at all"`
	Scopes []string `json:"scopes" nullable:"false" doc:"What the token may do: annotate, push, delete, album, admin"`
}

// UsageInfo describes a tenant's used storage and its limits. A limit of 0 means
// unlimited.
type UsageInfo struct {
	Indexes int   `json:"indexes" doc:"The number of active indexes"`
	Bytes   int64 `json:"bytes" doc:"The total size of the segments of active indexes, in bytes"`
	Pending int64 `json:"pending_bytes" doc:"The total size of segments outside active indexes, in bytes. It includes uploads in progress."`

	Albums       int   `json:"albums" doc:"The number of albums"`
	Blobs        int   `json:"blobs" doc:"The number of blobs in all albums"`
	BlobBytes    int64 `json:"blob_bytes" doc:"The total size of these blobs, in bytes"`
	DeletedBytes int64 `json:"deleted_bytes" doc:"The total size of deleted blobs that are still recoverable, in bytes. It counts towards the quota."`

	StorageBytes      int64   `json:"storage_bytes" doc:"The storage quota in bytes. It covers active segments, pending segments, blobs and deleted blobs. It is 0 if there is no limit."`
	RequestsPerSecond float64 `json:"requests_per_second" doc:"The maximum average number of requests per second. It is 0 if there is no limit."`
	Burst             int     `json:"burst" doc:"The maximum number of requests at once after a pause. It is 0 if there is no limit."`
	Concurrent        int     `json:"concurrent" doc:"The maximum number of requests that the cloud works on at the same time. It is 0 if there is no limit."`
}

type IndexInfo struct {
	ID      cpar.IndexID `json:"id" doc:"32 lower-case hexadecimal digits"`
	Scheme  string       `json:"scheme" doc:"cpar, capia, sealed, local or ivf"`
	Records uint32       `json:"records"`
	Bytes   uint64       `json:"bytes" doc:"The size of all segments"`
	Damaged string       `json:"damaged,omitempty" doc:"A description of the damage to the index. The member is absent if the index is intact."`
}

type IndexList struct {
	Indexes []IndexInfo `json:"indexes" nullable:"false"`
}

type MissingList struct {
	Missing []string `json:"missing" nullable:"false" doc:"The digests of the segments to upload, each with 64 lower-case hexadecimal digits"`
}

func route(pattern string, id cpar.IndexID, d ...cpar.Digest) string {
	p := strings.Replace(pattern, "{id}", id.String(), 1)
	for _, d := range d {
		p = strings.Replace(p, "{digest}", d.String(), 1)
	}
	return p
}
