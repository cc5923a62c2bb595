package indexdir

import (
	"log/slog"

	"cpar"
	"cpar/internal/enum"
)

// A Memory determines where an open index keeps the rows that a search
// multiplies (vectors, centroids and planes). All other segments are mapped.
type Memory uint8

const (
	// MemoryMap maps the files and leaves page size and eviction to the system.
	MemoryMap Memory = iota
	// MemoryHuge copies the rows into memory of this process, in 2 MB pages if
	// the system has them. The copied vectors of all segments are contiguous.
	// Later disk failures do not affect searches.
	MemoryHuge
	// MemoryAuto copies the rows of an index with a k-d forest if twice their
	// size is free, because the forest's random accesses are faster in 2 MB
	// pages. Other indexes are mapped.
	MemoryAuto
)

var memories = enum.Table[Memory]{What: "memory", Names: []string{"map", "huge", "auto"}}

func (m Memory) String() string { return memories.String(m) }

func ParseMemory(name string) (Memory, error) { return memories.Parse(name, cpar.ErrInput) }

func isRows(kind cpar.SegmentKind) bool {
	return kind == cpar.SegmentVectors || kind == cpar.SegmentCentroids || kind == cpar.SegmentPlanes
}

// RowBytes returns the number of bytes that MemoryHuge copies for an index.
func RowBytes(m *cpar.Manifest) (n uint64) {
	for _, s := range m.Segments {
		if isRows(s.Kind) {
			n += s.Bytes
		}
	}
	return n
}

// A region is memory of this process. `take` returns consecutive parts.
type region struct {
	all  []byte
	used int
	free func()
}

// take returns the next n bytes. Their capacity extends to the end of the
// region, so that callers can join neighbouring slices.
func (r *region) take(n int) []byte {
	b := r.all[r.used : r.used+n]
	r.used += n
	return b
}

type system struct {
	available func() (n uint64, known bool)
	allocate  func(n uint64) (b []byte, free func(), err error)
}

var thisSystem = system{AvailableMemory, Allocate}

// reserve allocates a region for the rows of m, or returns nil to map them.
func (s system) reserve(memory Memory, m *cpar.Manifest, log *slog.Logger) *region {
	size := RowBytes(m)
	// The cloud does not search indexes of scheme "local".
	if memory == MemoryMap || size == 0 || !m.Scheme.CloudSearches() || memory == MemoryAuto && m.Trees == 0 {
		return nil
	}
	log = log.With("index", m.ID.String(), "bytes", size)
	// Check the free memory even for MemoryHuge, which the user asked for. If
	// the copy did not fit, the system would kill the process or swap its
	// memory.
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
