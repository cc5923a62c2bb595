//go:build !linux && !darwin && !freebsd

package durable

import (
	"errors"
	"syscall"
)

// isFull: on Windows ERROR_DISK_FULL (112) and ERROR_HANDLE_DISK_FULL (39).
func isFull(err error) bool {
	var n syscall.Errno
	return errors.As(err, &n) && (n == 112 || n == 39)
}

func freeBytes(string) (int64, bool) { return 0, false }
