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

// The codes of a Problem. They are part of the protocol and must not change.
const (
	CodeInput      = "input"      // unusable request
	CodeCorrupt    = "corrupt"    // a body, or the index at the cloud, is damaged
	CodeVersion    = "version"    // a body in another format version
	CodeStorage    = "storage"    // the cloud cannot read or write its disk
	CodeNotFound   = "not_found"  // no such index, segment or route
	CodeIncomplete = "incomplete" // segments of a manifest are missing
	CodeTooLarge   = "too_large"  // a body over its limit
	CodeForbidden  = "forbidden"  // from a browser, or under another host's name
	CodeBusy       = "busy"       // timed out while waiting to be processed
	CodeInternal   = "internal"   // a bug in the cloud
)

// A Problem is the body of every answer that is not a success.
type Problem struct {
	Title  string `json:"title"`            // the HTTP status in words
	Status int    `json:"status"`           // the HTTP status code
	Code   string `json:"code"`             // for programs
	Detail string `json:"detail,omitempty"` // for people
}

// Codes lists all codes.
var Codes = []string{CodeInput, CodeCorrupt, CodeVersion, CodeStorage, CodeNotFound,
	CodeIncomplete, CodeTooLarge, CodeForbidden, CodeBusy, CodeInternal}

// ErrNotFound: the cloud has no such index. It comes wrapped with cpar.ErrInput.
var ErrNotFound = errors.New("the cloud does not have it")

// errIncomplete: an activation came before all segments, or after some were lost.
var errIncomplete = errors.New("the cloud lacks segments")

// err translates a problem for the owner into the sentinel of its code. The cloud's text
// is included, shortened and without control characters.
func (p *Problem) err() error {
	says := fmt.Sprintf("it says %q", untrusted.Short(p.Detail))
	switch p.Code {
	case CodeVersion:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrVersion, says), "the cloud and this program have different versions: update the older")
	case CodeCorrupt:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrCorrupt, says), "push the index again")
	case CodeStorage:
		return hint.Add(fmt.Errorf("%w at the cloud: %s", cpar.ErrStorage, says), "check the cloud's disk, then try again")
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

// statusError turns an unsuccessful answer into an error.
func statusError(r *http.Response, body []byte) error {
	if r.StatusCode >= 300 && r.StatusCode < 400 {
		return fmt.Errorf("%w: it redirects to %q; redirects are not followed", cpar.ErrCloud, untrusted.Short(r.Header.Get("Location")))
	}
	var p Problem
	if contentType(r) == TypeProblem && json.Unmarshal(body, &p) == nil && p.Code != "" {
		p.Status = r.StatusCode
		return p.err()
	}
	return notCpard(fmt.Errorf("%w: it answered with status %d", cpar.ErrCloud, r.StatusCode))
}

func notCpard(err error) error {
	return hint.Add(err, "does the address lead to cpard, and not to another program or a proxy?")
}

func contentType(r *http.Response) string {
	t, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}
