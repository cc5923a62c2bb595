// Package oracle finds what tests need from outside the project: golden vectors made by other
// people's code, real photographs, and programs and files that the environment names.
//
// A test that needs what is missing skips. If the environment says that it is required, as in CI,
// the test fails instead, so that a skip cannot pass for a success.
package oracle

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Named returns the path that an environment variable holds, or skips the test. With
// variable_TEST=required the test fails.
func Named(t testing.TB, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		if os.Getenv(variable+"_TEST") == "required" {
			t.Fatalf("%s names nothing, and %s_TEST=required", variable, variable)
		}
		t.Skipf("%s names nothing; CONTRIBUTING.md says what it is for", variable)
	}
	return path
}

// Port returns a port of 127.0.0.1 that was free a moment ago, for a server that a test starts.
func Port(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Path returns the path of a file of reference data, for example "reference/golden.json", or skips
// the test. The data lie beside the checkout, in ../shared. With CPAR_SHARED=required the test fails.
func Path(t testing.TB, name string) string {
	t.Helper()
	root := moduleRoot(t)
	path := filepath.Join(root, "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CPAR_SHARED") == "required" {
			t.Fatalf("shared/%s is missing beside the checkout, and CPAR_SHARED=required", name)
		}
		t.Skipf("needs shared/%s beside the checkout", name)
	}
	return path
}

// moduleRoot is the nearest folder at or above the test's with a go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod in any folder above the test")
		}
		dir = up
	}
}
