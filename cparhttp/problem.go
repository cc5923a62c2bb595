package cparhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cpar"
	"cpar/internal/bearer"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// The codes of a Problem are part of the protocol and must not change.
const (
	CodeInput        = "input"        // the request is unusable
	CodeCorrupt      = "corrupt"      // the stored index is damaged
	CodeVersion      = "version"      // the body has another format version
	CodeStorage      = "storage"      // the server cannot read or write its disk
	CodeQuota        = "quota"        // the tenant's storage is full, or too many uploads are not activated
	CodeNotFound     = "not_found"    // unknown index, segment or route
	CodeIncomplete   = "incomplete"   // segments of a manifest are missing
	CodeTooLarge     = "too_large"    // a body over its limit
	CodeExists       = "exists"       // another blob has the name
	CodeChanged      = "changed"      // the blob to be replaced is not the expected blob
	CodeRange        = "range"        // the blob lacks the requested bytes
	CodeUnauthorized = "unauthorized" // no known token, or too many wrong tokens
	CodeScope        = "scope"        // the token lacks the scope
	CodeForbidden    = "forbidden"    // from a browser, or under another host's name
	CodeBusy         = "busy"         // timed out while waiting
	CodeAway         = "away"         // the storage behind the server is unreachable
	CodeInternal     = "internal"     // a bug in the server
	CodeUnready      = "unready"      // PathReadyz: send requests to another server
)

// A Problem is the body of every unsuccessful response: the problem details of
// RFC 9457 with the additional member code.
type Problem struct {
	Type     string `json:"type"`  // the path of an explanation (ProblemType)
	Title    string `json:"title"` // the code in words
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"` // "urn:uuid:", then the request's id in the server's log
	Code     string `json:"code"`
}

// ProblemType returns the path, relative to the server, that explains a code.
func ProblemType(code string) string { return strings.Replace(PathProblem, "{code}", code, 1) }

var Codes = []struct{ Code, Title, Advice string }{
	{CodeInput, "The request cannot be used", "Correct the request. The same request fails again."},
	{CodeCorrupt, "The index is damaged at the cloud", "Push the index again, which replaces the damaged data. Until then it cannot be searched."},
	{CodeVersion, "The body has another format version", "Update the older of the two, cloud or client."},
	{CodeStorage, "The cloud cannot read or write its disk", "Tell the operator. Try again when there is room."},
	{CodeQuota, "The storage quota is used up", "Delete an index that is no longer needed, or ask the operator for more room. A push needs room for old and new segments."},
	{CodeNotFound, "There is no such index, segment or route", "Check the address, or push the index first."},
	{CodeIncomplete, "Segments of the manifest are missing", "List them (missing-segments), upload them, and activate again."},
	{CodeTooLarge, "The body is over its limit", "Send less. The limits are set by docs/FORMAT.md and the operator."},
	{CodeExists, "Another blob has this name", "Blobs do not change. Put the bytes under another name, or delete the blob first."},
	{CodeChanged, "The blob is another one", "Fetch the blob, whose digest is its ETag, and decide again whether to replace it."},
	{CodeRange, "The blob has no such bytes", "Ask for a range within the size of the blob."},
	{CodeUnauthorized, "A token is needed", "Send the header Authorization: Bearer and a token of this cloud's operator. With status 429, wait first as long as Retry-After says."},
	{CodeScope, "The token may not do this", "Ask the operator for a token with the scope that WWW-Authenticate names."},
	{CodeForbidden, "The request is refused", "Do not send requests from another site's page or to a host name that the cloud does not accept."},
	{CodeBusy, "The cloud is busy", "Wait as long as Retry-After says, then try again. Nothing was changed."},
	{CodeAway, "The cloud's storage cannot be reached", "Wait as long as Retry-After says, then try again; a push continues where it stopped. Loaded indexes can still be searched."},
	{CodeUnready, "The cloud cannot serve", "Send requests elsewhere, or wait. The operator sees the reason beside the metrics."},
	{CodeInternal, "The cloud has a bug", "Tell the operator the instance, which identifies the request in the log."},
}

// ErrNotFound means that the server has no such index, segment or route. Such
// errors also wrap cpar.ErrInput.
var ErrNotFound = errors.New("the cloud does not have it")

// ErrToken means that the server refuses the token or its scope. Such errors
// also wrap cpar.ErrCloud, because requests for all other photos would fail too.
var ErrToken = errors.New("the cloud does not accept the token")

// ErrExists means that another blob has the name. ErrChanged means that the
// blob to be replaced is not the expected blob. They are wrapped with
// cpar.ErrInput.
var (
	ErrExists  = errors.New("another blob has this name")
	ErrChanged = errors.New("the stored blob is another one")
)

var errIncomplete = errors.New("the cloud lacks segments")

// err returns an error that wraps the sentinel error for the code. It includes
// the server's text, shortened and without control characters.
func (p *Problem) err() error {
	says := fmt.Sprintf("it says %q", sanitize.Short(p.Detail))
	switch p.Code {
	case CodeVersion:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrVersion, says), "the cloud and this program have different versions: update the older")
	case CodeCorrupt:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrCorrupt, says), "push the index again")
	case CodeStorage:
		return hint.Add(fmt.Errorf("%w at the cloud: %s", cpar.ErrStorage, says), "check the cloud's disk, then try again")
	case CodeQuota:
		return hint.Add(fmt.Errorf("%w at the cloud: %s", cpar.ErrStorage, says), "delete an index there that is no longer needed, or ask the cloud's operator for more room")
	case CodeNotFound:
		return hint.Add(fmt.Errorf("%w: %w: %s", cpar.ErrInput, ErrNotFound, says), "push the index first")
	case CodeUnauthorized:
		return hint.Add(fmt.Errorf("%w: %w: %s", cpar.ErrCloud, ErrToken, says), "put the token into a file, and name the file with --token-file or CPAR_TOKEN_FILE; or put the token into CPAR_TOKEN")
	case CodeScope:
		return hint.Add(fmt.Errorf("%w: %w for this: %s", cpar.ErrCloud, ErrToken, says), "ask the cloud's operator for a token that has this scope")
	case CodeIncomplete:
		return fmt.Errorf("%w: %w: %s", cpar.ErrInput, errIncomplete, says)
	case CodeExists:
		return fmt.Errorf("%w: %w: %s", cpar.ErrInput, ErrExists, says)
	case CodeChanged:
		return fmt.Errorf("%w: %w: %s", cpar.ErrInput, ErrChanged, says)
	case CodeInput, CodeTooLarge, CodeRange:
		return fmt.Errorf("%w: %s", cpar.ErrInput, says)
	case CodeAway:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrCloud, says), "the storage behind the cloud is down or cannot be reached; try again later: a push continues where it stopped")
	case CodeBusy:
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrCloud, says), "try again later")
	}
	return fmt.Errorf("%w: status %d, %s", cpar.ErrCloud, p.Status, says)
}

func statusError(r *http.Response, body []byte, token bearer.Token) error {
	if r.StatusCode >= 300 && r.StatusCode < 400 {
		return fmt.Errorf("%w: it redirects to %q; redirects are not followed", cpar.ErrCloud, sanitize.Short(r.Header.Get("Location")))
	}
	var p Problem
	if contentType(r) == TypeProblem && (json.Unmarshal(body, &p) == nil && p.Code != "" || p.unsent(r)) {
		p.Status, p.Detail = r.StatusCode, token.Redact(p.Detail)
		seconds, err := strconv.ParseUint(r.Header.Get("Retry-After"), 10, 16)
		if err == nil && (p.Code == CodeBusy || p.Code == CodeAway) {
			return &later{p.err(), max(time.Duration(seconds), 1) * time.Second}
		}
		return p.err()
	}
	return notCpard(fmt.Errorf("%w: it answered with status %d", cpar.ErrCloud, r.StatusCode))
}

// unsent fills in the problem of an answer to HEAD, which has no body, from the
// status and the header. It returns false for other requests.
func (p *Problem) unsent(r *http.Response) bool {
	if r.Request == nil || r.Request.Method != http.MethodHead {
		return false
	}
	codes := map[int]string{http.StatusNotFound: CodeNotFound, http.StatusUnauthorized: CodeUnauthorized,
		http.StatusForbidden: CodeForbidden, http.StatusUnprocessableEntity: CodeInput, http.StatusInsufficientStorage: CodeStorage}
	p.Code, p.Detail = codes[r.StatusCode], http.StatusText(r.StatusCode)
	switch {
	case r.Header.Get("WWW-Authenticate") != "" && p.Code == CodeForbidden:
		p.Code = CodeScope
	case r.Header.Get("Retry-After") != "" && p.Code == "":
		p.Code = CodeBusy
	case p.Code == "":
		p.Code = CodeInternal
	}
	return true
}

func notCpard(err error) error {
	return hint.Add(err, "does the address lead to cpard, and not to another program or a proxy?")
}

func contentType(r *http.Response) string {
	t, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}
