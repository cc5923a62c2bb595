//go:build unix

package listen

import (
	"math"

	"golang.org/x/sys/unix"
)

// Descriptors returns the limit of open files, or 0 if it is unknown. Go has
// already raised this limit to the maximum.
func Descriptors() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(uint64(r.Cur), math.MaxInt32))
}
