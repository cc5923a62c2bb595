// Package library finds ONNX Runtime for tests.
//
// A test that needs it skips if CPAR_ONNXRUNTIME names no library. With
// CPAR_ONNXRUNTIME_TEST=required in the environment, as in CI, it fails instead, so that
// a skip cannot pass for a success.
package library

import (
	"os"
	"testing"
)

// Path returns the path of the library file, or skips the test.
func Path(t testing.TB) string {
	t.Helper()
	path := os.Getenv("CPAR_ONNXRUNTIME") // onnxruntime.Variable: its tests import this
	if path == "" {
		if os.Getenv("CPAR_ONNXRUNTIME_TEST") == "required" {
			t.Fatal("CPAR_ONNXRUNTIME names no library, and CPAR_ONNXRUNTIME_TEST=required")
		}
		t.Skip("needs ONNX Runtime: set CPAR_ONNXRUNTIME to its library file")
	}
	return path
}
