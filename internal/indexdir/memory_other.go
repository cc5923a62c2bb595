//go:build !linux

package indexdir

import (
	"errors"
	"fmt"
)

// Allocate fails, because huge pages exist only on Linux.
func Allocate(n uint64) ([]byte, func(), error) {
	return nil, nil, fmt.Errorf("allocating %d bytes in large pages: %w", n, errors.ErrUnsupported)
}

func AvailableMemory() (n uint64, known bool) { return 0, false }
