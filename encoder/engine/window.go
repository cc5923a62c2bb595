package engine

import (
	"fmt"
	"slices"

	"cpar/encoder/onnx"
	"cpar/internal/f32"
)

// A window describes how a kernel moves over an image.
type window struct {
	kh, kw                   int // kernel size in rows and columns
	sh, sw                   int // strides between windows
	dh, dw                   int // dilation: distances between the kernel's rows and columns
	top, left, bottom, right int // padding
	inH, inW                 int // size of the image
	outH, outW               int // size of the result
}

// window reads the attributes of a convolution or pool of images N×C×H×W or
// rows N×C×W. `kh` and `kw` are the weights' sides, or 0 if attribute
// kernel_shape must provide them.
func (c *call) window(x *value, kh, kw int) window {
	w := window{kh: kh, kw: kw, inH: 1, inW: x.shape[len(x.shape)-1]}
	flat := len(x.shape) == 3
	if !flat {
		w.inH = x.shape[2]
	}
	kernel := c.sides("kernel_shape", flat, []int{kh, kw})
	if kh == 0 {
		w.kh, w.kw = kernel[0], kernel[1]
	}
	if w.kh != kernel[0] || w.kw != kernel[1] || w.kh < 1 || w.kw < 1 || w.kh > maxWindow || w.kw > maxWindow {
		c.fail(onnx.Unsupported("a kernel of %v over weights of %d×%d; 1×1 to %d×%[4]d is supported", kernel, kh, kw, maxWindow))
		return w
	}
	strides := c.sides("strides", flat, []int{1, 1})
	dilations := c.sides("dilations", flat, []int{1, 1})
	w.sh, w.sw, w.dh, w.dw = strides[0], strides[1], dilations[0], dilations[1]
	pads := []int{0, 0, 0, 0}
	if flat {
		ends := c.intsAttribute("pads", []int{0, 0}, 2, 0, maxWindow)
		pads[1], pads[3] = ends[0], ends[1]
	} else {
		pads = c.intsAttribute("pads", pads, 4, 0, maxWindow)
	}
	auto := c.stringAttribute("auto_pad", "NOTSET")
	switch auto {
	case "NOTSET", "":
	case "VALID":
		pads = []int{0, 0, 0, 0}
	case "SAME_UPPER", "SAME_LOWER":
		// If the padding is odd, the larger half goes to the end for SAME_UPPER
		// and to the start for SAME_LOWER.
		h := max(0, (ceilDiv(w.inH, w.sh)-1)*w.sh+w.high()-w.inH)
		v := max(0, (ceilDiv(w.inW, w.sw)-1)*w.sw+w.wide()-w.inW)
		pads = []int{h / 2, v / 2, h - h/2, v - v/2}
		if auto == "SAME_LOWER" {
			pads = []int{pads[2], pads[3], pads[0], pads[1]}
		}
	default:
		c.fail(onnx.Unsupported("auto_pad %.20q is not supported", auto))
	}
	w.top, w.left, w.bottom, w.right = pads[0], pads[1], pads[2], pads[3]
	ph, pw := w.inH+w.top+w.bottom, w.inW+w.left+w.right
	if ph < w.high() || pw < w.wide() {
		c.fail(fmt.Errorf("a kernel of %d×%d does not fit into an image of %d×%d", w.high(), w.wide(), ph, pw))
	}
	w.outH, w.outW = (ph-w.high())/w.sh+1, (pw-w.wide())/w.sw+1
	return w
}

// sides reads an attribute that holds a height and a width. For images of one
// row, the attribute holds only a width.
func (c *call) sides(name string, flat bool, otherwise []int) []int {
	if !flat {
		return c.intsAttribute(name, otherwise, 2, 1, maxWindow)
	}
	return []int{1, c.intsAttribute(name, otherwise[1:], 1, 1, maxWindow)[0]}
}

func (w *window) high() int { return (w.kh-1)*w.dh + 1 }

func (w *window) wide() int { return (w.kw-1)*w.dw + 1 }

func (w *window) pixels() int { return w.outH * w.outW }

func (w *window) image() f32.Plane {
	return f32.Plane{InH: w.inH, InW: w.inW, Top: w.top, Left: w.left, OutH: w.outH, OutW: w.outW}
}

// windows returns nil unless f32 has a kernel for such windows.
func (c *call) windows(w *window, max bool) *f32.Windows {
	c.fail(c.allocate(32 * int64(w.outW))) // for masks
	if c.err != nil || w.kh != w.kw || w.sh != w.sw || w.dh*w.dw != 1 {
		return nil
	}
	return f32.NewWindows(w.image(), max, w.kh, w.sh)
}

// A layout arranges an image so that every tap of a kernel (one of its weights)
// reads one contiguous run of pixels. For output pixel (y, x), tap t reads the
// element offsets[t] + y·pitch + x. A convolution is then a matrix product
// whose rows are these runs, without copies per tap.
//
// With strides sh×sw, the padded image is split into sh×sw phases. Phase (a, b)
// holds the pixels in rows a, a+sh, … and columns b, b+sw, …, if any tap reads
// them.
//
// The runs include pixels between the end of an output row and the next
// multiple of `pitch`. These pixels are computed and discarded. At stride 1
// they are few, because the padding at the end of a row also serves at the
// start of the next. A narrow layout has no such pixels: the rows of its
// phase (a, b) hold only the pixels under column b of the windows.
type layout struct {
	window
	phase   [][]int // phase[a][b] is the number of phase (a, b), or −1 if no tap reads it
	phases  int     // number of phases that taps read
	across  int     // number of phases side by side: sw, or the columns of a window if the layout is narrow
	rows    int     // rows of a phase
	pitch   int     // elements from the start of one row of a phase to the next
	offsets []int   // for each channel of a group and each tap, the element where its run begins
	slack   int     // zeros after the last plane, for padding and because f32 reads whole registers
	direct  bool    // whether the image is read in place, without copying it into a layout
}

// layout returns the layout of an image. It is narrow if `narrow` permits that
// and the discarded pixels would cost more than the copies.
func (w window) layout(narrow bool) layout {
	l := layout{window: w, across: w.sw}
	l.rows = w.outH + (w.kh-1)*w.dh/w.sh
	// right counts the columns that the last window reads beyond the image.
	right := max(0, (w.outW-1)*w.sw+w.wide()-w.left-w.inW)
	l.pitch = ceilDiv(w.left+w.inW+right, w.sw)
	if w.sw == 1 {
		l.pitch = w.inW + max(w.left, right)
	}
	if narrow && !l.contiguous() && w.wide() > w.sw && w.wide() <= maxWindow && 16*(l.pitch-w.outW) >= w.outW {
		l.pitch, l.across = w.outW, w.wide()
	}
	l.slack = min(w.left, right) + 64
	l.direct = l.across*w.sh == 1 && l.pitch == w.inW && w.top == 0 && l.rows <= w.inH
	if l.direct {
		l.rows = w.inH // including rows that no window reads
	}
	for range w.sh {
		l.phase = append(l.phase, slices.Repeat([]int{-1}, l.across))
	}
	for dy := range w.kh {
		for dx := range w.kw {
			p := &l.phase[dy*w.dh%w.sh][dx*w.dw%l.across]
			if *p < 0 {
				*p = l.phases
				l.phases++
			}
		}
	}
	return l
}

func (l *layout) setOffsets(channels int) {
	for c := range channels {
		for dy := range l.kh {
			for dx := range l.kw {
				y, x := dy*l.dh, dx*l.dw
				phase := c*l.phases + l.phase[y%l.sh][x%l.across]
				l.offsets = append(l.offsets, (phase*l.rows+y/l.sh)*l.pitch+x/l.across)
			}
		}
	}
}

func (l *layout) plane() int64 { return int64(l.phases) * int64(l.rows) * int64(l.pitch) }

func (l *layout) size(channels int) int64 { return int64(channels)*l.plane() + int64(l.slack) }

func (l *layout) contiguous() bool { return l.pitch == l.outW || l.outH == 1 }

// columns returns the number of computed pixels of a channel, including
// discarded pixels.
func (l *layout) columns() int { return (l.outH-1)*l.pitch + l.outW }

// layPlane copies channel x of an image into `to`, a layout that already holds
// the padding. The rest of x may follow the channel.
func (l *layout) layPlane(to, x []float32, padding float32) {
	if l.sh*l.sw == 1 {
		for b, number := range l.phase[0] {
			first, skip := max(0, l.left-b), max(0, b-l.left)
			if n := min(l.pitch-first, l.inW-skip); n > 0 && number >= 0 {
				f32.CopyRows(to[(number*l.rows+l.top)*l.pitch+first:], x[skip:], l.pitch, l.inW, n, min(l.inH, l.rows-l.top), padding)
			}
		}
		return
	}
	for y := range l.inH {
		row := (y + l.top) / l.sh
		if row >= l.rows {
			break
		}
		from := x[y*l.inW:][:l.inW]
		if phases := l.phase[(y+l.top)%l.sh]; l.sw == 2 && l.across == 2 && min(phases[0], phases[1]) >= 0 {
			at := func(b int) int { return (phases[b]*l.rows+row)*l.pitch + (l.left+1-b)/2 }
			odd := (l.left + 1) % 2 // the phase of columns 1, 3, …
			f32.Halves(to[at(1-odd):][:(l.inW+1)/2], to[at(odd):][:l.inW/2], from)
			continue
		}
		for b, number := range l.phase[(y+l.top)%l.sh] {
			if number < 0 {
				continue
			}
			line := to[(number*l.rows+row)*l.pitch:]
			first := max(0, ceilDiv(l.left-b, l.sw))
			for i, j := first*l.sw+b-l.left, first; i < len(from) && j < l.pitch; i, j = i+l.sw, j+1 {
				line[j] = from[i]
			}
		}
	}
}

// collect copies rows of computed pixels to their final place, except pixels to
// discard. It may change values of `to` after these rows.
func (l *layout) collect(to, from []float32, rows int) {
	f32.CopyRows(to, from, l.outW, l.pitch, l.outW, rows, 0)
}

func (l *layout) planeScratch() int64 { return l.size(1) + int64(l.columns()) + maxLanes }

const maxLanes = 16 // float32 values of a register

// eachPlane copies each plane of `in` into a layout, calls f to compute its
// pixels there, in whole registers, and collects them.
func (l *layout) eachPlane(out, in, scratch []float32, padding float32, f func(c int, own, plane []float32)) {
	plane, own := scratch[:l.size(1)], scratch[l.size(1):]
	own = own[:ceilDiv(l.columns(), maxLanes)*maxLanes]
	fill(plane, padding)
	for c := range len(out) / l.pixels() {
		l.layPlane(plane, in[c*l.inH*l.inW:], padding)
		f(c, own, plane)
		l.collect(out[c*l.pixels():], own, l.outH)
	}
}
