package decode

import (
	"encoding/binary"
	"math"
)

// A tiffBlock is an untrusted TIFF structure: a TIFF file, an EXIF block or a
// RAW file. References beyond its end are ignored.
type tiffBlock struct {
	data  []byte
	order binary.ByteOrder
}

func newTIFF(data []byte) (t tiffBlock, ok bool) {
	if len(data) < 8 {
		return t, false
	}
	switch string(data[:4]) {
	case "II*\x00":
		return tiffBlock{data, binary.LittleEndian}, true
	case "MM\x00*":
		return tiffBlock{data, binary.BigEndian}, true
	}
	return t, false
}

func (t tiffBlock) first() uint32 { return t.order.Uint32(t.data[4:]) }

type tiffDirectory struct {
	t       tiffBlock
	entries []byte
	next    uint32 // offset of the next directory, 0 if none
}

func (t tiffBlock) directory(at uint32) (d tiffDirectory) {
	d.t = t
	start := uint64(at) + 2
	if start > uint64(len(t.data)) {
		return d
	}
	n := 12 * uint64(t.order.Uint16(t.data[at:]))
	if end := start + n; end+4 <= uint64(len(t.data)) {
		d.next = t.order.Uint32(t.data[end:])
	}
	d.entries = t.data[start:min(start+n, uint64(len(t.data)))]
	return d
}

// entry returns the type, the count and the bytes of a tag's values. Result
// `values` is empty if the reference points outside the block.
func (d tiffDirectory) entry(tag uint16) (kind uint16, count uint32, values []byte) {
	for e := d.entries; len(e) >= 12; e = e[12:] {
		if d.t.order.Uint16(e) != tag {
			continue
		}
		kind, count = d.t.order.Uint16(e[2:]), d.t.order.Uint32(e[4:])
		size := uint64(count)
		switch kind {
		case 3:
			size *= 2
		case 4, 9, 13:
			size *= 4
		case 5, 10:
			size *= 8
		}
		if size <= 4 {
			return kind, count, e[8:][:size]
		}
		at := uint64(d.t.order.Uint32(e[8:]))
		if at+size > uint64(len(d.t.data)) {
			return kind, 0, nil
		}
		return kind, count, d.t.data[at : at+size]
	}
	return 0, 0, nil
}

func (d tiffDirectory) numbers(tag uint16) (list []uint32) {
	kind, count, values := d.entry(tag)
	for range min(count, 1024) {
		switch {
		case kind == 3 && len(values) >= 2:
			list, values = append(list, uint32(d.t.order.Uint16(values))), values[2:]
		case (kind == 4 || kind == 13) && len(values) >= 4:
			list, values = append(list, d.t.order.Uint32(values)), values[4:]
		default:
			return list
		}
	}
	return list
}

func (d tiffDirectory) number(tag uint16) (uint32, bool) {
	if list := d.numbers(tag); len(list) > 0 {
		return list[0], true
	}
	return 0, false
}

// within returns `length` bytes at an offset, or nil if the block is too short.
func (t tiffBlock) within(at, length uint32) []byte {
	if end := uint64(at) + uint64(length); end <= uint64(len(t.data)) && length != math.MaxUint32 {
		return t.data[at:end]
	}
	return nil
}
