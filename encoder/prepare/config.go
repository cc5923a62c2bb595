package prepare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"cpar"
)

// usualSide is the image side, in pixels, for a network that leaves it open.
const usualSide = 224

var errNoPreprocessing = errors.New("it contains no preprocessing")

// ReadConfig reads a configuration file for images of height×width. If both are
// 0, the size in the file applies. ReadConfig recognises the format by the
// file's content:
//
//	sidecar               this program's own format
//	Hugging Face          preprocessor_config.json
//	open_clip             preprocess_cfg.json, as Immich keeps it, and open_clip_config.json
//	timm                  config.json
//
// It ignores unknown fields of foreign formats. If an operation is not
// supported, the error names it. Result `kind` is the detected format. Errors
// wrap cpar.ErrInput.
func ReadConfig(data []byte, height, width int) (p Preprocessing, kind string, err error) {
	p, kind, err = readConfig(data, height, width)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		if kind != "" {
			kind += ": "
		}
		return Preprocessing{}, "", fmt.Errorf("reading preprocessing: %w: %s%w", cpar.ErrInput, kind, err)
	}
	return p, kind, nil
}

func readConfig(data []byte, height, width int) (p Preprocessing, kind string, err error) {
	if height < 0 || width < 0 || (height == 0) != (width == 0) {
		return p, "", fmt.Errorf("the network size %d×%d is not possible", width, height)
	}
	f, err := readFields(data)
	if err != nil {
		return p, "", err
	}
	switch {
	case f.has("pretrained_cfg"):
		kind, p = "timm", readTimm(f.object("pretrained_cfg"), height, width)
	case f.has("input_size"): // older files of timm
		kind, p = "timm", readTimm(f, height, width)
	case f.has("preprocess_cfg"):
		// The image size is in another object than the preprocessing.
		side := f.object("model_cfg").object("vision_cfg").size("image_size")
		kind, p = "open_clip", readOpenCLIP(f.object("preprocess_cfg"), side, height, width)
	case f.has("resize_mode", "fill_color", "mode"), f.has("interpolation") && !f.has("preset", "resize", "shorter", "scale", "color", "offset", "fill"):
		kind, p = "open_clip", readOpenCLIP(f, nil, height, width)
	case f.has("image_processor"): // Hugging Face's processor_config.json
		kind, p = "Hugging Face", readHuggingFace(f.object("image_processor"), height, width)
	case f.has("image_processor_type", "feature_extractor_type", "image_mean", "do_resize", "do_normalize"):
		kind, p = "Hugging Face", readHuggingFace(f, height, width)
	case f.has("model_type", "architectures", "architecture", "vision_cfg", "model_cfg", "tokenizer_class", "transformers_version"):
		f.fail(errNoPreprocessing)
	default:
		kind = "sidecar"
		p, err = readSidecar(data, height, width)
	}
	return p, kind, cmp.Or(err, *f.err)
}

// readOpenCLIP reads open_clip's preprocessing (function image_transform in
// open_clip/transform.py), which Immich keeps in preprocess_cfg.json. `model`
// is the image size in the model's own configuration, if present.
func readOpenCLIP(f fields, model size, height, width int) Preprocessing {
	p := plain(height, width)
	p.Mean, p.Std = clipMean, clipStd
	own := model
	f.read("size", &own, "a side, or [height, width]")
	h, w := own.sides(height, width)
	if mh, mw := model.sides(h, w); mh != h || mw != w {
		f.failf("its preprocessing makes images of %d×%d, but its model takes %d×%d", w, h, mw, mh)
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

// readTimm reads the preprocessing in timm's config.json (timm/data/config.py,
// and function transforms_imagenet_eval in transforms_factory.py).
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

// timmSize returns the image size in pixels, and the share of the resized
// image's side that a crop keeps. If the network's size is open, it returns the
// training size.
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
		f.failf("its %q is %v; images of 3 channels are supported", name, shape)
		return height, width
	}
	return shape[1], shape[2]
}

// A sidecar is a file in this program's own format. A preset sets all fields,
// and the other fields override it. Without a preset, the whole image is
// resized and its values are scaled to 0 … 1:
//
//	{"preset": "imagenet", "size": 224, "resize": "crop", "shorter": 256,
//	 "interpolation": "bicubic", "offset": "floor", "color": "RGB", "scale": 0.00392156862745098,
//	 "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "views": 1}
type sidecar struct {
	Preset        string  `json:"preset"`
	Size          size    `json:"size"` // one side, or [width, height]
	Width, Height int     // alternative to Size, in which Preprocessing is encoded
	Mean          numbers `json:"mean"`
	Std           numbers `json:"std"`
	Scale         float64 `json:"scale"`
	Color         string  `json:"color"`
	Resize        Resize  `json:"resize"`
	Shorter       int     `json:"shorter"`
	Interpolation string  `json:"interpolation"`
	Offset        string  `json:"offset"`
	Fill          numbers `json:"fill"`
	Views         Views   `json:"views"`
}

func readSidecar(data []byte, height, width int) (p Preprocessing, err error) {
	var s sidecar
	if err := s.decode(data); err != nil {
		return p, err
	}
	w, h := width, height
	switch {
	case len(s.Size) == 1:
		w, h = s.Size[0], s.Size[0]
	case len(s.Size) == 2:
		w, h = s.Size[0], s.Size[1]
	case s.Width != 0 || s.Height != 0:
		w, h = s.Width, s.Height
	case height == 0:
		w, h = usualSide, usualSide
	}
	if p = plain(h, w); s.Preset != "" {
		if p, err = preset(s.Preset, min(h, w)); err != nil {
			return p, err
		}
	}
	if err := p.sized(h, w, height, width); err != nil {
		return p, err
	}
	// Decode again, so that fields of the file replace fields of the preset.
	s.Scale, s.Mean, s.Std, s.Shorter = p.Scale, p.Mean[:], p.Std[:], cmp.Or(p.Shorter, max(w, h))
	if err := s.decode(data); err != nil {
		return p, err
	}
	p.Scale, p.Mean, p.Std, p.Views = s.Scale, [3]float64(s.Mean), [3]float64(s.Std), s.Views
	p.Color = cmp.Or(Color(strings.ToUpper(s.Color)), p.Color)
	p.Resize, p.Shorter = cmp.Or(s.Resize, p.Resize), 0
	if p.Resize == ResizeCrop {
		p.Shorter = s.Shorter
	}
	if s.Fill != nil {
		if p.Fill, err = byteColors([3]float64(s.Fill)); err != nil {
			return p, err
		}
	}
	if s.Interpolation != "" {
		if p.Interpolation, err = interpolation(s.Interpolation); err != nil {
			return p, err
		}
	}
	switch s.Offset {
	case "":
	case "even":
		p.Offset = OffsetEven
	case string(OffsetFloor):
		p.Offset = OffsetFloor
	default:
		return p, fmt.Errorf("offset %.20q; it is even or floor", s.Offset)
	}
	if p.Fill != [3]uint8{} && p.Resize != ResizePad {
		return p, errors.New("it has a fill, which requires resize pad")
	}
	return p, nil
}

func (s *sidecar) decode(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(s)
}
