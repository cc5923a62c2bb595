package engine

import (
	"fmt"

	"cpar/encoder/onnx"
)

// A window describes the movement of a kernel over an image: its size, stride,
// dilation and padding, in rows and columns.
type window struct {
	kh, kw, sh, sw, dh, dw   int
	top, left, bottom, right int
	inH, inW, outH, outW     int
}

// window reads the attributes of convolutions and pools for an image N×C×H×W or
// a row N×C×W. kh and kw are the weights' size, or 0 if kernel_shape must
// provide them.
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
		// One output per stride. An odd pad goes to the end or the start.
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

// sides reads a number per side of an image, of which a row has one.
func (c *call) sides(name string, flat bool, otherwise []int) []int {
	if !flat {
		return c.intsAttribute(name, otherwise, 2, 1, maxWindow)
	}
	return []int{1, c.intsAttribute(name, otherwise[1:], 1, 1, maxWindow)[0]}
}

func (w *window) high() int { return (w.kh-1)*w.dh + 1 }
func (w *window) wide() int { return (w.kw-1)*w.dw + 1 }

func (w *window) pixels() int { return w.outH * w.outW }
