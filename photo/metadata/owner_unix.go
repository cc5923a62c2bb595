//go:build unix

package metadata

import (
	"io/fs"
	"os"
	"syscall"
)

// chown restores the owner of a file as far as the user's rights permit.
func chown(path string, was fs.FileInfo) {
	old, ok := was.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && (now.Uid != old.Uid || now.Gid != old.Gid) {
		os.Lchown(path, int(old.Uid), int(old.Gid))
	}
}
