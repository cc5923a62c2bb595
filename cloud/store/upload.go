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

// HasSegment tells whether a segment is there, whole, and how long it is. The
// first time after a start it is read through: an upload must not be skipped
// in favour of a damaged file.
func (s *Store[T]) HasSegment(id cpar.IndexID, d cpar.Digest) (size int64, ok bool, err error) {
	e, err := s.existing(id)
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

// Missing returns those of a manifest's segments that are not there, whole.
func (s *Store[T]) Missing(id cpar.IndexID, m *cpar.Manifest) ([]cpar.Digest, error) {
	var missing []cpar.Digest
	seen := map[cpar.Digest]bool{}
	for _, seg := range m.Segments {
		if seen[seg.Digest] {
			continue
		}
		seen[seg.Digest] = true
		size, ok, err := s.HasSegment(id, seg.Digest)
		if err != nil {
			return nil, err
		}
		if !ok || uint64(size) != seg.Bytes {
			missing = append(missing, seg.Digest)
		}
	}
	return missing, nil
}

// PutSegment takes a segment of size bytes (-1 where not known) from r. One
// that is there already is not read again. The bytes must have the digest d. Of
// an upload that fails nothing stays.
func (s *Store[T]) PutSegment(id cpar.IndexID, d cpar.Digest, size int64, r io.Reader) error {
	if size > s.o.MaxSegmentBytes {
		return s.tooLarge(d, size)
	}
	if _, ok, err := s.HasSegment(id, d); err != nil || ok {
		return err
	}
	e, w, err := s.startUpload(id)
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
		return fmt.Errorf("receiving segment %v: %w: %d bytes came, %d were announced", d, cpar.ErrCorrupt, n, size)
	}
	if _, err := out.Close(); err != nil {
		return err
	}
	e.markVerified(d)
	done = true
	return nil
}

func (s *Store[T]) tooLarge(d cpar.Digest, n int64) error {
	return fmt.Errorf("segment %v: %w: %w: %d bytes or more, at most %d are taken", d, cpar.ErrInput, ErrTooLarge, n, s.o.MaxSegmentBytes)
}

func (e *entry[T]) markVerified(d cpar.Digest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verified[d] = true
}

// startUpload returns the index's writer, opened on the first upload and held
// until the index goes. Uploads are streamed without any lock of the store.
// Every one that starts must end by endUpload.
func (s *Store[T]) startUpload(id cpar.IndexID) (*entry[T], *indexdir.Writer, error) {
	e, err := s.working(id, s.entry)
	if err != nil {
		return nil, nil, err
	}
	defer e.work.Unlock()
	w, err := s.writerOf(e)
	if err != nil {
		s.dropHollow(e)
		return nil, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.uploads++
	return e, w, nil
}

// endUpload ends what startUpload started. Ids are free to invent: an upload
// that failed must not leave an index of nothing, with a folder, an entry and
// a lock, which is an open file.
func (s *Store[T]) endUpload(e *entry[T], done bool) {
	e.mu.Lock()
	e.uploads--
	e.mu.Unlock()
	if done {
		return
	}
	e.work.Lock()
	defer e.work.Unlock()
	s.dropHollow(e)
}

// dropHollow removes an index that holds nothing and that nobody uploads to;
// the caller holds e.work.
func (s *Store[T]) dropHollow(e *entry[T]) {
	e.mu.Lock()
	inUse := e.gone || e.open != nil || e.uploads > 0
	e.mu.Unlock()
	if inUse || !s.hollow(e.id) {
		return
	}
	if err := s.remove(e); err != nil {
		s.o.Log.Warn("removing what an upload left", "index", e.id.String(), "error", err)
	}
}

// writerOf is writer for a caller that holds e.work.
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

// PutManifest activates an index: every segment that it names is read through
// and mapped, the Loader sees it, then the manifest goes into place, and from
// then on Get returns the new index. Whatever fails, Get returns the old one;
// the same manifest again makes good what failed, or changes nothing.
func (s *Store[T]) PutManifest(id cpar.IndexID, b []byte) error {
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		return fmt.Errorf("activating index %v: %w", id, err)
	}
	if m.ID != id {
		return fmt.Errorf("activating index %v: %w: the manifest is that of index %v", id, cpar.ErrInput, m.ID)
	}
	e, err := s.working(id, s.existing)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("activating index %v: %w: %w: none was uploaded", id, cpar.ErrInput, ErrIncomplete)
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
			e.forget()
			err = hint.Add(fmt.Errorf("%w: %w: %v", cpar.ErrInput, ErrIncomplete, err), "push the index again")
		}
		return fmt.Errorf("activating index %v: %w", id, err)
	}
	// Even where the disk has this manifest: its name may not have been synced.
	w, err := s.writerOf(e)
	if err == nil {
		err = w.Activate(m)
	}
	if err != nil {
		next.index.Release()
		return err
	}
	e.exchange(next)
	return nil
}

// serves reports whether the index that Get returns is that of manifest b.
func (e *entry[T]) serves(b []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		return false
	}
	open, err := e.open.index.Manifest().MarshalBinary()
	return err == nil && bytes.Equal(open, b)
}

// forget makes every segment be read through again before it counts.
func (e *entry[T]) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.verified)
}

// exchange makes next the index that Get returns.
func (e *entry[T]) exchange(next *opened[T]) {
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
