// Package vision speaks PhotoPrism's vision-service protocol, so that PhotoPrism gets
// its labels from an encrypted index and changes nothing:
//
//	PhotoPrism ─▶ POST /api/v1/vision/labels ─▶ pictures ─▶ device.Index ║─▶ the cloud
//	           ◀─ labels, confidence 0…1     ◀─ keywords ◀─              ║
//
// The protocol, as PhotoPrism's releases of 2025 and 2026 speak it (their
// internal/ai/vision, read and not copied). A request is JSON:
//
//	field    type      here
//	id       string    returned as it came, if it has 1 to 64 of A-Z a-z 0-9 - _ . :
//	images   []string  required, 1 to MaxImages: "data:image/jpeg;base64,…", or base64 alone;
//	                   several are parts of one photo (centre, left and right of 224 pixels)
//	url      string    refused unless empty: this service fetches no address
//	model, version, system, prompt, suffix, format, options, context, stream, think: ignored
//
// So is the answer, whatever the status:
//
//	field                type      here
//	id                   string    that of the request
//	code                 int       the HTTP status; PhotoPrism takes 400 and more for an error
//	error                string    what is wrong with the request, when code is 400 or more
//	model                object    type "labels", name "cpar", version "latest"
//	result.labels        []object  the most confident first; none where nothing is likely
//	  name               string    a keyword
//	  source             string    "image", the source of PhotoPrism's own classifier
//	  confidence         float     its probability; PhotoPrism makes 100-100·confidence its uncertainty
//	  topicality         float     the same
//
// The key comes as "Authorization: Bearer KEY". Nothing is asked when PhotoPrism starts:
// it knows the address from its vision.yml (docs/PROGRAMS.md).
//
// What reaches this package is hostile: any page in a browser, any program of this
// machine and, in a container's network, any neighbour can connect.
package photoprism

import (
	"encoding/json"
	"time"
)

// Limits of a request.
const (
	// MaxBody is the size of a request: a picture of 7680 pixels in base64, and room.
	MaxBody = 16 << 20
	// MaxImages is far more than the three parts of a photo.
	MaxImages = 8
	// working is how many requests are worked on at once, waiting how many more wait
	// for that. Only those worked on have their bodies in memory.
	working, waiting = 2, 8
)

// bodyTimeout and labelTimeout are how long a body and an answer may take.
const (
	bodyTimeout  = 30 * time.Second
	labelTimeout = 5 * time.Minute
)

// A Label is a keyword for a photo.
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

// response is an answer. PhotoPrism writes an empty result, so this does.
type response struct {
	ID     string `json:"id,omitempty"`
	Code   int    `json:"code"`
	Error  string `json:"error,omitempty"`
	Model  *model `json:"model,omitempty"`
	Result result `json:"result"`
}

func encode(r response) []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and finite numbers
	}
	return append(b, '\n')
}
