package decode

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/semaphore"
)

// decodeBudget is how many bytes all decodings of the process may take together: of the 500
// MB that the program may take, 120 are left for files that were read, features, a network
// and the index. It holds what cameras write: JPEG of 400 megapixels as it is decoded in
// cells, progressive or not; 94 megapixels of PNG; a HEIC of 50.
const decodeBudget = 360 << 20

// largeDecode is from where memory is returned to the system at once: the collector would
// else let garbage grow to the size of what was live during the decoding.
const largeDecode = 64 << 20

var decoding = semaphore.NewWeighted(decodeBudget)

// An attempt is a way to decode a file, and an upper bound of the bytes that it takes.
type attempt struct {
	bytes int64
	run   func() (*Image, error)
}

// try runs an attempt when there is memory for it.
func (a attempt) try() (*Image, error) {
	if a.bytes > decodeBudget {
		return nil, fmt.Errorf("decoding it takes %d MB of memory, more than the %d accepted; a smaller copy of it gets the same keywords", a.bytes>>20, decodeBudget>>20)
	}
	if err := decoding.Acquire(context.Background(), a.bytes); err != nil {
		return nil, fmt.Errorf("waiting for memory: %w", err)
	}
	defer decoding.Release(a.bytes)
	if a.bytes >= largeDecode {
		defer debug.FreeOSMemory()
	}
	return guard(a.run)
}

// guard turns a decoder's panic into an error: both decoders and files are other people's.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed on it (%v)", r)
		}
	}()
	return f()
}
