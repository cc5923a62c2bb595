//go:build !linux

package indexdir

import (
	"errors"
	"fmt"
)

// allocate is for Linux, whose huge pages it is about.
func allocate(n uint64) ([]byte, func(), error) {
	return nil, nil, fmt.Errorf("allocating %d bytes in large pages: %w", n, errors.ErrUnsupported)
}

func available() (n uint64, known bool) { return 0, false }
