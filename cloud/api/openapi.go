package api

import (
	"fmt"
	"net/http"

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

// problemSchema describes cparhttp.Problem.
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

// serveOpenAPI generates the document once. huma's own route would do so at the first
// request, and twice if two arrive together.
func serveOpenAPI(mux *http.ServeMux, h huma.API) error {
	doc := h.OpenAPI()
	delete(doc.Components.Schemas.Map(), "ErrorModel")
	delete(doc.Components.Schemas.Map(), "ErrorDetail")
	asJSON, err := doc.MarshalJSON()
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	asYAML, err := doc.YAML()
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	serve := func(path, kind string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Write(body)
		})
	}
	serve(cparhttp.PathOpenAPIJSON, "application/openapi+json", asJSON)
	serve(cparhttp.PathOpenAPIYAML, "application/openapi+yaml", asYAML)
	return nil
}
