package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
)

// This file decodes truncated JPEGs, for example after an interrupted copy. If
// at least half of the rows exist, the image consists of these rows. They
// usually show most of the photo's contents, whereas grey filler rows would
// distort colour features. A truncated progressive file often has all rows and
// lacks only detail.

var errTooFewRows = errors.New("fewer than half of its rows are present")

func reducedAttempt(data []byte, claim image.Config, turn orientation, tail bool) attempt {
	w, h := claim.Width, claim.Height
	cell := cellSide(w, h)
	return attempt{reducedBytes(data, w, h, cell), func() (*Image, error) {
		d := &reducedJPEG{data: data, w: w, h: h, cell: cell, lenient: tail}
		if tail { // file systems fill unwritten space with zeros
			d.data = bytes.TrimRight(data, "\x00")
		}
		img, err := d.decode()
		if err != nil {
			return nil, err
		}
		b := img.Bounds()
		p := upright(rowsOf("jpeg", img), b.Dx(), b.Dy(), turn)
		p.Truncated = d.truncated
		return p, nil
	}}
}

func (d *reducedJPEG) keepCompleteRows() error {
	rows := d.mcusY
	for i := range d.components {
		c := &d.components[i]
		rows = min(rows, c.rows/c.v)
		for _, bit := range c.lowestBit {
			d.truncated = d.truncated || bit != 0 && d.progressive
		}
	}
	if rows < d.mcusY {
		d.truncated = true
		d.h = rows * 8 * d.components[0].v
	}
	if 2*rows < d.mcusY {
		return errTooFewRows
	}
	return nil
}

type jpegFrame struct {
	marker     byte
	body       []byte
	components int
	samples    int64 // in whole blocks, of all components
}

// frameOf reads the first frame header that image/jpeg accepts. Without one,
// image/jpeg allocates nothing.
func frameOf(data []byte) (f jpegFrame) {
	for s := range jpegSegments(data) {
		if s.marker < 0xc0 || s.marker > 0xc2 || len(s.body) < 6 {
			continue
		}
		h, w := int64(binary.BigEndian.Uint16(s.body[1:])), int64(binary.BigEndian.Uint16(s.body[3:]))
		f = jpegFrame{marker: s.marker, body: s.body, components: int(s.body[5])}
		across, down := int64(1), int64(1)
		factors := s.body[6:]
		for i := 1; i < len(factors); i += 3 {
			across, down = max(across, int64(factors[i]>>4)), max(down, int64(factors[i]&15))
		}
		mcus := ((w + 8*across - 1) / (8 * across)) * ((h + 8*down - 1) / (8 * down))
		for i := 1; i < len(factors); i += 3 {
			f.samples += mcus * 64 * int64(factors[i]>>4) * int64(factors[i]&15)
		}
		return f
	}
	return f
}

// jpegBytes bounds the memory of image/jpeg: one byte per sample, four more for
// progressive coefficients, and four per pixel for CMYK.
func jpegBytes(claim image.Config, data []byte) int64 {
	f := frameOf(data)
	n := f.samples
	if f.marker == 0xc2 {
		n *= 5
	}
	if f.components == 4 {
		n += 4 * int64(claim.Width) * int64(claim.Height)
	}
	return n
}

func reducedBytes(data []byte, w, h, cell int) int64 {
	f := frameOf(data)
	d := &reducedJPEG{w: w, h: h, cell: cell}
	if f.body == nil || d.frame(f.body) != nil {
		return 0 // rejected before anything is allocated
	}
	n := 3 * int64(ceilDiv(w, cell)) * int64(ceilDiv(h, cell))
	for i := range d.components {
		c := &d.components[i]
		blocks, cells := int64(c.blocksX)*int64(c.blocksY), int64(c.fold.size())
		n += blocks * cells
		if f.marker == 0xc2 {
			n += blocks * (4*cells + 16)
		}
	}
	return n
}

// Truncated reports whether a JPEG ends before its end marker. Decode may still
// return an image. Truncated decodes nothing.
func Truncated(data []byte) bool {
	if !bytes.HasPrefix(data, []byte("\xff\xd8\xff")) {
		return false
	}
	end := 2 // search after the last segment before the scan, because previews in segments have end markers
	for s := range jpegSegments(data) {
		end = s.end
	}
	return !bytes.Contains(data[end:], []byte("\xff\xd9"))
}
