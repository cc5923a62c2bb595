package feature

import (
	"bytes"
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

// A Cache keeps vectors and embeddings in a folder, so that a collection is extracted
// only once. An entry is named by the SHA-256 of the image file: renaming or moving a
// photo keeps its entries, editing it does not.
//
//	DIR/ab/abcd…ef.v4                  "cparfeat" · Version (4 bytes) · SHA-256 of the image ·
//	                                   rgb hsv lab gabor (float32) gaborq (int8) haar (float32) haarq (int8) ·
//	                                   CRC-32C of all that (4); 22,384 bytes
//	DIR/ab/abcd…ef.n0123456789abcdef   "cparembd" · version (4 bytes) · SHA-256 of the image ·
//	                                   digest of the network (32) · values (float32) · CRC-32C (4)
//
// Numbers are little-endian. An entry that is damaged, truncated or of another version
// counts as missing; it is computed again and replaced. Entries appear by rename, so a
// process killed while writing leaves only a temporary file, which OpenCache removes.
// Entries are not synced to disk: a power failure may lose some, the checksum detects
// torn ones, and both can be computed again. The checksum protects against accidents, not
// against someone who can write to the folder. Entries are plaintext; files are 0600,
// folders 0700.
//
// A Cache is safe for concurrent use, also by several processes. A nil *Cache keeps nothing.
type Cache struct{ dir string }

const (
	cacheTemp        = "tmp-" // prefix of files not yet renamed
	staleAfter       = time.Hour
	embeddingVersion = 1
)

// OpenCache opens a cache folder, creating it if necessary, and removes what killed
// processes left in it. Errors wrap cpar.ErrInput or cpar.ErrStorage.
func OpenCache(dir string) (*Cache, error) {
	if dir == "" {
		return nil, fmt.Errorf("opening feature cache: %w: no folder given", cpar.ErrInput)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening feature cache: %w: %w", cpar.ErrStorage, err)
	}
	// Only in folders of entries: the user may name a folder that holds other things too.
	stale, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "[0-9a-f][0-9a-f]", cacheTemp+"*"))
	for _, path := range stale {
		// A recent one may belong to a process that is still writing.
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			os.Remove(path)
		}
	}
	return &Cache{dir: dir}, nil
}

// escapeGlob keeps brackets and stars in a folder's name from acting as a pattern.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // no escaping there, so a stale file may remain
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// vectors returns the vectors for an image's SHA-256, or computes and stores them. If
// storing fails, it still returns them.
func (c *Cache) vectors(image [sha256.Size]byte, compute func() (*Vectors, error)) (*Vectors, error) {
	if c == nil {
		return compute()
	}
	e := c.vectorsEntry(image)
	if body := e.read(); len(body) == vectorsSize {
		return decodeVectors(body), nil
	}
	v, err := compute()
	if err == nil {
		_ = e.write(encodeVectors(v))
	}
	return v, err
}

// embedding does the same for the result of a network.
func (c *Cache) embedding(image, network [sha256.Size]byte, compute func() ([]float32, error)) ([]float32, error) {
	if c == nil {
		return compute()
	}
	e := c.embeddingEntry(image, network)
	if body := e.read(); len(body) > 0 && len(body)%4 == 0 {
		values := make([]float32, len(body)/4)
		readFloats(values, body)
		return values, nil
	}
	values, err := compute()
	if err == nil {
		_ = e.write(appendFloats(nil, values))
	}
	return values, err
}

// An entry is a file of the cache: its path and its first bytes.
type entry struct {
	path   string
	header []byte
}

func (c *Cache) vectorsEntry(image [sha256.Size]byte) entry {
	header := binary.LittleEndian.AppendUint32([]byte("cparfeat"), Version)
	return entry{c.path(image, fmt.Sprintf(".v%d", Version)), append(header, image[:]...)}
}

func (c *Cache) embeddingEntry(image, network [sha256.Size]byte) entry {
	header := binary.LittleEndian.AppendUint32([]byte("cparembd"), embeddingVersion)
	header = append(append(header, image[:]...), network[:]...)
	return entry{c.path(image, ".n"+hex.EncodeToString(network[:8])), header}
}

func (c *Cache) path(image [sha256.Size]byte, suffix string) string {
	name := hex.EncodeToString(image[:])
	return filepath.Join(c.dir, name[:2], name+suffix)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode adds the header before a body and the checksum after it.
func (e entry) encode(body []byte) []byte {
	b := append(bytes.Clone(e.header), body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decode returns the body of an encoded entry, or nil if it is invalid.
func (e entry) decode(b []byte) []byte {
	end := len(b) - 4
	if end < len(e.header) || !bytes.Equal(b[:len(e.header)], e.header) || crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return nil
	}
	return b[len(e.header):end]
}

// read returns the body of the entry, or nil if there is no valid one.
func (e entry) read() []byte {
	b, err := os.ReadFile(e.path)
	if err != nil {
		return nil
	}
	return e.decode(b)
}

// write writes a file beside the entry and renames it into place.
func (e entry) write(body []byte) error {
	folder := filepath.Dir(e.path)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.CreateTemp(folder, cacheTemp) // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(e.encode(body))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), e.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// vectorsSize is the length of the body of a vectors entry.
var vectorsSize = func() (n int) {
	for _, b := range blocks {
		n += b.size()
	}
	return n
}()

// size is the length of a block in an entry.
func (b Block) size() int {
	if b.Kind == Quantised { // a byte each
		return b.Len
	}
	return 4 * b.Len
}

func encodeVectors(v *Vectors) []byte {
	body := make([]byte, 0, vectorsSize)
	for _, b := range blocks {
		if b.Kind != Quantised {
			body = appendFloats(body, b.Of(v))
			continue
		}
		for _, x := range b.Of(v) {
			body = append(body, byte(int8(x)))
		}
	}
	return body
}

func decodeVectors(body []byte) *Vectors {
	v := New()
	for _, b := range blocks {
		values := b.Of(v)
		if b.Kind != Quantised {
			readFloats(values, body)
		} else {
			for i := range values {
				values[i] = float32(int8(body[i]))
			}
		}
		body = body[b.size():]
	}
	return v
}

func appendFloats(b []byte, values []float32) []byte {
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func readFloats(to []float32, b []byte) {
	for i := range to {
		to[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}
