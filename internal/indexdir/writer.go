package indexdir

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
)

// Options configures a Writer. The zero value suits an owner's build.
type Options struct {
	// FS defaults to durable.OS.
	FS durable.FS
}

// A Writer writes the next index of a folder while the current one stays
// complete. It is safe for concurrent use.
type Writer struct {
	folder     string
	fsys       durable.FS
	lock       *flock.Flock // nil after Attach
	activating sync.Mutex
}

// Create creates `folder` if necessary, locks it and removes the remains of a
// killed process. It refuses a folder that holds anything except an index.
func Create(folder string, o Options) (*Writer, error) {
	o.FS = cmp.Or(o.FS, durable.OS)
	if err := refuseForeign(folder); err != nil {
		return nil, err
	}
	if err := durable.MkdirAll(o.FS, folder, folderMode); err != nil {
		return nil, err
	}
	lock, err := Lock(folder)
	if err != nil {
		return nil, err
	}
	w := &Writer{folder: folder, fsys: o.FS, lock: lock}
	if err := w.prepare(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("preparing index folder %s: %w", folder, err)
	}
	return w, nil
}

// Attach opens a folder inside the data folder of a cloud. It accepts any
// contents, so that a damaged manifest can be overwritten. It takes no lock,
// because a client that invents ten thousand IDs could make the cloud hold as
// many locks. It removes nothing, because clients may resume their uploads.
func Attach(folder string, fsys durable.FS) (*Writer, error) {
	if err := durable.MkdirAll(fsys, SegmentsFolder(folder), folderMode); err != nil {
		return nil, err
	}
	return &Writer{folder: folder, fsys: fsys}, nil
}

func (w *Writer) prepare() error {
	segments := SegmentsFolder(w.folder)
	if err := durable.MkdirAll(w.fsys, segments, folderMode); err != nil {
		return err
	}
	// An earlier process may have been killed after it created the folders and
	// before it synced their names.
	for _, dir := range []string{filepath.Dir(w.folder), w.folder} {
		if err := w.fsys.SyncDir(dir); err != nil {
			return durable.StorageError("syncing folder", dir, 0, err)
		}
	}
	for _, dir := range []string{w.folder, segments} {
		if err := durable.RemoveTemps(w.fsys, dir, 0, tempNames...); err != nil {
			return err
		}
	}
	m, err := ReadManifest(w.folder)
	switch {
	case err == nil, errors.Is(err, ErrNoIndex):
		return w.removeUnnamed(m)
	case errors.Is(err, cpar.ErrStorage):
		return err
	}
	// The segments that a damaged or foreign manifest needs are unknown. Keep
	// all segments until the next Activate.
	return nil
}

// removeUnnamed removes the segments that m does not name, or all segments if m
// is nil. It keeps files whose names are not digests.
func (w *Writer) removeUnnamed(m *cpar.Manifest) error {
	named := map[string]bool{}
	if m != nil {
		for _, s := range m.Segments {
			named[s.Digest.String()] = true
		}
	}
	entries, err := os.ReadDir(SegmentsFolder(w.folder))
	if err != nil {
		return durable.StorageError("reading folder", SegmentsFolder(w.folder), 0, err)
	}
	for _, e := range entries {
		if _, err := cpar.ParseDigest(e.Name()); err != nil || named[e.Name()] {
			continue
		}
		if !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(SegmentsFolder(w.folder), e.Name())
		if err := w.fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return durable.StorageError("removing", path, 0, err)
		}
	}
	return nil
}

// Activate atomically makes m the index of the folder. All segments of m must
// have been written. When it returns nil, the activation is durable.
func (w *Writer) Activate(m *cpar.Manifest) error {
	w.activating.Lock()
	defer w.activating.Unlock()
	if err := w.activate(m); err != nil {
		return fmt.Errorf("activating index %v: %w", m.ID, err)
	}
	// The new index is active now. A segment that cannot be removed only
	// occupies space until the next Create.
	_ = w.removeUnnamed(m)
	return nil
}

func (w *Writer) activate(m *cpar.Manifest) error {
	b, err := m.MarshalBinary()
	if err != nil {
		return err
	}
	for _, s := range m.Segments {
		f, err := openSegment(w.folder, s)
		if err != nil {
			return err
		}
		f.Close()
	}
	// An earlier upload may have written a segment and failed to sync its name.
	// The owner does not send that segment again, so sync the folder now.
	segments := SegmentsFolder(w.folder)
	if err := w.fsys.SyncDir(segments); err != nil {
		return durable.StorageError("syncing folder", segments, 0, err)
	}
	return durable.WriteFileFS(w.fsys, filepath.Join(w.folder, manifestName), b, fileMode)
}

// Close releases the lock that Create took. Segments that were not activated
// stay until the next Create.
func (w *Writer) Close() error { return w.lock.Close() }

// A SegmentWriter writes one segment and computes its digest.
type SegmentWriter struct {
	kind  cpar.SegmentKind
	label string
	want  *cpar.Digest
	file  *durable.Writer
	buf   *bufio.Writer
	hash  hash.Hash
	bytes uint64
}

func (w *Writer) AddSegment(kind cpar.SegmentKind) (*SegmentWriter, error) {
	return w.add(kind, kind.String(), nil, 0)
}

// AddUpload starts a segment that must have digest `want`. `size` is the
// expected number of bytes, or −1 if unknown.
func (w *Writer) AddUpload(want cpar.Digest, size int64) (*SegmentWriter, error) {
	return w.add(0, uploadLabel, &want, size)
}

func (w *Writer) add(kind cpar.SegmentKind, label string, want *cpar.Digest, size int64) (*SegmentWriter, error) {
	file, err := durable.Create(w.fsys, SegmentsFolder(w.folder), label, fileMode)
	if err != nil {
		return nil, fmt.Errorf("segment %s: %w", label, err)
	}
	file.Expect(max(size, 0))
	return &SegmentWriter{kind: kind, label: label, want: want, file: file,
		buf: bufio.NewWriterSize(file, 256<<10), hash: sha256.New()}, nil
}

func (s *SegmentWriter) Write(p []byte) (int, error) {
	s.hash.Write(p)
	s.bytes += uint64(len(p))
	n, err := s.buf.Write(p)
	if err != nil {
		err = fmt.Errorf("segment %s: %w", s.label, err)
	}
	return n, err
}

// Close makes the segment durable and returns its entry for a manifest.
func (s *SegmentWriter) Close() (cpar.Segment, error) {
	defer s.file.Abort()
	seg := cpar.Segment{Kind: s.kind, Bytes: s.bytes, Digest: cpar.Digest(s.hash.Sum(nil))}
	if s.want != nil && *s.want != seg.Digest {
		return cpar.Segment{}, fmt.Errorf("segment %v: %w: %w: the %d bytes received have %v", *s.want, cpar.ErrCorrupt, ErrDigest, s.bytes, seg.Digest)
	}
	err := s.buf.Flush()
	if err == nil {
		err = s.file.Commit(seg.Digest.String())
	}
	if err != nil {
		return cpar.Segment{}, fmt.Errorf("segment %s: %w", s.label, err)
	}
	return seg, nil
}

func (s *SegmentWriter) Abort() { s.file.Abort() }
