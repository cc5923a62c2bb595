// Package cparhttp is the HTTP protocol between a device and the server:
// routes, errors, and the device's client. It links neither user/ nor cloud/.
//
//	GET    /v1/health                             health and format version
//	GET    /v1/token                              scopes of the request's token (JSON)
//	GET    /v1/usage                              storage used and its limit (JSON)
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
// A device fetches an index of scheme local segment by segment. An update is a
// push under the same id: missing segments are uploaded, then activation
// atomically replaces the index.
//
// Bodies are the canonical encoding of package cpar, a batch of package wire,
// or a segment's bytes, as application/octet-stream, unless marked JSON. Errors
// are RFC 9457 problem details with an additional member, `code`. See Problem.
package cparhttp

import (
	"strings"

	"cpar"
)

// The routes, as patterns of net/http and OpenAPI.
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

	// These need no token and are not in the OpenAPI document.
	PathHealthz     = "/healthz" // is the process alive
	PathReadyz      = "/readyz"  // may requests be sent to it
	PathProblem     = "/problems/{code}"
	PathOpenAPIJSON = "/openapi.json"
	PathOpenAPIYAML = "/openapi.yaml"
	PathOpenAPI30   = "/openapi-3.0.json" // the same for generators without OpenAPI 3.1
)

var Routes = []string{PathHealth, PathToken, PathUsage, PathIndexes, PathIndex, PathManifest, PathMissing, PathSegment, PathAnnotate,
	PathAnnotateBatch, PathAlbums, PathBlobs, PathBlob, PathHealthz, PathReadyz, PathProblem, PathOpenAPIJSON, PathOpenAPIYAML, PathOpenAPI30}

const (
	TypeBinary  = "application/octet-stream"
	TypeJSON    = "application/json"
	TypeProblem = "application/problem+json"
)

// Limits of bodies read whole, in bytes.
const (
	MaxManifestBytes = 4 << 20
	maxJSONBytes     = 16 << 20
	maxProblemBytes  = 64 << 10
)

// Health is the response to PathHealth.
type Health struct {
	Status string `json:"status" doc:"ok"`
	// Format is cpar.Version, the version of every binary body.
	Format int `json:"format" doc:"The version of the binary formats spoken here"`
}

// TokenInfo is the response to PathToken.
type TokenInfo struct {
	Needed bool     `json:"needed" doc:"Whether this cloud needs a token at all"`
	Scopes []string `json:"scopes" nullable:"false" doc:"What the token may do: annotate, push, delete, album, admin"`
}

// UsageInfo is the response to PathUsage. A zero limit means none.
type UsageInfo struct {
	Indexes int   `json:"indexes" doc:"How many are active"`
	Bytes   int64 `json:"bytes" doc:"The size of the segments of active indexes"`
	Pending int64 `json:"pending_bytes" doc:"The size of segments that no active index names, uploads in progress among them"`

	Albums       int   `json:"albums" doc:"How many there are"`
	Blobs        int   `json:"blobs" doc:"How many the albums have"`
	BlobBytes    int64 `json:"blob_bytes" doc:"The size of these blobs"`
	DeletedBytes int64 `json:"deleted_bytes" doc:"The size of deleted blobs that are still recoverable, which count too"`

	StorageBytes      int64   `json:"storage_bytes" doc:"The most that may be stored, pending bytes included; 0 if there is no limit"`
	RequestsPerSecond float64 `json:"requests_per_second" doc:"The most on average; 0 if there is no limit"`
	Burst             int     `json:"burst" doc:"The most at once after a pause; 0 if there is no limit"`
	Concurrent        int     `json:"concurrent" doc:"The most that are worked on at the same time; 0 if there is no limit"`
}

// IndexInfo describes an index in an IndexList.
type IndexInfo struct {
	ID      cpar.IndexID `json:"id" doc:"32 lower-case hexadecimal digits"`
	Scheme  string       `json:"scheme" doc:"cpar, capia, sealed, local or ivf"`
	Records uint32       `json:"records"`
	Bytes   uint64       `json:"bytes" doc:"The size of all segments"`
	// Damaged describes damage to the index, or is empty.
	Damaged string `json:"damaged,omitempty" doc:"What is wrong with the index; absent if nothing"`
}

// IndexList is the response to PathIndexes.
type IndexList struct {
	Indexes []IndexInfo `json:"indexes" nullable:"false"`
}

// MissingList is the response to PathMissing.
type MissingList struct {
	Missing []string `json:"missing" nullable:"false" doc:"Digests of segments to upload, 64 lower-case hexadecimal digits each"`
}

func route(pattern string, id cpar.IndexID, d ...cpar.Digest) string {
	p := strings.Replace(pattern, "{id}", id.String(), 1)
	for _, d := range d {
		p = strings.Replace(p, "{digest}", d.String(), 1)
	}
	return p
}
