//go:build unix

package listen

import (
	"math"

	"golang.org/x/sys/unix"
)

// Descriptors returns the limit of open files, which Go has already raised to
// the maximum, or 0 if it is unknown.
func Descriptors() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(uint64(r.Cur), math.MaxInt32))
}
