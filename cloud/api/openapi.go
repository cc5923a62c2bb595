package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cpar"
	"cpar/cparhttp"
)

func config() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "CPAR cloud",
				Version: fmt.Sprintf("%d.0.0", cpar.Version),
				Description: "Keeps encrypted image indexes and finds the records nearest to an encrypted request. " +
					"Binary bodies are the canonical encoding that docs/FORMAT.md draws: fixed-width little-endian words.",
			},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: cparhttp.TypeJSON,
		Transformers:  []huma.Transformer{transform},
	}
}

var problemContent = map[string]*huma.MediaType{
	cparhttp.TypeProblem: {Schema: &huma.Schema{Ref: "#/components/schemas/Problem"}},
}

func problemSchema() *huma.Schema {
	codes := make([]any, len(cparhttp.Codes))
	for i, c := range cparhttp.Codes {
		codes[i] = c.Code
	}
	return &huma.Schema{
		Type:        huma.TypeObject,
		Description: "Problem details (RFC 9457)",
		Required:    []string{"type", "title", "status", "code"},
		Properties: map[string]*huma.Schema{
			"type":     {Type: huma.TypeString, Format: "uri-reference", Description: "A path of this cloud that explains the code"},
			"title":    {Type: huma.TypeString, Description: "The code in words"},
			"status":   {Type: huma.TypeInteger, Description: "The HTTP status code"},
			"detail":   {Type: huma.TypeString, Description: "What went wrong, for people"},
			"instance": {Type: huma.TypeString, Format: "uri-reference", Description: "The id of the request in the cloud's log, as urn:uuid:…"},
			"code":     {Type: huma.TypeString, Enum: codes, Description: "What went wrong, for programs; stable"},
		},
	}
}

func components(c *huma.Components) {
	c.Schemas.Map()["Problem"] = problemSchema()
	c.SecuritySchemes = map[string]*huma.SecurityScheme{securityName: {
		Type: "http", Scheme: "bearer", BearerFormat: "cpar_ and 58 letters and digits",
		Description: "A token of a tenant. A cloud on loopback without tenants needs none. One of the scopes that an operation names is enough, or admin.",
	}}
}

// everywhere lists the codes of all operations. withToken lists the additional
// codes of operations that need a token.
var (
	everywhere = []string{cparhttp.CodeForbidden, cparhttp.CodeBusy, cparhttp.CodeInternal}
	withToken  = []string{cparhttp.CodeUnauthorized, cparhttp.CodeScope, cparhttp.CodeStorage}
)

// statuses maps codes to the statuses that are returned before an operation
// starts. The table problems contains the errors of operations themselves.
var statuses = map[string][]int{
	cparhttp.CodeForbidden:    {http.StatusForbidden},
	cparhttp.CodeInternal:     {http.StatusInternalServerError},
	cparhttp.CodeUnauthorized: {http.StatusUnauthorized, http.StatusTooManyRequests},
	cparhttp.CodeScope:        {http.StatusForbidden},
	cparhttp.CodeStorage:      {http.StatusServiceUnavailable},
}

func statusesOf(code string) []int {
	all := slices.Clone(statuses[code])
	for _, p := range problems {
		if p.code == code && !slices.Contains(all, p.status) {
			all = append(all, p.status)
		}
	}
	return all
}

func describeProblems(op *huma.Operation, codes []string, needsToken bool) {
	codes = slices.Concat(codes, everywhere)
	if needsToken {
		codes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(codes, withToken))))
	}
	by := map[int][]string{}
	for _, code := range codes {
		for _, status := range statusesOf(code) {
			if status != http.StatusBadRequest || op.RequestBody != nil {
				by[status] = append(by[status], code)
			}
		}
	}
	for status, codes := range by {
		r := &huma.Response{Description: "A problem with code " + strings.Join(codes, " or ")}
		if op.Method != http.MethodHead {
			r.Content = problemContent
		}
		if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
			r.Headers = map[string]*huma.Param{"Retry-After": {
				Schema: &huma.Schema{Type: huma.TypeInteger}, Description: "After how many seconds to try again",
			}}
		}
		op.Responses[strconv.Itoa(status)] = r
	}
}

func serveOpenAPI(mux *http.ServeMux, h huma.API) error {
	doc := h.OpenAPI()
	delete(doc.Components.Schemas.Map(), "ErrorModel")
	delete(doc.Components.Schemas.Map(), "ErrorDetail")
	asJSON, err1 := doc.MarshalJSON()
	as30, err2 := doc.Downgrade()
	asYAML, err3 := doc.YAML()
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	serve := func(path, kind string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Write(body)
		})
	}
	serve(cparhttp.PathOpenAPIJSON, "application/openapi+json", asJSON)
	serve(cparhttp.PathOpenAPI30, "application/openapi+json", as30)
	serve(cparhttp.PathOpenAPIYAML, "application/openapi+yaml", asYAML)
	return nil
}
