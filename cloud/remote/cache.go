package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// CacheName names the cache's folder in a data folder.
const CacheName = "cache"

const (
	folderMode = 0o700
	fileMode   = 0o600
)

// A cache keeps segments on the local disk. Each index has its own folder, so
// that knowing a digest never gives access to another index's data. Folders have
// the layout of package indexdir. Files are not synced, because every reader
// checks the digest.
type cache struct {
	dir   string
	limit int64

	mu      sync.Mutex
	used    int64 // bytes of files and bytes reserved for writing
	clock   int64 // number of uses, for entry.last
	entries map[segment]*entry
	hits    int64
	misses  int64
	evicted int64
}

type segment struct {
	key    store.IndexRef
	digest cpar.Digest
}

type entry struct {
	bytes   int64
	pins    int   // number of open or opening indexes that use the segment
	present bool  // whether the segment is on disk
	doomed  bool  // whether the last unpin removes the segment
	last    int64 // cache.clock at the last use
}

func openCache(data string, limit int64) (*cache, error) {
	c := &cache{dir: filepath.Join(data, CacheName), limit: limit, entries: map[segment]*entry{}}
	if err := os.MkdirAll(c.dir, folderMode); err != nil {
		return nil, durable.StorageError("making folder", c.dir, 0, err)
	}
	if err := c.scan(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(0) // the limit may be lower than in an earlier process
	return c, nil
}

// scan adds the files of an earlier process, in order of use, and removes its
// unfinished files.
func (c *cache) scan() error {
	type file struct {
		segment
		bytes int64
		used  time.Time
	}
	var files []file
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		seg, ok := c.segmentOf(path)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case ok:
			files = append(files, file{seg, info.Size(), info.ModTime()})
		case indexdir.IsTemp(d.Name()):
			return os.Remove(path)
		}
		return nil
	})
	if err != nil {
		return durable.StorageError("reading folder", c.dir, 0, err)
	}
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range files {
		c.clock++
		c.entries[f.segment] = &entry{bytes: f.bytes, present: true, last: c.clock}
		c.used += f.bytes
	}
	return nil
}

func (c *cache) segmentOf(path string) (segment, bool) {
	digest, err := cpar.ParseDigest(filepath.Base(path))
	index := filepath.Dir(filepath.Dir(path))
	id, e := cpar.ParseIndexID(filepath.Base(index))
	tenant := filepath.Base(filepath.Dir(index))
	if tenant == noTenant {
		tenant = ""
	}
	seg := segment{store.IndexRef{Tenant: tenant, Index: id}, digest}
	return seg, err == nil && e == nil && c.path(seg) == path
}

func (c *cache) folder(k store.IndexRef) string {
	return filepath.Join(c.dir, filepath.FromSlash(folder(k)))
}

func (c *cache) path(seg segment) string { return indexdir.SegmentPath(c.folder(seg.key), seg.digest) }

// evict makes room for n bytes by removing the least recently used segments,
// and reports success. The caller holds mu.
func (c *cache) evict(n int64) bool {
	if n > c.limit {
		return false
	}
	for c.used+n > c.limit {
		var oldest segment
		var found *entry
		for seg, e := range c.entries {
			if e.pins == 0 && (found == nil || e.last < found.last) {
				oldest, found = seg, e
			}
		}
		if found == nil || !c.remove(oldest) {
			return false
		}
		c.evicted++
	}
	return true
}

// remove removes an unpinned entry. The caller holds mu.
func (c *cache) remove(seg segment) bool {
	if err := os.Remove(c.path(seg)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	c.used -= c.entries[seg].bytes
	delete(c.entries, seg)
	// Remove empty folders. An unfinished file keeps its folder.
	for dir := filepath.Dir(c.path(seg)); dir != c.dir && os.Remove(dir) == nil; {
		dir = filepath.Dir(dir)
	}
	return true
}

// noRoom returns the error for n bytes that exceed the limit or do not fit now.
func (c *cache) noRoom(n int64) error {
	if n > c.limit {
		err := fmt.Errorf("%w: the cache is limited to %d bytes and this needs %d", cpar.ErrStorage, c.limit, n)
		return hint.Add(err, "raise cache-bytes")
	}
	return fmt.Errorf("%w: %w: another %d bytes do not fit into the cache of %d", cpar.ErrStorage, store.ErrNoRoom, n, c.limit)
}

type pins struct {
	cache *cache
	key   store.IndexRef
	want  map[cpar.Digest]cpar.Segment
	once  sync.Once
}

// pin reserves space for all segments of m and protects them from eviction. It
// reserves all space at once, because otherwise two half-loaded indexes could
// wait for each other.
func (c *cache) pin(k store.IndexRef, m *cpar.Manifest) (*pins, error) {
	p := &pins{cache: c, key: k, want: map[cpar.Digest]cpar.Segment{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	need, all := int64(0), int64(0)
	for _, s := range m.Segments {
		if _, twice := p.want[s.Digest]; twice {
			continue
		}
		p.want[s.Digest] = s
		all += int64(s.Bytes)
		seg := segment{k, s.Digest}
		e := c.entries[seg]
		if e == nil {
			e = &entry{bytes: int64(s.Bytes)}
			c.entries[seg] = e
			need += e.bytes
		}
		e.pins++
		c.clock++
		e.last = c.clock
		if e.present {
			c.hits++
			now := time.Now()
			_ = os.Chtimes(c.path(seg), now, now) // scan of the next process derives the order of use
		} else {
			c.misses++
		}
	}
	c.used += need
	if all > c.limit || !c.evict(0) {
		c.unpin(p)
		return nil, c.noRoom(max(need, all))
	}
	return p, nil
}

func (p *pins) missing() []cpar.Segment {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	var list []cpar.Segment
	for d, s := range p.want {
		if !p.cache.entries[segment{p.key, d}].present {
			list = append(list, s)
		}
	}
	return list
}

func (p *pins) release() {
	p.once.Do(func() {
		p.cache.mu.Lock()
		defer p.cache.mu.Unlock()
		p.cache.unpin(p)
	})
}

// unpin reverses pin. The caller holds mu.
func (c *cache) unpin(p *pins) {
	for d := range p.want {
		seg := segment{p.key, d}
		e := c.entries[seg]
		e.pins--
		if e.pins == 0 && (!e.present || e.doomed) {
			c.remove(seg)
		}
	}
}

// distrust removes the files of an index that is being opened, so that they are
// fetched again.
func (c *cache) distrust(k store.IndexRef, m *cpar.Manifest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range m.Segments {
		seg := segment{k, s.Digest}
		if e := c.entries[seg]; e != nil && e.present {
			os.Remove(c.path(seg))
			e.present = false
		}
	}
}

// drop removes a segment that the storage no longer has. If the segment is
// pinned, the last unpin removes it.
func (c *cache) drop(k store.IndexRef, d cpar.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seg := segment{k, d}
	switch e := c.entries[seg]; {
	case e == nil:
	case e.pins > 0:
		e.doomed = true
	default:
		c.remove(seg)
	}
}
