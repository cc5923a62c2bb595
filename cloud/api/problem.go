package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/album"
	"cpar/cloud/scatter"
	"cpar/cloud/store"
	"cpar/cloud/trace"
	"cpar/cparhttp"
	"cpar/internal/durable"
)

var errBodyCut = errors.New("the body ended early")

type problem struct {
	cparhttp.Problem
	after time.Duration // for Retry-After, unless 0
}

func (p *problem) Error() string             { return p.Detail }
func (p *problem) GetStatus() int            { return p.Status }
func (p *problem) ContentType(string) string { return cparhttp.TypeProblem }

func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.after > 0 {
		h.Set("Retry-After", seconds(p.after))
	}
	return h
}

// problems maps kinds of errors to responses. If an error wraps several kinds,
// the first matching row applies.
var problems = []struct {
	kind   error
	status int
	code   string
}{
	{store.ErrNotFound, http.StatusNotFound, cparhttp.CodeNotFound},
	{album.ErrExists, http.StatusPreconditionFailed, cparhttp.CodeExists},
	{album.ErrChanged, http.StatusPreconditionFailed, cparhttp.CodeChanged},
	{album.ErrDamaged, http.StatusServiceUnavailable, cparhttp.CodeCorrupt},
	{album.ErrBusy, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{store.ErrIncomplete, http.StatusConflict, cparhttp.CodeIncomplete},
	{store.ErrDamaged, http.StatusServiceUnavailable, cparhttp.CodeCorrupt},
	{store.ErrQuota, http.StatusInsufficientStorage, cparhttp.CodeQuota},
	{store.ErrTooLarge, http.StatusRequestEntityTooLarge, cparhttp.CodeTooLarge},
	{admission.ErrTooMany, http.StatusTooManyRequests, cparhttp.CodeBusy},
	{admission.ErrBusy, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{context.Canceled, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{admission.ErrExceedsCapacity, http.StatusRequestEntityTooLarge, cparhttp.CodeTooLarge},
	{durable.ErrTooManyFiles, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{store.ErrAway, http.StatusServiceUnavailable, cparhttp.CodeAway},
	{scatter.ErrIncomplete, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{store.ErrNoRoom, http.StatusServiceUnavailable, cparhttp.CodeBusy},
	{cpar.ErrStorage, http.StatusInsufficientStorage, cparhttp.CodeStorage},
	{errRange, http.StatusRequestedRangeNotSatisfiable, cparhttp.CodeRange},
	{errBodyCut, http.StatusBadRequest, cparhttp.CodeInput},
	{cpar.ErrVersion, http.StatusUnprocessableEntity, cparhttp.CodeVersion},
	// The client sent the damaged data. Damage of stored data is ErrDamaged.
	{cpar.ErrCorrupt, http.StatusUnprocessableEntity, cparhttp.CodeInput},
	{cpar.ErrInput, http.StatusUnprocessableEntity, cparhttp.CodeInput},
}

type retrier interface{ RetryAfter() time.Duration }

const busyFor, awayFor = time.Second, 5 * time.Second

// problem converts an error into the response for the client. Details that may
// contain paths are logged and not sent.
func (s *server) problem(err error) *problem {
	for _, row := range problems {
		if !errors.Is(err, row.kind) {
			continue
		}
		detail := err.Error()
		switch row.kind {
		case cpar.ErrStorage:
			s.o.Log.Error("storage", "error", err)
			detail = "the cloud cannot read or write its disk"
		case durable.ErrTooManyFiles:
			s.o.Log.Error("the limit of open files is reached; raise it", "error", err)
			detail = "the cloud has too many files open"
		case store.ErrAway:
			s.o.Log.Warn("the storage cannot be reached", "error", err)
			detail = store.ErrAway.Error() // without the storage's address
		case store.ErrNoRoom:
			s.o.Log.Warn("the cache is too small for the indexes in use", "error", err)
			detail = store.ErrNoRoom.Error()
		}
		p := newProblem(row.status, row.code, detail)
		switch row.code {
		case cparhttp.CodeBusy:
			p.after = busyFor
		case cparhttp.CodeAway:
			p.after = awayFor
		}
		if r := retrier(nil); errors.As(err, &r) {
			p.after = r.RetryAfter()
		}
		return p
	}
	s.o.Log.Error("internal", "error", err)
	return newProblem(http.StatusInternalServerError, cparhttp.CodeInternal, "internal error of the cloud; see its log")
}

func newProblem(status int, code, detail string) *problem {
	p := cparhttp.Problem{Type: cparhttp.ProblemType(code), Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
	for _, c := range cparhttp.Codes {
		if c.Code == code {
			p.Title = c.Title
		}
	}
	return &problem{Problem: p}
}

func asProblem(m *huma.ErrorModel) *problem {
	code, detail := cparhttp.CodeInput, m.Detail
	if m.Status >= 500 {
		code = cparhttp.CodeInternal
	}
	for _, e := range m.Errors {
		// Omit the untrusted value e.Value.
		detail += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	return newProblem(m.Status, code, detail)
}

// transform converts errors of huma, such as an invalid path parameter, into
// problems, and adds the request id to every problem.
func transform(ctx huma.Context, _ string, v any) (any, error) {
	if m, ok := v.(*huma.ErrorModel); ok {
		v = asProblem(m)
	}
	if p, ok := v.(*problem); ok {
		p.Instance = trace.SetProblem(ctx.Context(), p.Code)
	}
	return v, nil
}

func writeProblem(w http.ResponseWriter, r *http.Request, status int, code, detail string) {
	newProblem(status, code, detail).write(w, r)
}

func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	p.Instance = trace.SetProblem(r.Context(), p.Code)
	for name, value := range p.GetHeaders() {
		w.Header()[name] = value
	}
	w.Header().Set("Content-Type", cparhttp.TypeProblem)
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p.Problem)
}

func explain(w http.ResponseWriter, r *http.Request) {
	for _, c := range cparhttp.Codes {
		if c.Code == r.PathValue("code") {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintf(w, "%s (%s)\n\n%s\n", c.Title, c.Code, c.Advice)
			return
		}
	}
	writeProblem(w, r, http.StatusNotFound, cparhttp.CodeNotFound, "no problem has this code")
}

func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// ready answers PathReadyz. It omits the reason, which may name a tenant.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if s.o.Ready != nil && !s.o.Ready(r.Context()) {
		writeProblem(w, r, http.StatusServiceUnavailable, cparhttp.CodeUnready, "the cloud cannot serve requests now")
		return
	}
	alive(w, r)
}
