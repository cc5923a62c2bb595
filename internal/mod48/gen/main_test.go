package main

import (
	"regexp"
	"testing"

	"cpar/internal/kernelgen"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range kernelgen.Differences("..", files) {
		t.Error(what)
	}
}

func TestJumpsFollowLengthsOnly(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range kernelgen.Jumps(files) {
		t.Error(what)
	}
}

// The assembler would accept AVX-512 in this file, which AVX2 processors cannot
// run.
func TestAVX2FileUsesNoAVX512(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	later := regexp.MustCompile(`\b(Z[0-9]+|[XY](1[6-9]|[23][0-9])|K[0-7]|V[A-Z]+(64|32|Q)X[24])\b|VPANDQ|VPXORQ|VPMADD52|VPMINUQ|VMOVDQU(8|64)`)
	if found := later.Find(files["avx2_amd64.s"]); found != nil {
		t.Errorf("avx2_amd64.s has %s", found)
	}
	if !later.Match(files["ifma_amd64.s"]) {
		t.Error("ifma_amd64.s does not match the pattern either: this test finds nothing")
	}
}
