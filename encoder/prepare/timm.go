package prepare

import "math"

// readTimm reads the preprocessing in timm's config.json (timm/data/config.py
// and transforms_factory.py: transforms_imagenet_eval).
func readTimm(f fields, height, width int) Preprocessing {
	p := plain(height, width)
	p.Mean, p.Std = imagenetMean, imagenetStd
	h, w, pct := timmSize(f, height, width)
	f.fail(p.sized(h, w, height, width))
	p.channels(f, "mean", "std")
	p.filter(f, f.text("interpolation", "bicubic"))
	mode := f.text("crop_mode", "center")
	resized := [2]int{floor(float64(h) / pct), floor(float64(w) / pct)}
	same := resized == [2]int{h, w}
	switch {
	case mode == "squash" && same: // nothing is cropped
	case h != w:
		f.failf("crop_mode %.20q for %d×%d is not supported", mode, w, h)
	case mode == "squash":
		p.Shorter = resized[0]
	case mode == "border" && same:
		p.Resize = ResizePad
		for c := range 3 {
			p.Fill[c] = uint8(min(max(math.RoundToEven(255*p.Mean[c]), 0), 255))
		}
	case mode == "center" || mode == "":
		p.Resize, p.Shorter = ResizeCrop, resized[0]
	default:
		f.failf("crop_mode %.20q with crop_pct %g is not supported; center and squash are, and border with 1", mode, pct)
	}
	return p
}

// timmSize returns the image size and the share of the resized image that a
// crop keeps. The network's size decides, or the training size if it is open.
func timmSize(f fields, height, width int) (h, w int, pct float64) {
	h, w = size(nil).sides(height, width)
	h, w = f.chw("input_size", h, w)
	pct = f.number("crop_pct", 0.875)
	th, tw := f.chw("test_input_size", h, w)
	if test := f.number("test_crop_pct", pct); (th != h || tw != w) && th == height && tw == width {
		h, w, pct = th, tw, test
	}
	if !(pct > 0 && pct <= 1) {
		f.failf("crop_pct %g; it lies between 0 and 1", pct)
	}
	return h, w, pct
}

func (f fields) chw(name string, height, width int) (h, w int) {
	shape := []int{3, height, width}
	f.read(name, &shape, "three whole numbers")
	if len(shape) != 3 || shape[0] != 3 {
		f.failf("its %q is %v; pictures of 3 channels are supported", name, shape)
		return height, width
	}
	return shape[1], shape[2]
}
