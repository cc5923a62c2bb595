package feature

import (
	"encoding/binary"
	"image"
	"iter"
	"math"
)

// libjpeg's samples.
//
// Go's inverse cosine transform is the more exact one, and so one sample in a
// hundred is another than libjpeg's (by one level), whose transform rounds after
// its first half. OpenCV decodes with libjpeg. In a small picture that one level
// shows in the sign of a Haar coefficient or the eighth of a phase.
//
// The samples tell which coefficients they came from: rounding them has put
// their forward transform off by 0.3 (RMS), and the coefficients are multiples of
// quantisation steps that are mostly 3 and more. So the transform is gone back
// and done again in libjpeg's way. A block for which that comes out more than one
// level from a sample had samples clipped, or steps other than those read, and
// stays as it is: nothing ever moves by more than one level.

// maxRestored is the size up to which this is done: in larger pictures a cell
// of the 128×128 grey image averages over so many samples that it does not show.
const maxRestored = 1 << 19

// restoreSamples replaces the samples of a decoded JPEG by libjpeg's.
func restoreSamples(img image.Image, data []byte) {
	b := img.Bounds()
	if b.Dx()*b.Dy() > maxRestored {
		return
	}
	steps, count := jpegSteps(data)
	switch m := img.(type) {
	case *image.Gray:
		if count == 1 {
			restorePlane(m.Pix, m.Stride, b.Dx(), b.Dy(), &steps[0])
		}
	case *image.YCbCr:
		if count == 3 {
			u := newUpsampler(m, b.Dx(), b.Dy())
			restorePlane(m.Y, m.YStride, b.Dx(), b.Dy(), &steps[0])
			restorePlane(m.Cb, m.CStride, u.cw, u.ch, &steps[1])
			restorePlane(m.Cr, m.CStride, u.cw, u.ch, &steps[2])
		}
	}
}

// jpegSteps reads the quantisation steps of up to three components, row by row
// of a block, and the number of components; 0 when there is no telling.
func jpegSteps(data []byte) (steps [3][64]int32, components int) {
	var tables [4][64]int32
	var frame []byte
	for marker, body := range jpegSegments(data) {
		switch marker {
		case 0xdb:
			for len(body) >= 65 {
				size, id := int(body[0]>>4)+1, body[0]&15
				if size > 2 || id > 3 || len(body) < 1+64*size {
					return steps, 0
				}
				for i, at := range zigzag {
					if size == 1 {
						tables[id][at] = int32(body[1+i])
					} else {
						tables[id][at] = int32(binary.BigEndian.Uint16(body[1+2*i:]))
					}
				}
				body = body[1+64*size:]
			}
		case 0xc0, 0xc1, 0xc2:
			frame = body
		}
	}
	if len(frame) < 6 || frame[0] != 8 {
		return steps, 0
	}
	n := int(frame[5])
	if n > 3 || len(frame) < 6+3*n {
		return steps, 0
	}
	for c := range n {
		steps[c] = tables[frame[6+3*c+2]&3]
	}
	for _, t := range steps[:n] {
		for _, q := range t {
			if q <= 0 {
				return steps, 0
			}
		}
	}
	return steps, n
}

// zigzag is where in a block the coefficients lie, in the order of a file.
var zigzag = [64]int{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// jpegSegments yields the marker segments before the first scan.
func jpegSegments(data []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
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
			if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 { // no length
				i += 2
				continue
			}
			n := int(binary.BigEndian.Uint16(data[i+2:]))
			if n < 2 || i+2+n > len(data) {
				return
			}
			if !yield(marker, data[i+4:i+2+n]) {
				return
			}
			i += 2 + n
		}
	}
}

// restorePlane goes over the whole blocks that hold w×h samples.
func restorePlane(pix []byte, stride, w, h int, steps *[64]int32) {
	var inverse [64]float64
	for i, q := range steps {
		inverse[i] = 1 / float64(q)
	}
	for y := 0; y < h; y += 8 {
		for x := 0; x < w; x += 8 {
			if x+8 > stride || (y+7)*stride+x+8 > len(pix) {
				continue // not a block of the file
			}
			restoreBlock(pix[y*stride+x:], stride, steps, &inverse)
		}
	}
}

func restoreBlock(pix []byte, stride int, steps *[64]int32, inverse *[64]float64) {
	var c [64]float64
	for y := range 8 {
		row := pix[y*stride:][:8]
		for x, p := range row {
			c[8*y+x] = float64(p) - 128
		}
	}
	for y := range 8 {
		forward8(c[8*y:][:8], 1)
	}
	for x := range 8 {
		forward8(c[x:], 8)
	}
	var block [64]int32
	for i := range block {
		block[i] = int32(math.RoundToEven(c[i]*inverse[i])) * steps[i]
	}
	inverseIslow(&block)
	for y := range 8 {
		row := pix[y*stride:][:8]
		for x, p := range row {
			d := block[8*y+x] - int32(p)
			if d < -1 || d > 1 {
				return
			}
		}
	}
	for y := range 8 {
		row := pix[y*stride:][:8]
		for x := range row {
			row[x] = byte(block[8*y+x])
		}
	}
}

// cosines[k][j] is the orthonormal cosine of frequency k at sample j < 4; the
// other four are the same, with the sign turned for odd k.
var cosines = func() (t [8][4]float64) {
	for k := range t {
		for j := range t[k] {
			t[k][j] = math.Cos(float64((2*j+1)*k)*math.Pi/16) / 2
			if k == 0 {
				t[k][j] /= math.Sqrt2
			}
		}
	}
	return t
}()

// forward8 is the orthonormal cosine transform of eight numbers, a stride apart.
func forward8(x []float64, stride int) {
	var sum, diff [4]float64
	for j := range sum {
		a, b := x[j*stride], x[(7-j)*stride]
		sum[j], diff[j] = a+b, a-b
	}
	for k := 0; k < 8; k += 2 {
		c, d := &cosines[k], &cosines[k+1]
		x[k*stride] = c[0]*sum[0] + c[1]*sum[1] + c[2]*sum[2] + c[3]*sum[3]
		x[(k+1)*stride] = d[0]*diff[0] + d[1]*diff[1] + d[2]*diff[2] + d[3]*diff[3]
	}
}

// inverseIslow turns coefficients into samples as libjpeg's "slow integer"
// transform does: C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical Fast 1-D
// DCT Algorithms with 11 Multiplications", ICASSP 1989, in fixed point with 13
// bits of fraction, columns first, of which 2 bits are kept for the rows.
func inverseIslow(b *[64]int32) {
	for x := range 8 {
		islow8(b[x:], 8, 13-2)
	}
	for y := range 8 {
		islow8(b[8*y:], 1, 13+2+3)
	}
	for i, v := range b {
		b[i] = min(max(v+128, 0), 255)
	}
}

// islow8 transforms eight numbers, a stride apart, and drops bits of fraction.
func islow8(b []int32, stride int, bits uint) {
	const ( // of 2^13
		c0298, c0390, c0541, c0765 = 2446, 3196, 4433, 6270
		c0899, c1175, c1501, c1847 = 7373, 9633, 12299, 15137
		c1961, c2053, c2562, c3072 = 16069, 16819, 20995, 25172
	)
	at := func(k int) int32 { return b[k*stride] }

	z := (at(2) + at(6)) * c0541
	low, high := z-at(6)*c1847, z+at(2)*c0765
	sum, diff := (at(0)+at(4))<<13, (at(0)-at(4))<<13
	even := [4]int32{sum + high, diff + low, diff - low, sum - high}

	t0, t1, t2, t3 := at(7), at(5), at(3), at(1)
	z5 := (t0 + t2 + t1 + t3) * c1175
	z1, z2 := -(t0+t3)*c0899, -(t1+t2)*c2562
	z3, z4 := z5-(t0+t2)*c1961, z5-(t1+t3)*c0390
	odd := [4]int32{t3*c1501 + z1 + z4, t2*c3072 + z2 + z3, t1*c2053 + z2 + z4, t0*c0298 + z1 + z3}

	half := int32(1) << (bits - 1)
	for k := range 4 {
		b[k*stride] = (even[k] + odd[k] + half) >> bits
		b[(7-k)*stride] = (even[k] - odd[k] + half) >> bits
	}
}
