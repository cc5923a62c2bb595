package prepare

import "strings"

// readOpenCLIP reads open_clip's preprocessing (open_clip/transform.py:
// image_transform), which Immich keeps in preprocess_cfg.json. model is the
// size in the model's own configuration, if any.
func readOpenCLIP(f fields, model size, height, width int) Preprocessing {
	p := plain(height, width)
	p.Mean, p.Std = clipMean, clipStd
	own := model
	f.read("size", &own, "a side, or [height, width]")
	h, w := own.sides(height, width)
	if mh, mw := model.sides(h, w); mh != h || mw != w {
		f.failf("its preprocessing makes images of %d×%d, its model takes %d×%d", w, h, mw, mh)
	}
	f.fail(p.sized(h, w, height, width))
	if mode := f.text("mode", "RGB"); mode != "RGB" {
		f.failf("mode %.20q; only RGB is supported", mode)
	}
	p.channels(f, "mean", "std")
	filter := f.text("interpolation", "bicubic")
	if filter == "random" || filter == "" {
		filter = "bicubic" // open_clip's default for inference
	}
	p.filter(f, filter)
	mode := f.text("resize_mode", "shortest")
	if mode != "squash" && p.Width != p.Height {
		f.failf("resize_mode %.20q for %d×%d is not supported", mode, p.Width, p.Height)
	}
	fill := f.three("fill_color", [3]float64{})
	switch strings.ToLower(mode) {
	case "shortest", "":
		p.Resize, p.Shorter = ResizeCrop, p.Width
	case "longest":
		var err error
		p.Resize = ResizePad
		p.Fill, err = byteColors(fill)
		f.fail(err)
	case "squash":
	default:
		f.failf("resize_mode %.20q; shortest, longest and squash are supported", mode)
	}
	return p
}

// filter sets the interpolation to a named filter.
func (p *Preprocessing) filter(f fields, name string) {
	var err error
	p.Interpolation, err = interpolation(name)
	f.fail(err)
}

func (s size) sides(height, width int) (h, w int) {
	switch {
	case len(s) == 2:
		return s[0], s[1]
	case len(s) == 1:
		return s[0], s[0]
	case height == 0:
		return usualSide, usualSide
	}
	return height, width
}
