package feature

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
)

// Large JPEGs at reduced size.
//
// Every vector comes from averages over areas, of some thirty by thirty pixels
// in a phone's photo, so that most of the work of decoding one is done for
// nothing. An average over cells of 2×2, 4×4 or 8×8 pixels is linear in the
// coefficients of a block (jpegfold.go): the coefficients are read as ever, but
// the transform gives cells, and there are that many fewer to colour and to sum.
//
// A cell is the mean of the pixels that full decoding gives, but for three
// things: a pixel that the quantisation drove out of 0 … 255 is not clipped
// before it is averaged; chroma is averaged as stored, not after the triangle
// filter; and colours are converted, and rounded to bytes, once a cell.
//
// This decoder knows what cameras and phones write: 8 bits, grey or YCbCr,
// sequential or progressive, Huffman codes. It is strict. Whatever it does not
// know or does not like goes to image/jpeg and its judgement, so a file is
// refused exactly if that refuses it.

// errIrregular sends a file to full decoding.
var errIrregular = errors.New("not a JPEG that can be decoded at reduced size")

// A cell must be a third of the areas that are averaged, or less, on both axes:
// 256 pixels for the colours of the longer side, 128 for grey on either.
const (
	reducedLonger  = 3 * colorSide
	reducedShorter = 3 * gaborSide
)

// cellSide is the side in pixels of the cells in which a JPEG of w×h pixels is
// decoded: 1, 2, 4 or 8. It hangs on the size alone.
func cellSide(w, h int) int {
	for _, side := range [3]int{8, 4, 2} {
		if max(w, h) >= side*reducedLonger && min(w, h) >= side*reducedShorter {
			return side
		}
	}
	return 1
}

// reducedJPEG is the state of one decoding.
type reducedJPEG struct {
	data []byte
	pos  int // of the next segment

	w, h, cell     int
	baseline       bool
	progressive    bool
	jfif, adobeRGB bool
	interval       int // MCUs between restart markers, 0 without
	components     []jpegComponent
	mcusX, mcusY   int

	quant   [4][64]int32 // in the order of the file; 0 in its first element: absent
	codes   [2][4]huffman
	tables  int  // Huffman tables seen
	scanned bool // a scan has been read

	bits   bitReader
	eobRun int // blocks that end without another symbol
}

// decodeReduced decodes a JPEG whose header claims w×h pixels to an image of
// one sample for every cell×cell pixels.
func decodeReduced(data []byte, w, h, cell int) (image.Image, error) {
	if len(data) < 2 || data[0] != 0xff || data[1] != 0xd8 {
		return nil, errIrregular
	}
	d := &reducedJPEG{data: data, pos: 2, w: w, h: h, cell: cell}
	for {
		marker, body, err := d.segment()
		if err != nil {
			return nil, err
		}
		switch marker {
		case 0xd9:
			return d.image()
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
				return nil, errIrregular
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
				return nil, errIrregular
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// segment returns the next marker and what belongs to it. Like image/jpeg it
// passes over what lies between segments, and over restart markers there.
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
	if d.scanned { // sums of the scans before were made with the old steps
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

// A jpegComponent is luma or one of the chromas.
type jpegComponent struct {
	id, table        byte
	h, v             int // blocks of a whole MCU
	blocksX, blocksY int // in whole MCUs
	ownX, ownY       int // that hold pixels: those of a scan of its own
	fold             folding
	plane            []byte // blocksY·ky rows of `stride` cells
	stride           int

	// Of a sequential file only the first; of a progressive one:
	known           [64]int8 // bits below those known of a coefficient, −1: none
	sums            []int32  // fold.size() for each block
	coded, negative []uint64 // of each block, which coefficients are not zero, and below
}

// frame reads SOF.
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
		for k := range c.known {
			c.known[k] = -1
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
		// A subsampled block covers more cells; it has eight a side at most.
		c.fold.kx, c.fold.ky = min(8, 8*luma.h/c.h/d.cell), min(8, 8*luma.v/c.v/d.cell)
		c.stride = c.blocksX * c.fold.kx
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// image is what has been decoded once the file has ended.
func (d *reducedJPEG) image() (image.Image, error) {
	if !d.scanned {
		return nil, errIrregular
	}
	for i := range d.components {
		if d.components[i].known[0] < 0 { // no scan held it
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
	ratio := image.YCbCrSubsampleRatio444
	if luma.stride != cb.stride { // 4:1:1 in cells of 2×2
		ratio = image.YCbCrSubsampleRatio422
	}
	return &image.YCbCr{
		Y: luma.plane, Cb: cb.plane, Cr: cr.plane,
		YStride: luma.stride, CStride: cb.stride,
		SubsampleRatio: ratio, Rect: rect,
	}, nil
}
