//go:build linux || darwin || freebsd

package durable

import (
	"errors"
	"math"
	"math/bits"

	"golang.org/x/sys/unix"
)

func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func isExhausted(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }

// FreeBytes returns the space for this process in the folder's file system.
func FreeBytes(folder string) (int64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(folder, &st) != nil {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(max(st.Bavail, 0)), uint64(st.Bsize))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(lo), true
}
