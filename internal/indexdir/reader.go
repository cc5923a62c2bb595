package indexdir

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/edsrzf/mmap-go"
	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
)

// An Index is an open index: its manifest and its segments in memory. Its
// reference count starts at 1. Releasing the last reference unmaps the files.
type Index struct {
	manifest *cpar.Manifest
	segments [][]byte
	maps     []mmap.MMap
	copied   *region // nil if everything is mapped
	refs     atomic.Int64
	released func() // called after the last Release, if not nil
}

// Open maps the active index of `folder` and checks every byte.
func Open(folder string) (*Index, error) { return MemoryMap.Open(folder) }

// Open is like function Open and keeps the rows in the given memory.
func (memory Memory) Open(folder string) (*Index, error) { return open(memory, folder, func() {}) }

// open calls the function `between` once it has read the manifest, before it
// reads the segments.
func open(memory Memory, folder string, between func()) (*Index, error) {
	for attempt := 0; ; attempt++ {
		before, err := ReadManifestBytes(folder)
		if err != nil {
			return nil, withFolder(folder, err)
		}
		m, err := decodeManifest(before)
		if err != nil {
			return nil, withFolder(folder, err)
		}
		between()
		x, err := memory.Load(folder, m, nil)
		if err == nil || !errors.Is(err, ErrMissing) || attempt == 10 {
			return x, withFolder(folder, err)
		}
		// A newer index may have been activated and the old segments removed.
		// Retry only if the manifest has changed.
		if now, e := ReadManifestBytes(folder); e != nil || bytes.Equal(now, before) {
			return nil, withFolder(folder, err)
		}
	}
}

// Load reads the segments of m, which need not be the active manifest, and keeps
// the rows in the given memory. Errors name the folder only if they wrap
// cpar.ErrStorage.
func (memory Memory) Load(folder string, m *cpar.Manifest, log *slog.Logger) (*Index, error) {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	x := &Index{manifest: m, segments: make([][]byte, len(m.Segments)), maps: make([]mmap.MMap, len(m.Segments))}
	x.refs.Store(1)
	if x.copied = thisSystem.reserve(memory, m, log); x.copied != nil {
		for i, s := range m.Segments {
			if isRows(s.Kind) {
				x.segments[i] = x.copied.take(int(s.Bytes))
			}
		}
	}
	// If several segments have faults, report the first in the manifest's order.
	faults := make([]error, len(m.Segments))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range m.Segments {
		group.Go(func() error {
			if b := x.segments[i]; b != nil {
				_, faults[i] = readSegment(b, folder, s)
				return nil
			}
			x.maps[i], faults[i] = mapSegment(folder, s)
			x.segments[i] = x.maps[i]
			return nil
		})
	}
	group.Wait()
	for _, err := range faults {
		if err != nil {
			x.Release()
			return nil, err
		}
	}
	return x, nil
}

func mapSegment(folder string, s cpar.Segment) (mmap.MMap, error) {
	f, err := openSegment(folder, s)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Read the file, not the map. If the disk fails, a read returns an error,
	// whereas an access to the map would end the process.
	if err := checkDigest(f, s); err != nil {
		return nil, err
	}
	if s.Bytes == 0 {
		return nil, nil // nothing to map, and mmap would refuse
	}
	b, err := mmap.MapRegion(f, int(s.Bytes), mmap.RDONLY, 0, 0)
	if err != nil {
		return nil, durable.StorageError("mapping", f.Name(), 0, err)
	}
	return b, nil
}

// ReadSegment reads a segment into memory and checks it.
func ReadSegment(folder string, s cpar.Segment) ([]byte, error) { return readSegment(nil, folder, s) }

// readSegment reads a segment into b, or into new memory if b is nil.
func readSegment(b []byte, folder string, s cpar.Segment) ([]byte, error) {
	f, err := openSegment(folder, s)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if b == nil {
		b = make([]byte, s.Bytes) // openSegment has checked the size
	}
	h := sha256.New()
	for at := 0; at < len(b); {
		n, err := f.Read(b[at:min(at+256<<10, len(b))])
		h.Write(b[at : at+n]) // hash it while it is in the cache
		at += n
		if err != nil && at < len(b) {
			return nil, durable.StorageError("reading", f.Name(), 0, err)
		}
	}
	if cpar.Digest(h.Sum(nil)) != s.Digest {
		return nil, Fault(s, ErrDigest)
	}
	return b, nil
}

func openSegment(folder string, s cpar.Segment) (*os.File, error) {
	f, size, err := openFile(folder, s.Digest, func(err error) error { return Fault(s, err) })
	if err == nil && (s.Bytes > math.MaxInt || size != int64(s.Bytes)) {
		f.Close()
		return nil, Fault(s, fmt.Errorf("%w: it has %d bytes, want %d", ErrSize, size, s.Bytes))
	}
	return f, err
}

func checkDigest(f *os.File, s cpar.Segment) error {
	h := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, make([]byte, 256<<10)); err != nil {
		return durable.StorageError("reading", f.Name(), 0, err)
	}
	if cpar.Digest(h.Sum(nil)) != s.Digest {
		return Fault(s, ErrDigest)
	}
	return nil
}

// Fault adds cpar.ErrCorrupt and the name of segment s to err (ErrMissing or
// another fault).
func Fault(s cpar.Segment, err error) error {
	return hint.Add(fmt.Errorf("segment %v %.8v…: %w: %w", s.Kind, s.Digest, cpar.ErrCorrupt, err), rebuild)
}

// Manifest returns the index's manifest, which must not be modified.
func (x *Index) Manifest() *cpar.Manifest { return x.manifest }

// Copied returns the number of bytes that are copied instead of mapped.
func (x *Index) Copied() int {
	if x.copied == nil {
		return 0
	}
	return len(x.copied.all)
}

// Segments returns the segments in the manifest's order. They are valid until
// the last Release. Writing to a mapped segment ends the process. Copied
// segments are contiguous, and the capacity of each extends over the segments
// after it.
func (x *Index) Segments() [][]byte { return x.segments }

// Segment returns the bytes of the segment of this kind. The kind must not be
// vectors, because an index may have several such segments.
func (x *Index) Segment(kind cpar.SegmentKind) []byte {
	for i, s := range x.manifest.Segments {
		if s.Kind == kind {
			return x.segments[i]
		}
	}
	return nil
}

func (x *Index) Read(s cpar.Segment) ([]byte, error) {
	for i, known := range x.manifest.Segments {
		if known == s {
			return x.segments[i], nil
		}
	}
	return nil, Fault(s, ErrMissing)
}

// Retain adds a reference. The caller must hold a reference.
func (x *Index) Retain() {
	if x.refs.Add(1) <= 1 {
		panic("indexdir: an index was retained after its last release")
	}
}

// OnRelease adds a function to be called after the last Release, when the files
// are no longer mapped. It must be called before the index is shared.
func (x *Index) OnRelease(f func()) {
	before := x.released
	x.released = func() {
		if before != nil {
			before()
		}
		f()
	}
}

// Release drops a reference. With the last reference it unmaps the files.
func (x *Index) Release() {
	switch n := x.refs.Add(-1); {
	case n < 0:
		panic("indexdir: an index was released more often than retained")
	case n > 0:
		return
	}
	for i := range x.maps {
		x.segments[i] = nil
		if x.maps[i] != nil {
			x.maps[i].Unmap() // fails only for an invalid map
		}
	}
	if x.copied != nil {
		x.copied.free()
	}
	if x.released != nil {
		x.released()
	}
}
