package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
)

// This file decodes large JPEGs at reduced size.
//
// A feature averages about 30×30 pixels of a phone's photo, and networks use
// small images. The mean over a cell of 2×2, 4×4 or 8×8 pixels is linear in the
// coefficients of a block (jpegfold.go), so the decoder transforms coefficients
// directly to cells, and converts far fewer values to RGB.
//
// A cell equals the mean of the fully decoded pixels, with three exceptions.
// Pixels that quantisation moved outside 0 … 255 are not clipped. Chroma is
// averaged before the triangle filter. Colours are rounded once per cell.
//
// The decoder supports the files of cameras and phones: 8 bits, grey or YCbCr,
// sequential or progressive, with Huffman codes. All other files, including
// damaged ones, are passed to image/jpeg, which decides whether to reject them.

// errIrregular reports a file that image/jpeg must decode.
var errIrregular = errors.New("not a JPEG that can be decoded at reduced size")

// The minimum sides of a reduced image, in pixels, are three times the
// resolution of features. Colour features use 256 pixels on the longer side,
// and grey features use 128 on both sides.
const (
	reducedLonger  = 3 * 256
	reducedShorter = 3 * 128
)

// cellSide returns the cell side, 1, 2, 4 or 8 pixels, for a w×h image.
func cellSide(w, h int) int {
	for _, side := range [3]int{8, 4, 2} {
		if max(w, h) >= side*reducedLonger && min(w, h) >= side*reducedShorter {
			return side
		}
	}
	return 1
}

type reducedJPEG struct {
	data []byte
	pos  int // start of the next segment

	w, h, cell     int
	baseline       bool
	progressive    bool
	jfif, adobeRGB bool
	interval       int // MCUs (minimum coded units) between restart markers, 0 if none
	components     []jpegComponent
	mcusX, mcusY   int

	quant   [4][64]int32 // in zigzag order, absent if the first step is 0
	codes   [2][4]huffman
	tables  int  // Huffman tables seen
	scanned bool // a scan has been read

	lenient   bool // accept a truncated file (jpegtail.go)
	truncated bool // the file is incomplete

	bits   bitReader
	eobRun int // number of further blocks without another symbol
}

func (d *reducedJPEG) decode() (image.Image, error) {
	if len(d.data) < 2 || d.data[0] != 0xff || d.data[1] != 0xd8 {
		return nil, errIrregular
	}
	d.pos = 2
	err := d.segments()
	if d.lenient && d.scanned {
		err = d.keepCompleteRows()
	}
	if err != nil {
		return nil, err
	}
	return d.image()
}

func (d *reducedJPEG) segments() error {
	for {
		marker, body, err := d.segment()
		if err != nil {
			return err
		}
		switch marker {
		case 0xd9:
			return nil
		case 0xc0, 0xc1, 0xc2:
			d.baseline, d.progressive = marker == 0xc0, marker == 0xc2
			err = d.frame(body)
		case 0xc4:
			err = d.huffmanTables(body)
		case 0xdb:
			err = d.quantisation(body)
		case 0xda:
			err = d.scan(body)
		case 0xdd:
			if len(body) != 2 {
				return errIrregular
			}
			d.interval = int(binary.BigEndian.Uint16(body))
		case 0xe0:
			if len(body) >= 5 {
				d.jfif = string(body[:5]) == "JFIF\x00"
			}
		case 0xee:
			if len(body) >= 12 && string(body[:5]) == "Adobe" {
				d.adobeRGB = body[11] == 0
			}
		default:
			if (marker < 0xe0 || marker > 0xef) && marker != 0xfe {
				return errIrregular
			}
		}
		if err != nil {
			return err
		}
	}
}

// segment returns the next marker and its body. Like image/jpeg, it skips other
// bytes between segments, including restart markers.
func (d *reducedJPEG) segment() (marker byte, body []byte, err error) {
	for {
		i := bytes.IndexByte(d.data[d.pos:], 0xff)
		if i < 0 || d.pos+i+1 >= len(d.data) {
			return 0, nil, errIrregular
		}
		d.pos += i + 1
		if d.data[d.pos] == 0 {
			continue
		}
		for d.pos < len(d.data) && d.data[d.pos] == 0xff {
			d.pos++
		}
		if d.pos >= len(d.data) || d.data[d.pos] == 0 {
			return 0, nil, errIrregular
		}
		marker = d.data[d.pos]
		d.pos++
		if marker >= 0xd0 && marker <= 0xd7 {
			continue
		}
		if marker == 0xd9 {
			return marker, nil, nil
		}
		if d.pos+2 > len(d.data) {
			return 0, nil, errIrregular
		}
		n := int(binary.BigEndian.Uint16(d.data[d.pos:]))
		if n < 2 || d.pos+n > len(d.data) {
			return 0, nil, errIrregular
		}
		body = d.data[d.pos+2 : d.pos+n]
		d.pos += n
		return marker, body, nil
	}
}

func (d *reducedJPEG) quantisation(body []byte) error {
	if d.scanned { // the sums of earlier scans contain the old steps
		return errIrregular
	}
	for len(body) > 0 {
		size, id := int(body[0]>>4)+1, body[0]&15
		if size > 2 || id > 3 || len(body) < 1+64*size {
			return errIrregular
		}
		for i := range 64 {
			step := int32(body[1+i*size])
			if size == 2 {
				step = step<<8 | int32(body[2+i*size])
			}
			if step == 0 {
				return errIrregular
			}
			d.quant[id][i] = step
		}
		body = body[1+64*size:]
	}
	return nil
}

type jpegComponent struct {
	id, table        byte
	h, v             int // blocks per MCU, across and down
	blocksX, blocksY int // blocks in all MCUs (including padding)
	ownX, ownY       int // blocks with pixels, the only blocks in a single-component scan
	fold             folding
	plane            []byte // blocksY·ky rows of `stride` cells
	stride           int

	// lowestBit is the lowest bit read so far of each coefficient, −1 if none.
	lowestBit [64]int8
	rows      int // rows of blocks with at least the DC coefficient

	// state between scans of a progressive file
	sums            []int32  // fold.size() per block
	coded, negative []uint64 // bit sets per block: nonzero and negative coefficients
}

func (d *reducedJPEG) frame(body []byte) error {
	if d.components != nil || len(body) < 6 || body[0] != 8 {
		return errIrregular
	}
	h, w, n := int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:])), int(body[5])
	if w != d.w || h != d.h || n != 1 && n != 3 || len(body) != 6+3*n {
		return errIrregular
	}
	d.components = make([]jpegComponent, n)
	for i := range d.components {
		c, b := &d.components[i], body[6+3*i:]
		c.id, c.h, c.v, c.table = b[0], int(b[1]>>4), int(b[1]&15), b[2]
		if c.table > 3 || c.h == 0 || c.v == 0 {
			return errIrregular
		}
		if n == 1 {
			c.h, c.v = 1, 1
		}
		for _, other := range d.components[:i] {
			if other.id == c.id || i > 0 && (c.h != 1 || c.v != 1) {
				return errIrregular
			}
		}
		for k := range c.lowestBit {
			c.lowestBit[k] = -1
		}
	}
	luma := &d.components[0]
	if luma.h != 1 && luma.h != 2 && luma.h != 4 || luma.v > 2 {
		return errIrregular
	}
	d.mcusX, d.mcusY = ceilDiv(w, 8*luma.h), ceilDiv(h, 8*luma.v)
	for i := range d.components {
		c := &d.components[i]
		c.blocksX, c.blocksY = d.mcusX*c.h, d.mcusY*c.v
		c.ownX, c.ownY = ceilDiv(ceilDiv(w*c.h, luma.h), 8), ceilDiv(ceilDiv(h*c.v, luma.v), 8)
		// A subsampled block covers more cells but has at most eight per side.
		c.fold.kx, c.fold.ky = min(8, 8*luma.h/c.h/d.cell), min(8, 8*luma.v/c.v/d.cell)
		c.stride = c.blocksX * c.fold.kx
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func (d *reducedJPEG) image() (image.Image, error) {
	if !d.scanned {
		return nil, errIrregular
	}
	for i := range d.components {
		if d.components[i].lowestBit[0] < 0 { // missing from every scan
			return nil, errIrregular
		}
	}
	if d.progressive {
		for i := range d.components {
			c := &d.components[i]
			size := c.fold.size()
			for block := range c.blocksX * c.blocksY {
				c.write(c.sums[block*size:][:size], block%c.blocksX, block/c.blocksX)
			}
		}
	}
	rect := image.Rect(0, 0, ceilDiv(d.w, d.cell), ceilDiv(d.h, d.cell))
	luma := &d.components[0]
	if len(d.components) == 1 {
		return &image.Gray{Pix: luma.plane, Stride: luma.stride, Rect: rect}, nil
	}
	cb, cr := &d.components[1], &d.components[2]
	if !d.jfif && (d.adobeRGB || luma.id == 'R' && cb.id == 'G' && cr.id == 'B') {
		return nil, errIrregular
	}
	ratio, ok := ratios[[2]int{luma.h * luma.fold.kx / cb.fold.kx, luma.v * luma.fold.ky / cb.fold.ky}]
	if !ok {
		return nil, errIrregular
	}
	return &image.YCbCr{
		Y: luma.plane, Cb: cb.plane, Cr: cr.plane,
		YStride: luma.stride, CStride: cb.stride,
		SubsampleRatio: ratio, Rect: rect,
	}, nil
}

// ratios maps the numbers of luma columns and rows per chroma sample to
// subsampling ratios.
var ratios = map[[2]int]image.YCbCrSubsampleRatio{
	{1, 1}: image.YCbCrSubsampleRatio444, {2, 1}: image.YCbCrSubsampleRatio422, {2, 2}: image.YCbCrSubsampleRatio420,
	{1, 2}: image.YCbCrSubsampleRatio440, {4, 1}: image.YCbCrSubsampleRatio411, {4, 2}: image.YCbCrSubsampleRatio410,
}
