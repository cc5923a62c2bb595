package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// HasSegment reports whether a segment is stored completely, and its size. The first call
// after a start verifies it: an upload must not be skipped because of a damaged file.
func (s *Store[T]) HasSegment(k Key, d cpar.Digest) (size int64, ok bool, err error) {
	e, err := s.existing(k)
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	e.check.Lock()
	defer e.check.Unlock()
	info, err := os.Lstat(indexdir.SegmentPath(e.folder, d))
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, durable.StorageError("looking for segment", indexdir.SegmentPath(e.folder, d), 0, err)
	}
	e.mu.Lock()
	verified := e.verified[d]
	e.mu.Unlock()
	if !verified {
		err := indexdir.CheckSegment(e.folder, cpar.Segment{Bytes: uint64(info.Size()), Digest: d})
		if errors.Is(err, cpar.ErrCorrupt) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		e.markVerified(d)
	}
	return info.Size(), true, nil
}

// Missing returns the segments of a manifest that are not stored completely.
func (s *Store[T]) Missing(k Key, m *cpar.Manifest) ([]cpar.Digest, error) {
	var missing []cpar.Digest
	seen := map[cpar.Digest]bool{}
	for _, seg := range m.Segments {
		if seen[seg.Digest] {
			continue
		}
		seen[seg.Digest] = true
		size, ok, err := s.HasSegment(k, seg.Digest)
		if err != nil {
			return nil, err
		}
		if !ok || uint64(size) != seg.Bytes {
			missing = append(missing, seg.Digest)
		}
	}
	return missing, nil
}

// PutSegment reads a segment of size bytes (-1 if unknown) from r. It does not read r if
// the segment is already stored. The bytes must have digest d. A failed upload leaves
// nothing behind.
func (s *Store[T]) PutSegment(k Key, d cpar.Digest, size int64, r io.Reader) error {
	if size > s.o.MaxSegmentBytes {
		return s.tooLarge(d, size)
	}
	if _, ok, err := s.HasSegment(k, d); err != nil || ok {
		return err
	}
	e, w, err := s.startUpload(k)
	if err != nil {
		return err
	}
	done := false
	defer func() { s.endUpload(e, done) }()
	out, err := w.AddUpload(d, size)
	if err != nil {
		return err
	}
	defer out.Abort()
	n, err := io.CopyBuffer(struct{ io.Writer }{out}, io.LimitReader(r, s.o.MaxSegmentBytes+1), make([]byte, 64<<10))
	switch {
	case err != nil:
		return fmt.Errorf("receiving segment %v: %w", d, err)
	case n > s.o.MaxSegmentBytes:
		return s.tooLarge(d, n)
	case size >= 0 && n != size:
		return fmt.Errorf("receiving segment %v: %w: got %d bytes, %d were announced", d, cpar.ErrCorrupt, n, size)
	}
	if _, err := out.Close(); err != nil {
		return err
	}
	e.markVerified(d)
	done = true
	return nil
}

func (s *Store[T]) tooLarge(d cpar.Digest, n int64) error {
	return fmt.Errorf("segment %v: %w: %w: %d bytes or more, the limit is %d", d, cpar.ErrInput, ErrTooLarge, n, s.o.MaxSegmentBytes)
}

func (e *entry[T]) markVerified(d cpar.Digest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verified[d] = true
}

// startUpload returns the index's writer, which is opened by the first upload and kept
// until the index goes. Uploads stream without holding a lock of the store. Each one must
// end with endUpload.
func (s *Store[T]) startUpload(k Key) (*entry[T], *indexdir.Writer, error) {
	e, err := s.locked(k, s.entry)
	if err != nil {
		return nil, nil, err
	}
	defer e.work.Unlock()
	w, err := s.writerOf(e)
	if err != nil {
		s.dropEmpty(e)
		return nil, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.uploads++
	return e, w, nil
}

// endUpload ends what startUpload began. Anyone can invent ids, so a failed upload must
// not leave an empty index behind, with a folder, an entry, and a lock, which is an open
// file.
func (s *Store[T]) endUpload(e *entry[T], done bool) {
	e.mu.Lock()
	e.uploads--
	e.mu.Unlock()
	if done {
		return
	}
	e.work.Lock()
	defer e.work.Unlock()
	s.dropEmpty(e)
}

// dropEmpty removes an index that has no contents and no uploads in progress; the caller
// holds e.work.
func (s *Store[T]) dropEmpty(e *entry[T]) {
	e.mu.Lock()
	inUse := e.gone || e.open != nil || e.uploads > 0
	e.mu.Unlock()
	if inUse || !s.isEmpty(e.key) {
		return
	}
	if err := s.remove(e); err != nil {
		s.o.Log.Warn("removing the remains of an upload", "index", e.key.Index.String(), "error", err)
	}
}

// writerOf returns the writer of e; the caller holds e.work.
func (s *Store[T]) writerOf(e *entry[T]) (*indexdir.Writer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.writer == nil {
		w, err := indexdir.Create(e.folder, s.dirOptions())
		if err != nil {
			return nil, err
		}
		e.writer = w
	}
	return e.writer, nil
}

// PutManifest activates an index. It verifies and maps every segment, runs the Loader,
// and puts the manifest in place; from then on Get returns the new index. On any failure
// Get returns the old index. Repeating the call with the same manifest repairs what
// failed, or changes nothing.
func (s *Store[T]) PutManifest(k Key, b []byte) error {
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		return fmt.Errorf("activating index %v: %w", k.Index, err)
	}
	if m.ID != k.Index {
		return fmt.Errorf("activating index %v: %w: the manifest is that of index %v", k.Index, cpar.ErrInput, m.ID)
	}
	e, err := s.locked(k, s.existing)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("activating index %v: %w: %w: none was uploaded", k.Index, cpar.ErrInput, ErrIncomplete)
	}
	if err != nil {
		return err
	}
	defer e.work.Unlock()
	active, err := indexdir.ReadManifestBytes(e.folder)
	if err == nil && bytes.Equal(active, b) && e.serves(b) {
		return nil
	}
	next, err := s.loadIndex(e, m)
	if err != nil {
		if errors.Is(err, indexdir.ErrMissing) || errors.Is(err, indexdir.ErrSize) || errors.Is(err, indexdir.ErrDigest) || errors.Is(err, indexdir.ErrNotFile) {
			e.unverify()
			err = hint.Add(fmt.Errorf("%w: %w: %v", cpar.ErrInput, ErrIncomplete, err), "push the index again")
		}
		return fmt.Errorf("activating index %v: %w", k.Index, err)
	}
	// Even if the disk has this manifest: its name may not have been synced.
	w, err := s.writerOf(e)
	if err == nil {
		err = w.Activate(m)
	}
	if err != nil {
		next.index.Release()
		return err
	}
	e.swap(next)
	return nil
}

// serves reports whether Get returns the index of manifest b.
func (e *entry[T]) serves(b []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		return false
	}
	open, err := e.open.index.Manifest().MarshalBinary()
	return err == nil && bytes.Equal(open, b)
}

// unverify makes every segment be verified again before it counts as stored.
func (e *entry[T]) unverify() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.verified)
}

// swap makes next the index that Get returns.
func (e *entry[T]) swap(next *opened[T]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open != nil {
		e.open.index.Release()
	}
	e.open = next
	clear(e.verified)
	for _, s := range next.index.Manifest().Segments {
		e.verified[s.Digest] = true
	}
}
