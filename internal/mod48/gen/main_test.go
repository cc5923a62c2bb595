package main

import (
	"regexp"
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

// Neither order nor time may depend on the words: every jump is on a count, and flags are set
// from registers that hold such alone.
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
			// TEST of a register, or DEC of a counter.
			before := strings.Fields(lines[i-1])
			if before[0] != "TESTQ" && before[0] != "DECQ" || strings.Contains(lines[i-1], "(") {
				t.Errorf("%s, line %d: %s after %q", name, i+1, line, strings.TrimSpace(lines[i-1]))
			}
		}
		if jumps == 0 {
			t.Errorf("%s: no jumps found: this test reads nothing", name)
		}
	}
}

// The assembler would take registers and instructions of AVX-512 without a word, and the processors
// that the file is for would not.
func TestAVX2IsAVX2(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	later := regexp.MustCompile(`\b(Z[0-9]+|[XY](1[6-9]|[23][0-9])|K[0-7]|V[A-Z]+(64|32|Q)X[24])\b|VPANDQ|VPXORQ|VPMADD52|VPMINUQ|VMOVDQU(8|64)`)
	if found := later.Find(files["avx2_amd64.s"]); found != nil {
		t.Errorf("avx2_amd64.s has %s", found)
	}
	if !later.Match(files["ifma_amd64.s"]) {
		t.Error("what is looked for is not in ifma_amd64.s either: this test finds nothing")
	}
}
