// Package photoprism implements PhotoPrism's vision-service protocol, so that
// an unmodified PhotoPrism gets its labels from an encrypted index:
//
//	PhotoPrism ─▶ POST /api/v1/vision/labels ─▶ images ─▶ device.Index ║─▶ the cloud
//	           ◀─ labels, confidence 0…1     ◀─ keywords ◀─            ║
//
// The protocol follows PhotoPrism's releases of 2025 and 2026
// (internal/ai/vision, read and not copied). A request is JSON:
//
//	field    type      here
//	id       string    returned as received, if it has 1 to 64 of A-Z a-z 0-9 - _ . :
//	images   []string  required, 1 to MaxImages: "data:image/jpeg;base64,…", or base64 alone;
//	                   several are crops of one photo (centre, left and right of 224 pixels)
//	url      string    refused unless empty: this service fetches no address
//	model, version, system, prompt, suffix, format, options, context, stream, think: ignored
//
// A response is JSON too, with any status:
//
//	field                type      here
//	id                   string    of the request
//	code                 int       the HTTP status; PhotoPrism treats 400 and above as an error
//	error                string    the problem with the request, if code is 400 or above
//	model                object    type "labels", name "cpar", version "latest"
//	result.labels        []object  most confident first; empty if none is likely
//	  name               string    a keyword
//	  source             string    "image", the source of PhotoPrism's own classifier
//	  confidence         float     its probability; PhotoPrism's uncertainty is 100-100·confidence
//	  topicality         float     the same
//
// The key is sent as "Authorization: Bearer KEY". PhotoPrism sends nothing when
// it starts and takes the address from vision.yml (docs/PROGRAMS.md).
//
// Input is hostile: any web page, any program on this machine and, in a
// container network, any neighbour can connect.
package photoprism

import "time"

const (
	// MaxBody limits a request, with room for a 7680-pixel image in base64.
	MaxBody = 16 << 20
	// MaxImages leaves room beyond a photo's three crops.
	MaxImages = 8
	// working is the number of requests processed concurrently, and waiting the number
	// of requests queued. The bodies of queued requests are not in memory.
	working, waiting = 2, 8
)

const (
	bodyTimeout  = 30 * time.Second
	labelTimeout = 5 * time.Minute
)

type Label struct {
	Name       string  `json:"name"`
	Source     string  `json:"source"`
	Confidence float64 `json:"confidence"`
	Topicality float64 `json:"topicality"`
}

type model struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

type result struct {
	Labels []Label `json:"labels,omitempty"`
}

type response struct {
	ID     string `json:"id,omitempty"`
	Code   int    `json:"code"`
	Error  string `json:"error,omitempty"`
	Model  *model `json:"model,omitempty"`
	Result result `json:"result"`
}
