package main

import (
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
