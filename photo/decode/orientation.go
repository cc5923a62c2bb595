package decode

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// orientation is EXIF tag 0x0112, the transform from stored to upright rows.
//
//	1 as stored   2 mirrored left-right   3 turned by 180°   4 mirrored top-bottom
//	5 transposed  6 turn 90° clockwise    7 transverse       8 turn 90° counter-clockwise
type orientation uint8

func (o orientation) swaps() bool { return o >= 5 }

func (o orientation) reversesX() bool { return o == 2 || o == 3 || o == 7 || o == 8 }

func (o orientation) reversesY() bool { return o == 3 || o == 4 || o == 6 || o == 7 }

// readOrientation reads the orientation of an image file. Missing or damaged
// metadata counts as upright.
func readOrientation(format string, data []byte) orientation {
	var block []byte
	switch format {
	case "jpeg":
		for segment := range jpegSegments(data) {
			if body, ok := bytes.CutPrefix(segment.body, []byte("Exif\x00\x00")); ok && segment.marker == 0xe1 {
				block = body
				break
			}
		}
	case "png":
		for kind, chunk := range pngChunks(data) {
			if kind == "eXIf" {
				block = chunk[8 : len(chunk)-4]
				break
			}
		}
	case "webp":
		for id, body := range riffChunks(data) {
			if id == "EXIF" {
				block = bytes.TrimPrefix(body, []byte("Exif\x00\x00"))
				break
			}
		}
	case "tiff":
		block = data
	}
	return tiffOrientation(block)
}

type jpegSegment struct {
	marker byte
	body   []byte
	end    int
}

func jpegSegments(data []byte) iter.Seq[jpegSegment] {
	return func(yield func(jpegSegment) bool) {
		for i := 2; i+4 <= len(data); {
			if data[i] != 0xff {
				return
			}
			marker := data[i+1]
			if marker == 0xff { // fill byte
				i++
				continue
			}
			if marker == 0xda || marker == 0xd9 {
				return
			}
			if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 { // a marker without length
				i += 2
				continue
			}
			n := int(binary.BigEndian.Uint16(data[i+2:]))
			if n < 2 || i+2+n > len(data) {
				return
			}
			end := i + 2 + n
			if !yield(jpegSegment{marker, data[i+4 : end], end}) {
				return
			}
			i = end
		}
	}
}

// pngChunks yields the whole chunks of a PNG file by type, as slices that
// include length, type and checksum.
func pngChunks(data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := 8; i+12 <= len(data); {
			n := int(binary.BigEndian.Uint32(data[i:]))
			if n > len(data)-i-12 || !yield(string(data[i+4:i+8]), data[i:i+12+n]) {
				return
			}
			i += 12 + n
		}
	}
}

func riffChunks(data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := 12; i+8 <= len(data); {
			n := int(binary.LittleEndian.Uint32(data[i+4:]))
			end := min(i+8+n, len(data))
			if !yield(string(data[i:i+4]), data[i+8:end]) {
				return
			}
			i = i + 8 + n + n&1
		}
	}
}

func tiffOrientation(b []byte) orientation {
	if t, ok := newTIFF(b); ok {
		return t.directory(t.first()).orientation()
	}
	return 1
}

func (d tiffDirectory) orientation() orientation {
	if v, ok := d.number(0x0112); ok && v >= 1 && v <= 8 {
		return orientation(v)
	}
	return 1
}
