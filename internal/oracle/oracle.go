// Package oracle finds the folder of reference data for tests: golden vectors made by
// other people's code, and real photographs.
//
// The folder lies beside the checkout (../shared) and is not part of the project. A test
// that needs it skips if it is missing. With CPAR_SHARED=required in the environment, as
// in CI, the test fails instead, so that a skip cannot pass for a success.
package oracle

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of name below the folder, for example
// "reference/golden.json", or skips the test.
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
