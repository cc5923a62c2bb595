//go:build unix

package onnx

import (
	"path/filepath"
	"syscall"
	"testing"
)

func makePipe(t testing.TB, path string) string {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(path)
}
