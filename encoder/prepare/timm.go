package prepare

import (
	"fmt"
	"math"
)

// readTimm reads the preprocessing in timm's config.json (timm/data/config.py
// and transforms_factory.py: transforms_imagenet_eval).
func readTimm(f fields, height, width int) (Preprocessing, error) {
	p := plain(height, width)
	p.Mean, p.Std = imagenetMean, imagenetStd
	h, w, pct, err := timmSize(f, height, width)
	if err != nil {
		return p, err
	}
	if err := p.sized(h, w, height, width); err != nil {
		return p, err
	}
	if err := p.channels(f, "mean", "std"); err != nil {
		return p, err
	}
	filter, err := f.text("interpolation", "bicubic")
	if err != nil {
		return p, err
	}
	if p.Interpolation, err = interpolation(filter); err != nil {
		return p, err
	}
	mode, err := f.text("crop_mode", "center")
	if err != nil {
		return p, err
	}
	resized := [2]int{floor(float64(h) / pct), floor(float64(w) / pct)}
	same := resized == [2]int{h, w}
	switch {
	case mode == "squash" && same: // nothing is cropped
	case h != w:
		return p, fmt.Errorf("crop_mode %.20q for %d×%d is not supported", mode, w, h)
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
		return p, fmt.Errorf("crop_mode %.20q with crop_pct %g is not supported; center and squash are, and border with 1", mode, pct)
	}
	return p, nil
}

// timmSize returns the image size and the share of the resized image that a
// crop keeps. The network's size decides, or the training size if it is open.
func timmSize(f fields, height, width int) (h, w int, pct float64, err error) {
	h, w = size(nil).sides(height, width)
	if h, w, err = chw(f, "input_size", h, w); err != nil {
		return 0, 0, 0, err
	}
	if pct, err = f.number("crop_pct", 0.875); err != nil {
		return 0, 0, 0, err
	}
	th, tw, err := chw(f, "test_input_size", h, w)
	if err != nil {
		return 0, 0, 0, err
	}
	test, err := f.number("test_crop_pct", pct)
	if err == nil && (th != h || tw != w) && th == height && tw == width {
		h, w, pct = th, tw, test
	}
	if err == nil && !(pct > 0 && pct <= 1) {
		err = fmt.Errorf("crop_pct %g; it lies between 0 and 1", pct)
	}
	return h, w, pct, err
}

func chw(f fields, name string, height, width int) (h, w int, err error) {
	shape := []int{3, height, width}
	if err := f.read(name, &shape, "three whole numbers"); err != nil {
		return 0, 0, err
	}
	if len(shape) != 3 || shape[0] != 3 {
		return 0, 0, fmt.Errorf("its %q is %v; pictures of 3 channels are supported", name, shape)
	}
	return shape[1], shape[2], nil
}
