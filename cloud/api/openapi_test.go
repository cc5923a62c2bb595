package api_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	urlpath "path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"cpar/cloud/api"
	"cpar/cparhttp"
)

type document struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Responses   map[string]struct {
			Description string
			Headers     map[string]any
			Content     map[string]any
		}
	}
}

var described = sync.OnceValue(func() (d document) {
	h, err := api.New(nil, nil, api.Options{})
	if err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+cparhttp.PathOpenAPIJSON, nil))
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		panic(err)
	}
	return d
})

var inBraces = regexp.MustCompile(`\\\{[^}]*\\\}`)

// checkDescribed checks that the document lists this status with this code.
func checkDescribed(t testing.TB, method, path string, status int, code string) {
	t.Helper()
	if urlpath.Clean(path) != path {
		return
	}
	for pattern, methods := range described().Paths {
		re := "^" + inBraces.ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+") + "$"
		op, ok := methods[strings.ToLower(method)]
		if !ok || method != strings.ToUpper(method) || !regexp.MustCompile(re).MatchString(path) {
			continue
		}
		r, ok := op.Responses[fmt.Sprint(status)]
		if !ok || code != "" && !slices.Contains(strings.Fields(r.Description), code) {
			t.Errorf("%s answers %d %q, which is not described: %q", op.OperationID, status, code, r.Description)
		}
	}
}

func TestProblemsAreDescribed(t *testing.T) {
	codes := map[string]bool{}
	for path, methods := range described().Paths {
		if !slices.Contains(cparhttp.Routes, path) {
			t.Errorf("cparhttp.Routes lacks %s, so metrics call it other", path)
		}
		for method, op := range methods {
			for status, r := range op.Responses {
				if status < "400" || status == "default" {
					continue
				}
				list, ok := strings.CutPrefix(r.Description, "A problem with code ")
				if !ok || (r.Content[cparhttp.TypeProblem] == nil) != (method == "head") {
					t.Errorf("%s %s, %s: %+v", method, path, status, r)
				}
				for _, code := range strings.Split(list, " or ") {
					codes[code] = true
				}
				if waits := status == "503" || status == "429"; waits != (r.Headers["Retry-After"] != nil) {
					t.Errorf("%s %s, %s: headers %v", method, path, status, r.Headers)
				}
			}
			if len(op.Responses) < 4 {
				t.Errorf("%s %s has only %v", method, path, op.Responses)
			}
		}
	}
	for _, c := range cparhttp.Codes {
		if !codes[c.Code] && c.Code != cparhttp.CodeUnready {
			t.Errorf("no operation ends with %s", c.Code)
		}
	}
	for code := range codes {
		if !slices.ContainsFunc(cparhttp.Codes, func(c struct{ Code, Title, Advice string }) bool { return c.Code == code }) {
			t.Errorf("%q is no code", code)
		}
	}
}
