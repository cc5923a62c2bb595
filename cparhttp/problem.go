package cparhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/untrusted"
)

// The codes of a Problem. They are part of the protocol and do not change.
const (
	CodeInput      = "input"      // the request cannot be used
	CodeCorrupt    = "corrupt"    // a body, or the index at the cloud, is damaged
	CodeVersion    = "version"    // a body of another format version
	CodeStorage    = "storage"    // the cloud cannot write
	CodeNotFound   = "not_found"  // no such index, segment or route
	CodeIncomplete = "incomplete" // a manifest's segments are not all there
	CodeTooLarge   = "too_large"  // a body beyond its limit
	CodeForbidden  = "forbidden"  // from a browser, or under another host's name
	CodeBusy       = "busy"       // no time left before the request's turn came
	CodeInternal   = "internal"   // a bug of the cloud's
)

// A Problem is the body of every answer that is not a success.
type Problem struct {
	Title  string `json:"title"`            // the HTTP status in words
	Status int    `json:"status"`           // the HTTP status code
	Code   string `json:"code"`             // for programs
	Detail string `json:"detail,omitempty"` // for people
}

// Codes lists all of them.
var Codes = []string{CodeInput, CodeCorrupt, CodeVersion, CodeStorage, CodeNotFound,
	CodeIncomplete, CodeTooLarge, CodeForbidden, CodeBusy, CodeInternal}

// ErrNotFound: the cloud has no such index. It comes wrapped with cpar.ErrInput.
var ErrNotFound = errors.New("the cloud does not have it")

// errIncomplete: an activation came before all segments, or lost some.
var errIncomplete = errors.New("the cloud misses segments")

// err is what a problem means to an owner: the sentinel that its code stands
// for. What the cloud writes is shown, but cut and without control characters.
func (p *Problem) err() error {
	says := fmt.Sprintf("it says %q", untrusted.Short(p.Detail))
	switch p.Code {
	case CodeVersion:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrVersion, says), "the cloud and this program are of different versions: update the older")
	case CodeCorrupt:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrCorrupt, says), "push the index again")
	case CodeStorage:
		return hint.Add(fmt.Errorf("%w at the cloud: %s", cpar.ErrStorage, says), "see to the cloud's disk, then try again")
	case CodeNotFound:
		return hint.Add(fmt.Errorf("%w: %w: %s", cpar.ErrInput, ErrNotFound, says), "push the index first")
	case CodeIncomplete:
		return fmt.Errorf("%w: %w: %s", cpar.ErrInput, errIncomplete, says)
	case CodeInput, CodeTooLarge:
		return fmt.Errorf("%w: %s", cpar.ErrInput, says)
	case CodeBusy:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrCloud, says), "try again later")
	}
	return fmt.Errorf("%w: status %d, %s", cpar.ErrCloud, p.Status, says)
}

// statusError makes an error of an answer that is not a success.
func statusError(r *http.Response, body []byte) error {
	if r.StatusCode >= 300 && r.StatusCode < 400 {
		return fmt.Errorf("%w: it redirects to %q, which is not followed", cpar.ErrCloud, untrusted.Short(r.Header.Get("Location")))
	}
	var p Problem
	if contentType(r) == TypeProblem && json.Unmarshal(body, &p) == nil && p.Code != "" {
		p.Status = r.StatusCode
		return p.err()
	}
	return notCpard(fmt.Errorf("%w: it answers with status %d", cpar.ErrCloud, r.StatusCode))
}

func notCpard(err error) error {
	return hint.Add(err, "does the address lead to cpard, and not to another program or a proxy?")
}

func contentType(r *http.Response) string {
	t, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}
