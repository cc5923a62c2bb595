package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
)

const (
	tagXMP        = 700
	tagIPTC       = 33723
	tagPhotoshop  = 34377
	tagXPKeywords = 0x9c9e
)

// tiffTags maps tags that hold keywords to their parsers.
var tiffTags = map[uint16]func(b *blocks, value []byte){
	tagXMP:        func(b *blocks, value []byte) { b.xmp = append(b.xmp, value) },
	tagIPTC:       func(b *blocks, value []byte) { b.iim = append(b.iim, unswapped(value)) },
	tagPhotoshop:  (*blocks).readPhotoshop,
	tagXPKeywords: (*blocks).readXPKeywords,
}

const maxEntries = 4096

// readXPKeywords reads the zero-terminated keywords of Windows Explorer.
func (b *blocks) readXPKeywords(value []byte) {
	// The decoder replaces invalid UTF-16.
	text, _ := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().String(string(value))
	text, _, _ = strings.Cut(text, "\x00")
	b.xp = append(b.xp, text)
}

var typeSizes = [...]uint64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}

// isTIFF recognises TIFF and RAW formats that differ from it in a few bytes
// (Olympus, Panasonic).
func isTIFF(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch string(head[:4]) {
	case "II*\x00", "MM\x00*", "II+\x00", "MM\x00+", "IIRO", "IIRS", "MMOR", "IIU\x00":
		return true
	}
	return false
}

func (b *blocks) readTIFF(r io.ReaderAt, size int64) {
	b.problem("EXIF", b.readDirectory(r, size))
	if b.facts != nil {
		b.readFacts(r, size)
	}
}

func (b *blocks) readDirectory(r io.ReaderAt, size int64) error {
	head := make([]byte, 8)
	if _, err := r.ReadAt(head, 0); err != nil || !isTIFF(head) {
		return errors.New("it is not TIFF")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[0] == 'M' {
		order = binary.BigEndian
	}
	if order.Uint16(head[2:]) == 43 {
		return errors.New("BigTIFF is not read")
	}
	at := int64(order.Uint32(head[4:]))
	var count [2]byte
	if _, err := r.ReadAt(count[:], at); err != nil {
		return errTruncated
	}
	entries := make([]byte, 12*min(int(order.Uint16(count[:])), maxEntries))
	n, err := r.ReadAt(entries, at+2)
	if err != nil && !errors.Is(err, io.EOF) {
		return readError(err)
	}
	short := n < len(entries)
	for e := entries[:n]; len(e) >= 12; e = e[12:] {
		tag := order.Uint16(e)
		take := tiffTags[tag]
		if take == nil {
			continue
		}
		value, err := b.tiffValue(r, size, order, e)
		if err != nil {
			b.problem("EXIF", fmt.Errorf("tag %d: %w", tag, err))
			continue
		}
		take(b, value)
	}
	if short {
		return errTruncated
	}
	return nil
}

// tiffValue reads the value of an entry. Values of up to four bytes are inline.
func (b *blocks) tiffValue(r io.ReaderAt, size int64, order binary.ByteOrder, entry []byte) ([]byte, error) {
	kind := order.Uint16(entry[2:])
	if int(kind) >= len(typeSizes) || typeSizes[kind] == 0 {
		return nil, errors.New("its type is unknown")
	}
	n := uint64(order.Uint32(entry[4:])) * typeSizes[kind]
	if n <= 4 {
		return entry[8 : 8+n : 8+n], nil
	}
	at := int64(order.Uint32(entry[8:]))
	if n > maxXMP || at+int64(n) > size {
		return nil, errTruncated
	}
	if err := b.spend(int64(n)); err != nil {
		return nil, err
	}
	value := make([]byte, n)
	if _, err := r.ReadAt(value, at); err != nil {
		return nil, errTruncated
	}
	return value, nil
}

// unswapped repairs an IPTC block that a program wrote as 4-byte numbers in the
// wrong byte order.
func unswapped(b []byte) []byte {
	if len(b) < 4 || b[0] == 0x1c || b[3] != 0x1c {
		return b
	}
	for i := 0; i+4 <= len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	return b
}
