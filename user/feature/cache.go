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

// A Cache keeps vectors and embeddings in a folder, so that a collection is
// extracted once. An entry is named by the SHA-256 of the image file's bytes:
// renaming or moving a photo keeps its entries, editing it does not.
//
//	DIR/ab/abcd…ef.v4                  "cparfeat" · Version (4 bytes) · SHA-256 of the image ·
//	                                   rgb hsv lab gabor (float32) gaborq (int8) haar (float32) haarq (int8) ·
//	                                   CRC-32C of all that (4); 22,384 bytes
//	DIR/ab/abcd…ef.n0123456789abcdef   "cparembd" · version (4 bytes) · SHA-256 of the image ·
//	                                   digest of the network (32) · values (float32) · CRC-32C (4)
//
// Numbers are little-endian. An entry that is damaged, cut short or of another
// version counts as absent, is computed again and replaced. An entry appears by
// rename, so a process killed while writing leaves only a temporary file, which
// OpenCache removes. Entries are not synced to disk: a power cut costs some, the
// checksum finds the torn ones, and the photos can give them again. The checksum
// guards against accidents, not against someone who may write to the folder.
// Entries are plaintext; files are 0600, folders 0700.
//
// A Cache may be used by many goroutines and processes at once. A nil *Cache keeps
// nothing.
type Cache struct{ dir string }

const (
	cacheTemp        = "tmp-" // prefix of files not yet renamed
	staleAfter       = time.Hour
	embeddingVersion = 1
)

// OpenCache opens a cache folder, making it if need be, and removes what
// killed processes left behind in it.
func OpenCache(dir string) (*Cache, error) {
	if dir == "" {
		return nil, fmt.Errorf("opening feature cache: %w: no folder given", cpar.ErrInput)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening feature cache: %w: %w", cpar.ErrStorage, err)
	}
	// Only in the folders that entries go to: the user may name a folder that
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
		return path // there is no escaping there, so a stale file may stay
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// vectors returns the vectors of the image with a SHA-256, or computes and keeps
// them. If they cannot be kept, they are returned all the same.
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

// embedding does the same for what a network made of the image.
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

// An entry is a file of the cache: where it is, and what it begins with.
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

// seal puts the header before a body and the checksum behind it.
func (e entry) seal(body []byte) []byte {
	b := append(bytes.Clone(e.header), body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// open returns the body of a sealed entry, nil if this is not one.
func (e entry) open(b []byte) []byte {
	end := len(b) - 4
	if end < len(e.header) || !bytes.Equal(b[:len(e.header)], e.header) || crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return nil
	}
	return b[len(e.header):end]
}

// read returns the body of the entry, nil if there is none that can be used.
func (e entry) read() []byte {
	b, err := os.ReadFile(e.path)
	if err != nil {
		return nil
	}
	return e.open(b)
}

// write writes a file beside the entry's place and renames it.
func (e entry) write(body []byte) error {
	folder := filepath.Dir(e.path)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.CreateTemp(folder, cacheTemp) // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(e.seal(body))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), e.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// vectorsSize is the length of the body of an entry of vectors.
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
