//go:build unix

package listen

import (
	"math"

	"golang.org/x/sys/unix"
)

// Descriptors is how many files the system lets this process have open; 0 means that it does
// not say. Go has raised the limit as far as it may.
func Descriptors() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(uint64(r.Cur), math.MaxInt32))
}
