// Package thumbs keeps small images of an album's photos in encrypted parts.
//
//	photo ─decoded once─▶ 96 and 224 pixels, JPEG
//	images of one size and month ─▶ index ‖ zstd of images ─AES-256-GCM─▶ cpar-thumb-NAME
//	NAME ─AES under a key of the owner─▶ size, month, days, length of the index
//	part on the device or at the server ─▶ Reader ─▶ image of a photo
//
// A part never changes. Adding photos adds parts, and maintenance merges them.
// The owner decrypts names to know what to fetch, while the server sees random
// digits. The catalogue's generations pin parts like other blobs.
package thumbs

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"cpar"
	"cpar/internal/seed"
	"cpar/user/album/catalogue"
	"cpar/user/album/envelope"
)

type Size uint8

const (
	Small  Size = 1 + iota // for grids
	Medium                 // for one photo, until its original arrives
)

var Sizes = []Size{Small, Medium}

// Side returns the length of the longer side in pixels.
func (s Size) Side() int { return map[Size]int{Small: 96, Medium: 224}[s] }

// A Key identifies the contents of a photo's file.
type Key [12]byte

func KeyOf(p *catalogue.Photo) (k Key) {
	if len(p.Files) > 0 {
		d := sha256.Sum256([]byte(p.Files[0].Object))
		copy(k[:], d[:])
	}
	return k
}

// A Month counts the months since the year 0. Photos without a date have month 0.
type Month uint16

// When returns the month and the day of the month when a photo was taken.
func When(p *catalogue.Photo) (Month, uint8) {
	t := time.Unix(p.Time, 0).UTC()
	if p.Time == 0 || t.Year() < 1 || t.Year() > 5000 {
		return 0, 0
	}
	return Month(12*t.Year() + int(t.Month()) - 1), uint8(t.Day())
}

// An Entry is an image to be stored in a part.
type Entry struct {
	Key  Key
	Day  uint8
	JPEG []byte
}

// A part describes one blob of thumbnails. Its name encrypts the other fields.
type part struct {
	name        string
	size        Size
	month       Month
	first, last uint8  // days of the month of the photos
	pages       uint16 // length of the index in envelope pages
}

const (
	// nameVersion is the first byte of a name's plaintext.
	nameVersion = 1
	// maxPart bounds the images of a part, unless a single image is larger.
	maxPart    = 4 << 20
	entryBytes = len(Key{}) + 4
)

// A coder encrypts and decrypts parts and their names.
type coder struct {
	seed.Redacted
	names cipher.Block
	box   *envelope.Cipher
}

func newCoder(secret seed.Secret) *coder {
	key := secret.Derive("thumbnail names")
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("thumbs: AES with a 32-byte key: " + err.Error())
	}
	return &coder{names: block, box: envelope.New(secret, "thumbnails")}
}

// seal sets a part's name by encrypting a block that ends with 64 random bits, so
// that names of equal parts differ.
func (c *coder) seal(p *part) {
	b := make([]byte, aes.BlockSize)
	b[0], b[1], b[4], b[5] = nameVersion, byte(p.size), p.first, p.last
	binary.LittleEndian.PutUint16(b[2:], uint16(p.month))
	binary.LittleEndian.PutUint16(b[6:], p.pages)
	rand.Read(b[8:]) // never fails
	c.names.Encrypt(b, b)
	p.name = catalogue.ThumbPrefix + hex.EncodeToString(b)
}

// open decrypts a part's name. Result ok is false for names of other blobs.
func (c *coder) open(name string) (p part, ok bool) {
	digits, ok := strings.CutPrefix(name, catalogue.ThumbPrefix)
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != aes.BlockSize {
		return p, false
	}
	c.names.Decrypt(b, b)
	p = part{name, Size(b[1]), Month(binary.LittleEndian.Uint16(b[2:])), b[4], b[5], binary.LittleEndian.Uint16(b[6:])}
	return p, b[0] == nameVersion && slices.Contains(Sizes, p.size) && p.pages > 0
}

var coders = envelope.Coders(zstd.SpeedFastest, 0, 256<<20)

// encode returns parts with the entries of one size and month, by name. It keeps
// the first of several entries with one key. It compresses the images, because the
// headers of JPEG files are alike.
func (c *coder) encode(size Size, month Month, entries []Entry) map[string][]byte {
	seen := map[Key]bool{}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		twice := seen[e.Key]
		seen[e.Key] = true
		return twice
	})
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Day, b.Day), slices.Compare(a.Key[:], b.Key[:])) })
	parts := map[string][]byte{}
	for len(entries) > 0 {
		n, bytes := 0, 0
		for n < len(entries) && (n == 0 || bytes+len(entries[n].JPEG) <= maxPart) {
			bytes += len(entries[n].JPEG)
			n++
		}
		p := part{size: size, month: month, first: entries[0].Day, last: entries[n-1].Day}
		name, b := c.encodePart(p, entries[:n])
		parts[name] = b
		entries = entries[n:]
	}
	return parts
}

func (c *coder) encodePart(p part, entries []Entry) (string, []byte) {
	var index, images []byte
	for _, e := range slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return slices.Compare(a.Key[:], b.Key[:]) }) {
		index = binary.LittleEndian.AppendUint32(append(index, e.Key[:]...), uint32(len(e.JPEG)))
		images = append(images, e.JPEG...)
	}
	p.pages = uint16(envelope.Size(len(index)) / envelope.PageBytes)
	c.seal(&p)
	encoder, _ := coders()
	return p.name, append(c.box.Seal(index, indexBinding+p.name), c.box.Seal(encoder.EncodeAll(images, nil), imagesBinding+p.name)...)
}

const indexBinding, imagesBinding = "cpar/v1/album thumbnails index/", "cpar/v1/album thumbnails/"

// An index holds a part's keys in ascending order, and the offsets of their images.
// The last offset, which has no key, is the end of the images.
type index struct {
	keys    []Key
	offsets []uint32
}

func (c *coder) decodeIndex(p part, b []byte) (x index, err error) {
	plain, err := c.box.Open(b[:min(len(b), int(p.pages)*envelope.PageBytes)], indexBinding+p.name)
	if err != nil || len(plain)%entryBytes != 0 {
		return x, fmt.Errorf("%w: the index of thumbnails %s is damaged", cpar.ErrCorrupt, p.name)
	}
	at := uint32(0)
	for e := range slices.Chunk(plain, entryBytes) {
		x.keys, x.offsets = append(x.keys, Key(e)), append(x.offsets, at)
		at += binary.LittleEndian.Uint32(e[len(Key{}):])
	}
	x.offsets = append(x.offsets, at)
	return x, nil
}

func (x *index) find(k Key) (int, bool) {
	return slices.BinarySearchFunc(x.keys, k, func(a, b Key) int { return slices.Compare(a[:], b[:]) })
}

type opened struct {
	index
	images []byte
}

func (c *coder) decode(p part, b []byte) (*opened, error) {
	x, err := c.decodeIndex(p, b)
	if err != nil {
		return nil, err
	}
	packed, err := c.box.Open(b[min(len(b), int(p.pages)*envelope.PageBytes):], imagesBinding+p.name)
	if err == nil {
		_, decoder := coders()
		packed, err = decoder.DecodeAll(packed, nil)
	}
	if err != nil || len(packed) != int(x.offsets[len(x.keys)]) {
		return nil, fmt.Errorf("%w: thumbnails %s are damaged", cpar.ErrCorrupt, p.name)
	}
	return &opened{x, packed}, nil
}

func (o *opened) image(i int) []byte { return o.images[o.offsets[i]:o.offsets[i+1]] }
