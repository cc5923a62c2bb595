package prepare

import (
	"fmt"
	"strings"
)

// readOpenCLIPConfig reads an open_clip_config.json, which stores the size
// apart from the preprocessing.
func readOpenCLIPConfig(f fields, height, width int) (p Preprocessing, err error) {
	cfg, err := f.object("preprocess_cfg")
	if err != nil {
		return p, err
	}
	var side size
	if f.has("model_cfg") {
		model, err := f.object("model_cfg")
		if err != nil {
			return p, err
		}
		if model.has("vision_cfg") {
			vision, err := model.object("vision_cfg")
			if err != nil {
				return p, err
			}
			if err := vision.read("image_size", &side, "a side, or two"); err != nil {
				return p, err
			}
		}
	}
	return readOpenCLIP(cfg, side, height, width)
}

// readOpenCLIP reads open_clip's preprocessing (open_clip/transform.py:
// image_transform), which Immich keeps in preprocess_cfg.json. model is the
// size in the model's own configuration, if any.
func readOpenCLIP(f fields, model size, height, width int) (p Preprocessing, err error) {
	p = plain(height, width)
	p.Mean, p.Std = clipMean, clipStd
	own := model
	if err := f.read("size", &own, "a side, or [height, width]"); err != nil {
		return p, err
	}
	h, w := own.sides(height, width)
	if mh, mw := model.sides(h, w); mh != h || mw != w {
		return p, fmt.Errorf("its preprocessing makes images of %d×%d, its model takes %d×%d", w, h, mw, mh)
	}
	if err := p.sized(h, w, height, width); err != nil {
		return p, err
	}
	if mode, err := f.text("mode", "RGB"); err != nil || mode != "RGB" {
		return p, errOr(err, "mode %.20q; only RGB is supported", mode)
	}
	if err := p.channels(f, "mean", "std"); err != nil {
		return p, err
	}
	filter, err := f.text("interpolation", "bicubic")
	if err != nil {
		return p, err
	}
	if filter == "random" || filter == "" {
		filter = "bicubic" // open_clip's default for inference
	}
	if p.Interpolation, err = interpolation(filter); err != nil {
		return p, err
	}
	return p, p.openCLIPResize(f)
}

func (p *Preprocessing) openCLIPResize(f fields) error {
	mode, err := f.text("resize_mode", "shortest")
	if err != nil {
		return err
	}
	if mode != "squash" && p.Width != p.Height {
		return fmt.Errorf("resize_mode %.20q for %d×%d is not supported", mode, p.Width, p.Height)
	}
	fill, err := f.three("fill_color", [3]float64{})
	if err != nil {
		return err
	}
	switch strings.ToLower(mode) {
	case "shortest", "":
		p.Resize, p.Shorter = ResizeCrop, p.Width
	case "longest":
		p.Resize = ResizePad
		if p.Fill, err = byteColors(fill); err != nil {
			return err
		}
	case "squash":
	default:
		return fmt.Errorf("resize_mode %.20q; shortest, longest and squash are supported", mode)
	}
	return nil
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
