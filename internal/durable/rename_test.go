package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestRenameNew(t *testing.T) {
	cannot := func(string, string) error { return syscall.EPERM }
	for name, ways := range map[string][2]func(from, to string) error{
		"rename":  {renameNoReplace, cannot},
		"link":    {cannot, os.Link},
		"neither": {cannot, cannot},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
			put := func(path, text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put(from, "ours")
			put(to, "theirs")
			if err := renameNew(from, to, ways[0], ways[1]); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over theirs: %v", err)
			}
			if b, err := os.ReadFile(to); string(b) != "theirs" {
				t.Errorf("it holds %q, %v", b, err)
			}
			os.Remove(to)
			if err := renameNew(from, to, ways[0], ways[1]); err != nil {
				t.Error(err)
			}
			if b, err := os.ReadFile(to); string(b) != "ours" {
				t.Errorf("it holds %q, %v", b, err)
			}
			if _, err := os.Lstat(from); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the first name is still there: %v", err)
			}
		})
	}
}
