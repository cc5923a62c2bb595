package remote

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
)

// step is the number of bytes reserved at a time for a segment of unknown
// length.
const step = 1 << 20

// A cacheFile is a segment that is being written to the cache.
type cacheFile struct {
	cache    *cache
	segment  segment
	file     *os.File
	hash     hash.Hash // nil if the caller checks the digest
	written  int64
	reserved int64
	pinned   bool // whether pin has reserved the space
}

// create creates a file and reserves `size` bytes of the cache. Further bytes
// reserve space as they arrive. A negative size means that the segment is
// pinned, so pin has already reserved its space.
func (c *cache) create(k store.IndexRef, d cpar.Digest, size int64) (*cacheFile, error) {
	f := &cacheFile{cache: c, segment: segment{k, d}, hash: sha256.New(), pinned: size < 0}
	if !f.pinned {
		if err := f.reserve(size); err != nil {
			return nil, err
		}
	}
	return f, f.open(filepath.Dir(c.path(f.segment)))
}

func (f *cacheFile) open(dir string) error {
	for attempt := 0; ; attempt++ {
		err := os.MkdirAll(dir, folderMode)
		if err == nil {
			name := filepath.Join(dir, "upload-"+rand.Text()[:12]+".tmp")
			f.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
		}
		if err == nil {
			return nil
		}
		// Try again. The cache removes a folder together with its last file.
		if !errors.Is(err, fs.ErrNotExist) || attempt == 10 {
			f.abort()
			return durable.StorageError("creating a file in", dir, 0, err)
		}
	}
}

func (f *cacheFile) reserve(n int64) error {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	if !f.cache.evict(n) {
		return f.cache.noRoom(n)
	}
	f.cache.used += n
	f.reserved += n
	return nil
}

func (f *cacheFile) Write(p []byte) (int, error) {
	if more := f.written + int64(len(p)) - f.reserved; more > 0 && !f.pinned {
		if err := f.reserve(max(more, step)); err != nil {
			return 0, err
		}
	}
	if f.hash != nil {
		f.hash.Write(p)
	}
	n, err := f.file.Write(p)
	f.written += int64(n)
	if err != nil {
		err = durable.StorageError("writing", f.file.Name(), int64(len(p)-n), err)
	}
	return n, err
}

func (f *cacheFile) check() error {
	if got := cpar.Digest(f.hash.Sum(nil)); got != f.segment.digest {
		return fmt.Errorf("segment %v: %w: %w: the %d bytes received have %v", f.segment.digest, cpar.ErrCorrupt, indexdir.ErrDigest, f.written, got)
	}
	return nil
}

func (f *cacheFile) keep() error {
	name := f.file.Name()
	err := f.file.Close()
	f.file = nil
	c := f.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= f.reserved
	f.reserved = 0
	if err == nil {
		err = os.Rename(name, c.path(f.segment))
	}
	if err != nil {
		os.Remove(name)
		return durable.StorageError("writing", name, 0, err)
	}
	e := c.entries[f.segment]
	if e == nil {
		e = &entry{}
		c.entries[f.segment] = e
	}
	c.used += f.written - e.bytes
	c.clock++
	e.bytes, e.present, e.doomed, e.last = f.written, true, false, c.clock
	return nil
}

func (f *cacheFile) abort() {
	if f.file != nil {
		f.file.Close()
		os.Remove(f.file.Name())
		f.file = nil
	}
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	f.cache.used -= f.reserved
	f.reserved = 0
}
