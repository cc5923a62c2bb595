package feature

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cpar"
)

// A Cache keeps vectors in a folder, one file an image, so that a collection is
// extracted once. An entry is named by the SHA-256 of the image file's bytes and
// by Version; renaming or moving a photo keeps its entry, editing it does not.
//
//	DIR/ab/abcd…ef.v4    magic "cparfeat" · version (4 bytes) · SHA-256 of the image (32)
//	                     rgb hsv lab gabor haar (float32) · gaborq (bytes) · haarq (2 bits)
//	                     CRC-32C of all that (4); little-endian throughout, 19,312 bytes
//
// An entry that is damaged, cut short or of another version counts as absent,
// is computed again and replaced. An entry appears by rename, so a process
// killed while writing leaves none, only a temporary file that OpenCache
// clears away. It is not synced to disk: a power cut costs entries, the
// checksum finds the torn ones, and nothing is lost that the photos cannot give
// again. The checksum guards against accidents, not against someone who may
// write to the folder. Entries are plaintext features; files are 0600, folders
// 0700.
//
// A Cache may be used by many goroutines and processes at once.
type Cache struct{ dir string }

const (
	cacheMagic  = "cparfeat"
	cacheHeader = len(cacheMagic) + 4 + sha256.Size
	cacheBody   = 4*(3*ColorDim+GaborDim+HaarDim) + GaborDim + HaarDim/4
	cacheSize   = cacheHeader + cacheBody + 4
	cacheTemp   = "tmp-" // prefix of files not yet renamed
	staleAfter  = time.Hour
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// OpenCache opens a cache folder, making it if need be, and removes what
// killed processes left behind in it.
func OpenCache(dir string) (*Cache, error) {
	if dir == "" {
		return nil, fmt.Errorf("opening feature cache: %w: no folder given", cpar.ErrInput)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening feature cache: %w: %w", cpar.ErrStorage, err)
	}
	// Only in the folders that entries go to: somebody may name a folder that
	// holds other things too.
	stale, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "[0-9a-f][0-9a-f]", cacheTemp+"*"))
	for _, path := range stale {
		// A young one may belong to a process that is still writing.
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			os.Remove(path)
		}
	}
	return &Cache{dir: dir}, nil
}

// escapeGlob keeps a folder's own brackets and stars from being a pattern.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // no escaping there; a stale file may stay
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// FromFile is FromFile with the cache in front. A cache that cannot be written
// is no reason to fail: the vectors are returned all the same.
func (c *Cache) FromFile(path string) (*Vectors, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := c.FromBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// FromBytes is FromBytes with the cache in front.
func (c *Cache) FromBytes(data []byte) (*Vectors, error) {
	return c.fromBytes(data, FromBytes)
}

func (c *Cache) fromBytes(data []byte, compute func([]byte) (*Vectors, error)) (*Vectors, error) {
	key := sha256.Sum256(data)
	if v, err := c.load(key); err == nil {
		return v, nil
	}
	v, err := compute(data)
	if err != nil {
		return nil, err
	}
	_ = c.store(key, v) // see FromFile
	return v, nil
}

func (c *Cache) path(key [sha256.Size]byte) string {
	name := hex.EncodeToString(key[:])
	return filepath.Join(c.dir, name[:2], fmt.Sprintf("%s.v%d", name, Version))
}

// load reads an entry; any error means that there is none to be used.
func (c *Cache) load(key [sha256.Size]byte) (*Vectors, error) {
	b, err := os.ReadFile(c.path(key))
	if err != nil {
		return nil, err
	}
	return decodeEntry(b, key)
}

// store writes an entry.
func (c *Cache) store(key [sha256.Size]byte, v *Vectors) error {
	entry, err := encodeEntry(key, v)
	if err != nil {
		return err
	}
	return c.write(c.path(key), entry)
}

// write writes an entry beside its place and renames it there.
func (c *Cache) write(path string, entry []byte) (err error) {
	fail := func(err error) error {
		return fmt.Errorf("writing feature cache: %w: %w", cpar.ErrStorage, err)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), cacheTemp) // mode 0600
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(entry)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// encodeEntry refuses vectors that the compact form could not give back.
func encodeEntry(key [sha256.Size]byte, v *Vectors) ([]byte, error) {
	b := make([]byte, 0, cacheSize)
	b = append(b, cacheMagic...)
	b = binary.LittleEndian.AppendUint32(b, Version)
	b = append(b, key[:]...)
	for _, f := range v.floats() {
		for _, x := range f {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	for _, x := range v.GaborQ {
		if x != float32(byte(x)) || x >= gaborLevels {
			return nil, fmt.Errorf("caching features: %w: gaborq holds %g", cpar.ErrInput, x)
		}
		b = append(b, byte(x))
	}
	for i := 0; i < len(v.HaarQ); i += 4 {
		packed := byte(0)
		for k, x := range v.HaarQ[i:][:4] {
			if x != -1 && x != 0 && x != 1 {
				return nil, fmt.Errorf("caching features: %w: haarq holds %g", cpar.ErrInput, x)
			}
			packed |= byte(x+1) << (2 * k)
		}
		b = append(b, packed)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

// floats are the vectors kept as float32, in their order in an entry.
func (v *Vectors) floats() [5][]float32 {
	return [5][]float32{v.RGB, v.HSV, v.Lab, v.Gabor, v.Haar}
}

func decodeEntry(b []byte, key [sha256.Size]byte) (*Vectors, error) {
	fail := func(what string) (*Vectors, error) {
		return nil, fmt.Errorf("reading feature cache: %w: %s", cpar.ErrCorrupt, what)
	}
	switch {
	case len(b) != cacheSize:
		return fail("wrong length")
	case string(b[:len(cacheMagic)]) != cacheMagic:
		return fail("not an entry")
	case binary.LittleEndian.Uint32(b[len(cacheMagic):]) != Version:
		return nil, fmt.Errorf("reading feature cache: %w", cpar.ErrVersion)
	case [sha256.Size]byte(b[cacheHeader-sha256.Size:]) != key:
		return fail("of another image")
	case crc32.Checksum(b[:cacheSize-4], castagnoli) != binary.LittleEndian.Uint32(b[cacheSize-4:]):
		return fail("checksum does not match")
	}
	b = b[cacheHeader:]
	v := newVectors()
	for _, f := range v.floats() {
		for i := range f {
			f[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
			if f[i]-f[i] != 0 {
				return fail("not a finite number")
			}
		}
		b = b[4*len(f):]
	}
	for i := range v.GaborQ {
		if b[i] >= gaborLevels {
			return fail("gaborq out of range")
		}
		v.GaborQ[i] = float32(b[i])
	}
	b = b[GaborDim:]
	for i := range v.HaarQ {
		x := b[i/4] >> (2 * (i % 4)) & 3
		if x == 3 {
			return fail("haarq out of range")
		}
		v.HaarQ[i] = float32(x) - 1
	}
	return v, nil
}
