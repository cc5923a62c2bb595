package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cpar"
	"cpar/cloud/store"
	"cpar/cparhttp"
)

var (
	errBusy    = errors.New("the cloud is busy")
	errBodyCut = errors.New("the body ended early")
)

// A problem is an error that huma writes unchanged.
type problem struct{ cparhttp.Problem }

// problemSchema describes cparhttp.Problem in the OpenAPI document.
func problemSchema() *huma.Schema {
	codes := make([]any, len(cparhttp.Codes))
	for i, c := range cparhttp.Codes {
		codes[i] = c
	}
	return &huma.Schema{
		Type:     huma.TypeObject,
		Required: []string{"title", "status", "code"},
		Properties: map[string]*huma.Schema{
			"title":  {Type: huma.TypeString, Description: "The HTTP status in words"},
			"status": {Type: huma.TypeInteger, Description: "The HTTP status code"},
			"code":   {Type: huma.TypeString, Enum: codes, Description: "What went wrong, for programs; stable"},
			"detail": {Type: huma.TypeString, Description: "What went wrong, for people"},
		},
	}
}

func (p *problem) Error() string             { return p.Detail }
func (p *problem) GetStatus() int            { return p.Status }
func (p *problem) ContentType(string) string { return cparhttp.TypeProblem }

// problems is in order of precedence, for errors that wrap several kinds.
var problems = []struct {
	kind   error
	status int
	code   string
}{
	{store.ErrNotFound, http.StatusNotFound, cparhttp.CodeNotFound},
	{store.ErrIncomplete, http.StatusConflict, cparhttp.CodeIncomplete},
	{store.ErrTooLarge, http.StatusRequestEntityTooLarge, cparhttp.CodeTooLarge},
	{errBusy, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{context.Canceled, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{cpar.ErrStorage, http.StatusInsufficientStorage, cparhttp.CodeStorage},
	{errBodyCut, http.StatusBadRequest, cparhttp.CodeInput},
	{cpar.ErrVersion, http.StatusUnprocessableEntity, cparhttp.CodeVersion},
	{cpar.ErrCorrupt, http.StatusUnprocessableEntity, cparhttp.CodeCorrupt},
	{cpar.ErrInput, http.StatusUnprocessableEntity, cparhttp.CodeInput},
}

// problem turns an error into what the client sees; nil stays nil. Details that a client
// cannot act on are logged and not sent: they may name paths.
func (s *server) problem(err error) error {
	if err == nil {
		return nil
	}
	for _, row := range problems {
		if !errors.Is(err, row.kind) {
			continue
		}
		detail := err.Error()
		if row.code == cparhttp.CodeStorage {
			s.o.Log.Error("storage", "error", err)
			detail = "the cloud cannot read or write its disk"
		}
		if row.code == cparhttp.CodeCorrupt && row.status == http.StatusUnprocessableEntity {
			s.o.Log.Warn("damaged", "error", err)
		}
		return newProblem(row.status, row.code, detail)
	}
	s.o.Log.Error("internal", "error", err)
	return newProblem(http.StatusInternalServerError, cparhttp.CodeInternal, "internal error of the cloud; see its log")
}

func newProblem(status int, code, detail string) *problem {
	return &problem{cparhttp.Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}}
}

// asProblem translates huma's own errors.
func asProblem(m *huma.ErrorModel) *problem {
	code, detail := cparhttp.CodeInput, m.Detail
	if m.Status >= 500 {
		code = cparhttp.CodeInternal
	}
	for _, e := range m.Errors {
		// Say where the fault is, but not the value, which may be anything.
		detail += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	return newProblem(m.Status, code, detail)
}

func segmentNotFound(d cpar.Digest) error {
	return fmt.Errorf("segment %v: %w: %w", d, cpar.ErrInput, store.ErrNotFound)
}

// writeProblem answers requests that do not go through huma.
func writeProblem(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", cparhttp.TypeProblem)
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(newProblem(status, code, detail).Problem)
}
