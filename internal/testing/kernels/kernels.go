// Package kernels notices tests that would compare plain Go with itself.
package kernels

import (
	"os"
	"testing"
)

// Require fails the test unless the kernels that CPAR_KERNELS names, such as
// NEON, are the last that atEachLevel tries.
func Require(t *testing.T, atEachLevel func(func(kernels string))) {
	t.Helper()
	want, best := os.Getenv("CPAR_KERNELS"), ""
	if want == "" {
		t.Skip("CPAR_KERNELS requires no kernels")
	}
	if atEachLevel(func(kernels string) { best = kernels }); best != want {
		t.Fatalf("the kernels in use are %s, and CPAR_KERNELS=%s", best, want)
	}
}
