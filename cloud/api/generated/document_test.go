// Package generated_test drives a server with a client generated from its
// OpenAPI document.
//
//	openapi.json    the document served at /openapi-3.0.json
//	client_test.go  the client made by oapi-codegen
//
// To update both:
//
//	go test ./cloud/api/generated -run TestDocument -update
//	go generate ./cloud/api/generated
package generated_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpar/cloud/api"
	"cpar/cparhttp"
)

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package generated_test -o client_test.go openapi.json

// The generator takes forty seconds to compile, so this runs only with
// CPAR_OAPI_CODEGEN=required.
func TestClientIsUpToDate(t *testing.T) {
	if os.Getenv("CPAR_OAPI_CODEGEN") != "required" {
		t.Skip("CPAR_OAPI_CODEGEN is not required")
	}
	source, err := os.ReadFile("document_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(source), "//go:generate ")
	line, _, _ = strings.Cut(line, "\n")
	args := strings.Fields(line)
	made := filepath.Join(t.TempDir(), "client_test.go")
	for i, a := range args {
		if a == "client_test.go" {
			args[i] = made
		}
	}
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("client_test.go")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("client_test.go differs from the generator's output (%v): run go generate ./cloud/api/generated", err)
	}
}

var update = flag.Bool("update", false, "write openapi.json anew")

func TestDocument(t *testing.T) {
	h, err := api.New(nil, nil, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+cparhttp.PathOpenAPI30, nil))
	var served bytes.Buffer
	if err := json.Indent(&served, w.Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	served.WriteByte('\n')
	if *update {
		if err := os.WriteFile("openapi.json", served.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile("openapi.json")
	if err != nil || !bytes.Equal(stored, served.Bytes()) {
		t.Errorf("openapi.json differs from the served document (%v): run go test ./cloud/api/generated -run TestDocument -update, then go generate ./cloud/api/generated", err)
	}
}
