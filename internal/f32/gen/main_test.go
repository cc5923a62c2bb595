package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The kernels in the folder above are those that this generator writes, and there are no
// others.
func TestKernelsAreThoseGenerated(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is generated: run go generate cpar/internal/f32", name)
		}
	}
	there, err := filepath.Glob("../*.s")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if files[filepath.Base(file)] == nil {
			t.Errorf("%s is not generated", file)
		}
	}
}
