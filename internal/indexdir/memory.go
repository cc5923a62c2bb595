package indexdir

import (
	"fmt"
	"log/slog"

	"cpar"
)

// A Memory says where the rows that a search multiplies (vectors, centroids
// and planes) lie while an index is open. What else an index has is mapped.
type Memory uint8

const (
	// MemoryMap maps the files. The system keeps their pages as long as it
	// likes, in pages of the size it likes.
	MemoryMap Memory = iota
	// MemoryHuge copies the rows into memory of the process's own, in pages of
	// 2 MB where the system has them. It takes the rows' bytes once more, all
	// vectors are one piece, and a disk that fails later harms no search.
	MemoryHuge
	// MemoryAuto copies the rows of an index that is searched in random order,
	// one with a forest, where twice their bytes are free; else it maps. With
	// 20,000 records of the paper's profile (216 MB) visits in random order ran
	// at 12.4 GB/s in pages of 2 MB and at 10.6 in those of a file just written,
	// and scans at 15 GB/s in both. Scheme sealed does nothing but scan: it is
	// mapped.
	MemoryAuto
)

var memories = []string{"map", "huge", "auto"}

func (m Memory) String() string {
	if int(m) < len(memories) {
		return memories[m]
	}
	return fmt.Sprintf("memory %d", uint8(m))
}

// ParseMemory is the inverse of Memory.String.
func ParseMemory(name string) (Memory, error) {
	for i, s := range memories {
		if name == s {
			return Memory(i), nil
		}
	}
	return 0, fmt.Errorf("%w: no memory %q; there are map, huge and auto", cpar.ErrInput, name)
}

// rows reports whether a search multiplies the words of a segment.
func rows(kind cpar.SegmentKind) bool {
	return kind == cpar.SegmentVectors || kind == cpar.SegmentCentroids || kind == cpar.SegmentPlanes
}

// RowBytes is the size of what MemoryHuge copies of an index.
func RowBytes(m *cpar.Manifest) (n uint64) {
	for _, s := range m.Segments {
		if rows(s.Kind) {
			n += s.Bytes
		}
	}
	return n
}

// A region is memory of the process's own, given out from the front.
type region struct {
	all  []byte
	used int
	free func()
}

// take returns n bytes. What is taken next follows on them, within the
// capacity of the slice, so that neighbours can be joined again.
func (r *region) take(n int) []byte {
	b := r.all[r.used : r.used+n]
	r.used += n
	return b
}

// A system is where memory comes from.
type system struct {
	available func() (n uint64, known bool)
	allocate  func(n uint64) (b []byte, free func(), err error)
}

var thisSystem = system{available, allocate}

// reserve makes the region that the rows of m are copied to, or returns nil
// where they are to be mapped.
func (s system) reserve(memory Memory, m *cpar.Manifest, log *slog.Logger) *region {
	size := RowBytes(m)
	// Of scheme local nothing is multiplied here.
	if memory == MemoryMap || size == 0 || !m.Scheme.Asked() || memory == MemoryAuto && m.Trees == 0 {
		return nil
	}
	log = log.With("index", m.ID.String(), "bytes", size)
	// A copy that does not fit would have the process killed, or everything
	// swapped; so even where it was asked for it is made only if it fits.
	need := size
	if memory == MemoryAuto {
		need = 2 * size
	}
	free, known := s.available()
	switch {
	case !known && memory == MemoryAuto:
		return nil
	case known && free < need:
		log.Warn("memory is short: the index is mapped, not copied", "free", free)
		return nil
	}
	all, release, err := s.allocate(size)
	if err != nil {
		log.Warn("no memory to copy to: the index is mapped", "error", err)
		return nil
	}
	log.Info("the rows of the index are copied into memory")
	return &region{all: all, free: release}
}

// Allocate returns n bytes as MemoryHuge has them, and what frees them.
func Allocate(n uint64) (b []byte, free func(), err error) { return allocate(n) }
