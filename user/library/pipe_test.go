//go:build unix

package library

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A pipe in place of a sidecar blocks neither an undo nor the cleanup after a
// killed process.
func TestUndoDoesNotBlockOnPipe(t *testing.T) {
	w := newWorld(t, 2)
	w.annotate(sidecars())
	pipe := w.list[0].Path + ".xmp"
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	u := w.undo("")
	if len(u.Left) != 1 || u.Left[0].Path != pipe || !strings.Contains(u.Left[0].Reason, "not a file") || !slices.Equal(u.Restored, []string{w.list[1].Path + ".xmp"}) {
		t.Errorf("%+v", u)
	}
	if (&intent{Path: pipe}).made() {
		t.Error("a pipe counts as the written file")
	}
	os.Remove(pipe)
	if u := w.undo(u.Run); len(u.Left) > 0 {
		t.Errorf("%+v", u)
	}
}
