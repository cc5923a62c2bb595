package main

import (
	"testing"

	"cpar/internal/kernelgen"
	"cpar/internal/testing/arm64words"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range kernelgen.Differences("../..", files) {
		t.Error(what)
	}
}

func TestWords(t *testing.T) { arm64words.Check(t, "../..") }
