package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const uuidXMP = "\xbe\x7a\xcf\xcb\x97\xa9\x42\xe8\x9c\x71\x99\x94\x91\xe3\xaf\xac"

func isHEIF(head []byte) bool { return len(head) >= 12 && string(head[4:8]) == "ftyp" }

const maxBoxes = 10_000

// A box of an ISO media file (ISO/IEC 14496-12) consists of length, type and
// content.
type box struct {
	kind     string
	at, size int64 // position and size of the content
}

// readHEIF collects the blocks of HEIC, AVIF and CR3 files.
//
//	meta ─▶ iinf: XMP and EXIF items ─▶ iloc: their positions
//	uuid be7acfcb-…: XMP, in CR3
func (b *blocks) readHEIF(r io.ReaderAt, size int64) {
	err := boxes(r, 0, size, func(x box) error {
		switch x.kind {
		case "meta":
			b.problem("HEIF", b.readMeta(r, size, x))
		case "uuid":
			id, err := readRange(r, size, x.at, 16)
			if err != nil || string(id) != uuidXMP {
				return err
			}
			data, err := readRange(r, size, x.at+16, x.size-16)
			b.problem("XMP", err)
			if err == nil {
				b.xmp = append(b.xmp, data)
			}
		}
		return nil
	})
	b.problem("HEIF", err)
}

func boxes(r io.ReaderAt, from, to int64, each func(box) error) error {
	for range maxBoxes {
		if to-from < 8 {
			return nil
		}
		var head [16]byte
		if _, err := r.ReadAt(head[:8], from); err != nil {
			return errTruncated
		}
		size, start := int64(binary.BigEndian.Uint32(head[:])), int64(8)
		switch size {
		case 0: // the box extends to the end
			size = to - from
		case 1:
			if _, err := r.ReadAt(head[8:], from+8); err != nil {
				return errTruncated
			}
			size, start = int64(binary.BigEndian.Uint64(head[8:])), 16
		}
		if size < start || size > to-from {
			return errTruncated
		}
		if err := each(box{string(head[4:8]), from + start, size - start}); err != nil {
			return err
		}
		from += size
	}
	return nil
}

func (b *blocks) readMeta(r io.ReaderAt, size int64, meta box) error {
	if meta.size < 4 {
		return errTruncated
	}
	var kinds map[uint32]string
	var places []location
	var data box // box with the content of small items
	err := boxes(r, meta.at+4, meta.at+meta.size, func(x box) (err error) {
		switch x.kind {
		case "iinf":
			kinds, err = itemKinds(r, size, x)
		case "iloc":
			var content []byte
			if content, err = readRange(r, size, x.at, x.size); err == nil {
				places, err = locations(content)
			}
		case "idat":
			data = x
		}
		return err
	})
	for _, l := range places {
		kind := kinds[l.item]
		if kind == "" {
			continue
		}
		item, e := b.readItem(l, r, size, data)
		if e != nil {
			b.problem(kind, e)
			continue
		}
		if kind == "XMP" {
			b.xmp = append(b.xmp, item)
			continue
		}
		b.readExifItem(item)
	}
	return err
}

func (b *blocks) readExifItem(item []byte) {
	if len(item) < 4 {
		b.problem("EXIF", errTruncated)
		return
	}
	skip := binary.BigEndian.Uint32(item)
	if item = item[4:]; uint64(skip) > uint64(len(item)) {
		b.problem("EXIF", errTruncated)
		return
	}
	item = bytes.TrimPrefix(item[skip:], []byte(signatureExif))
	b.readTIFF(bytes.NewReader(item), int64(len(item)))
}

func itemKinds(r io.ReaderAt, size int64, iinf box) (map[uint32]string, error) {
	head, err := readRange(r, size, iinf.at, min(iinf.size, 8))
	if err != nil || len(head) < 6 {
		return nil, errTruncated
	}
	start := int64(6) // after version, flags and a count of two bytes
	if head[0] > 0 {
		start = 8
	}
	kinds := map[uint32]string{}
	return kinds, boxes(r, iinf.at+start, iinf.at+iinf.size, func(x box) error {
		if x.kind != "infe" {
			return nil
		}
		b, err := readRange(r, size, x.at, min(x.size, 1024))
		if err != nil || len(b) < 4 {
			return errTruncated
		}
		version := b[0]
		b = b[4:]
		var item uint32
		switch {
		case version == 2 && len(b) >= 8:
			item, b = uint32(binary.BigEndian.Uint16(b)), b[2:]
		case version == 3 && len(b) >= 10:
			item, b = binary.BigEndian.Uint32(b), b[4:]
		default:
			return nil // older versions have no item types
		}
		switch kind, rest := string(b[2:6]), string(b[6:]); kind { // after the protection index
		case "Exif":
			kinds[item] = "EXIF"
		case "mime":
			_, content, _ := strings.Cut(rest, "\x00") // after the item's name
			if content, _, _ = strings.Cut(content, "\x00"); content == "application/rdf+xml" {
				kinds[item] = "XMP"
			}
		}
		return nil
	})
}

type location struct {
	item    uint32
	within  bool // inside the meta box
	extents [][2]uint64
}

func locations(b []byte) ([]location, error) {
	c := cursor{b: b}
	version := c.number(1)
	c.number(3)
	sizes, more := c.number(1), c.number(1)
	offset, length, base, index := int(sizes>>4), int(sizes&15), int(more>>4), int(more&15)
	wide := 2
	if version >= 2 {
		wide = 4
	}
	var found []location
	for n := c.number(wide); n > 0 && !c.short; n-- {
		l := location{item: uint32(c.number(wide))}
		method := uint64(0)
		if version >= 1 {
			method = c.number(2) & 15
		}
		elsewhere := c.number(2) != 0 // the item is in another file
		from := c.number(base)
		for extents := c.number(2); extents > 0 && !c.short; extents-- {
			if version >= 1 {
				c.number(index)
			}
			at := c.number(offset)
			l.extents = append(l.extents, [2]uint64{from + at, c.number(length)})
		}
		l.within = method == 1
		if !elsewhere && method <= 1 && !c.short {
			found = append(found, l)
		}
	}
	if c.short {
		return found, errTruncated
	}
	return found, nil
}

func (b *blocks) readItem(l location, r io.ReaderAt, size int64, data box) ([]byte, error) {
	var item []byte
	for _, e := range l.extents {
		at, n := e[0], e[1]
		from, to := int64(0), size
		if l.within {
			from, to = data.at, data.at+data.size
		}
		if at > uint64(to-from) || n > uint64(to-from)-at {
			return nil, errTruncated
		}
		if n == 0 && len(l.extents) == 1 { // the item extends to the end
			n = uint64(to-from) - at
		}
		if uint64(len(item))+n > maxXMP {
			return nil, fmt.Errorf("it is larger than %d MiB", maxXMP>>20)
		}
		if err := b.spend(int64(n)); err != nil {
			return nil, err
		}
		part, err := readRange(r, size, from+int64(at), int64(n))
		if err != nil {
			return nil, err
		}
		item = append(item, part...)
	}
	if len(item) == 0 {
		return nil, errors.New("it is empty")
	}
	return item, nil
}

type cursor struct {
	b     []byte
	short bool
}

func (c *cursor) number(bytes int) (v uint64) {
	if bytes > 8 || bytes > len(c.b) {
		c.b, c.short = nil, true
		return 0
	}
	for _, x := range c.b[:bytes] {
		v = v<<8 | uint64(x)
	}
	c.b = c.b[bytes:]
	return v
}
