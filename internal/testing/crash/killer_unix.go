//go:build linux || darwin || freebsd

package crash

import (
	"io/fs"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"cpar/internal/durable"
)

// A Killer kills its process with SIGKILL before a given operation.
type Killer struct {
	durable.FS
	// Left is the number of the operation, from 1, or 0 to kill nothing.
	Left atomic.Int64
}

func (k *Killer) step() {
	if k.Left.Add(-1) == 0 {
		unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
}

func (k *Killer) Create(path string, perm fs.FileMode) (durable.File, error) {
	k.step()
	return k.FS.Create(path, perm)
}

func (k *Killer) Rename(from, to string) error { k.step(); return k.FS.Rename(from, to) }

func (k *Killer) Remove(path string) error { k.step(); return k.FS.Remove(path) }

func (k *Killer) Mkdir(path string, perm fs.FileMode) error { k.step(); return k.FS.Mkdir(path, perm) }

func (k *Killer) SyncDir(path string) error { k.step(); return k.FS.SyncDir(path) }
