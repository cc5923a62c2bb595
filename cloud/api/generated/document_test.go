// Package generated_test drives a cloud by a client that a stranger would generate from its
// OpenAPI document, and by nothing of ours.
//
//	openapi.json    what the cloud serves at /openapi-3.0.json
//	client_test.go  what oapi-codegen makes of it
//
// To make both again:
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

// TestGenerated: the client is what the generator makes of the document now. The generator
// takes forty seconds to compile, so this runs where CPAR_OAPI_CODEGEN=required says so.
func TestGenerated(t *testing.T) {
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
		t.Errorf("client_test.go is not what the generator makes (%v): run go generate ./cloud/api/generated", err)
	}
}

var update = flag.Bool("update", false, "write openapi.json anew")

// TestDocument: the document that the client was made of is the one that is served.
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
		t.Errorf("openapi.json is not what is served (%v): run go test ./cloud/api/generated -run TestDocument -update, then go generate ./cloud/api/generated", err)
	}
}
