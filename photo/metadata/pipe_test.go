//go:build unix

package metadata

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestPipesDoNotBlock(t *testing.T) {
	photo := filepath.Join(t.TempDir(), "a.jpg")
	if err := os.WriteFile(photo, []byte("\xff\xd8\xff\xd9"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{photo + ".xmp", photo + ".pipe.jpg"} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip(err)
		}
	}
	if _, problems, err := ReadFile(photo); err != nil || len(problems) != 1 {
		t.Errorf("%v, %v", problems, err)
	}
	change := Change{Suggest: []string{"dog"}, Run: "r"}
	for _, name := range []string{photo, photo + ".pipe.jpg"} {
		if name != photo {
			if _, _, err := ReadFile(name); err == nil {
				t.Error("a pipe was read as a photo")
			}
			if e, err := Plan(name, Embedded, Append, change); err == nil {
				t.Errorf("%+v", e)
			}
		}
		if e, err := Plan(name, Sidecar, Append, change); err == nil {
			t.Errorf("%+v", e)
		}
		if e, err := Retract(name+".xmp", "r", []string{"dog"}); name == photo && err == nil {
			t.Errorf("%+v", e)
		}
	}
}
