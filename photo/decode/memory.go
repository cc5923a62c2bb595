package decode

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/semaphore"
)

// decodeBudget bounds the bytes of all concurrent decodings. The process may
// use 500 MB, of which files, features, a network and the index need 120. The
// budget suffices for 400 megapixels of JPEG, 94 of PNG, or 50 of HEIC.
const decodeBudget = 360 << 20

// largeDecode is the size from which memory returns to the system at once,
// before garbage grows to the size of the decoding.
const largeDecode = 64 << 20

var decoding = semaphore.NewWeighted(decodeBudget)

type attempt struct {
	bytes int64
	run   func() (*Image, error)
}

func (a attempt) try() (*Image, error) {
	if a.bytes > decodeBudget {
		return nil, fmt.Errorf("decoding takes %d MB of memory, more than the %d accepted; a smaller copy of the photo gets the same keywords", a.bytes>>20, decodeBudget>>20)
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

// guard turns a panic of a third-party decoder into an error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed on it (%v)", r)
		}
	}()
	return f()
}
