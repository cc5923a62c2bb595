package heif

import (
	"fmt"

	"github.com/edsrzf/mmap-go"
	"github.com/tetratelabs/wazero/experimental"
)

// A region is the sandbox's memory, outside Go's heap: it grows in place without being
// copied, takes only what is touched, and goes when the photo is done, not when the next
// garbage collection finds it.
type region struct{ mapped mmap.MMap }

// newRegion reserves as much as may ever be used. wazero panics if that is less than the
// decoder starts with.
func newRegion(size, least int64) (*region, error) {
	if size < least {
		return nil, fmt.Errorf("%w in %d bytes of memory", ErrDamaged, size)
	}
	mapped, err := mmap.MapRegion(nil, int(size), mmap.RDWR, mmap.ANON, 0)
	if err != nil {
		return nil, fmt.Errorf("reserving %d MB of memory: %w", size>>20, err)
	}
	return &region{mapped}, nil
}

// Allocate has nothing left to do: there is one memory.
func (r *region) Allocate(_, _ uint64) experimental.LinearMemory { return r }

// Reallocate returns nil beyond the size: the decoder then has no more memory.
func (r *region) Reallocate(size uint64) []byte {
	if size > uint64(len(r.mapped)) {
		return nil
	}
	return r.mapped[:size:size]
}

func (r *region) Free() {
	if r.mapped != nil {
		r.mapped.Unmap()
		r.mapped = nil
	}
}
