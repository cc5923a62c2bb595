package policy

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests in the module's root, so that every path in this
// package is relative to it.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
