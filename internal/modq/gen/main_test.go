package main

import (
	"strings"
	"testing"

	"cpar/internal/kernelgen"
)

// The kernels in the folder above are those that this generator writes, and there
// are no others.
func TestKernelsAreThoseGenerated(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range kernelgen.Differences("..", files) {
		t.Error(what)
	}
}

// Neither order nor time may depend on the words: every jump is on a count or on
// whether a length is odd, and flags are set from registers that hold such alone.
func TestJumpsFollowLengthsOnly(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if !strings.HasSuffix(name, ".s") {
			continue
		}
		jumps := 0
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "J") {
				continue
			}
			jumps++
			// TEST and CMP of registers; DEC of a counter.
			before := strings.Fields(lines[i-1])
			if !strings.HasPrefix(before[0], "TESTQ") && before[0] != "CMPQ" && before[0] != "DECQ" || strings.Contains(lines[i-1], "(") {
				t.Errorf("%s, line %d: %s after %q", name, i+1, line, strings.TrimSpace(lines[i-1]))
			}
		}
		if jumps == 0 {
			t.Errorf("%s: no jumps found: this test reads nothing", name)
		}
	}
}
