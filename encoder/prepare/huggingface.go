package prepare

import (
	"maps"
	"slices"
	"strings"
)

// A processor holds the defaults of a Hugging Face image processor
// (models/*/image_processing_*.py in package transformers).
type processor struct {
	side      int  // side of the resized image in pixels
	square    bool // whether a single number gives both sides, otherwise the shorter side
	crop      int  // side of the centre crop, or 0 for none
	pct       bool // whether ConvNeXt's rule applies: the shorter side is side/crop_pct
	filter    Interpolation
	mean, std [3]float64
	raw       bool // whether values are not normalised by mean and deviation
	bgr       bool // whether the channel order is BGR
}

// processors maps names of image processors to their defaults. The names lack
// the suffix ImageProcessor or FeatureExtractor.
var processors = map[string]processor{
	"CLIP":        {side: 224, crop: 224, filter: Bicubic, mean: clipMean, std: clipStd},
	"Siglip":      {side: 224, square: true, filter: Bicubic, mean: halves, std: halves},
	"ViT":         {side: 224, square: true, filter: Bilinear, mean: halves, std: halves},
	"DeiT":        {side: 256, square: true, crop: 224, filter: Bicubic, mean: halves, std: halves},
	"Beit":        {side: 256, square: true, crop: 224, filter: Bicubic, mean: halves, std: halves},
	"Blip":        {side: 384, square: true, filter: Bicubic, mean: clipMean, std: clipStd},
	"Bit":         {side: 224, crop: 224, filter: Bicubic, mean: clipMean, std: clipStd},
	"ConvNext":    {side: 384, pct: true, filter: Bicubic, mean: halves, std: halves},
	"MobileNetV1": {side: 256, crop: 224, filter: Bilinear, mean: halves, std: halves},
	"MobileNetV2": {side: 256, crop: 224, filter: Bilinear, mean: halves, std: halves},
	"MobileViT":   {side: 224, crop: 256, filter: Bilinear, raw: true, bgr: true},
}

// processorOf finds the processor that a file names. Result `fast` reports
// whether the processor is a "Fast" one, which rounds as torchvision does.
func processorOf(f fields) (p processor, fast bool) {
	name := f.text("image_processor_type", f.text("feature_extractor_type", ""))
	if name == "" {
		return unnamedProcessor(f), false
	}
	short, fast := strings.CutSuffix(name, "Fast")
	short = strings.TrimSuffix(strings.TrimSuffix(short, "ImageProcessor"), "FeatureExtractor")
	p, known := processors[short]
	if !known {
		f.failf("image processor %.60q is not known; known ones are %s", name, strings.Join(slices.Sorted(maps.Keys(processors)), ", "))
	}
	return p, fast
}

func unnamedProcessor(f fields) (p processor) {
	for _, name := range []string{"size", "resample", "image_mean", "image_std"} {
		if !f.has(name) {
			f.failf("it names no image processor and has no %q", name)
		}
	}
	p.square = !f.flag("do_center_crop", f.has("crop_size"))
	if !p.square {
		p.crop = usualSide
	}
	return p
}

func readHuggingFace(f fields, height, width int) Preprocessing {
	p := plain(height, width)
	by, fast := processorOf(f)
	if !fast {
		p.Offset = OffsetFloor
	}
	if !f.flag("do_resize", true) {
		f.failf("images of any size (do_resize false) are not supported")
	}
	for _, name := range []string{"do_pad", "rescale_offset"} {
		if f.flag(name, false) {
			f.failf("%s is not supported", name)
		}
	}
	by.resizing(f, &p, height, width)
	if p.Resize == ResizeWhole && p.Shorter == 0 {
		p.Offset = OffsetEven // nothing is cropped
	}
	p.Interpolation = resample(f, by.filter)
	by.values(f, &p)
	return p
}

// An edges value is a size in pixels: the shorter side, or height and width.
type edges struct{ shorter, height, width int }

func (f fields) edges(name string, square bool, otherwise edges) (e edges) {
	if !f.has(name) {
		return otherwise
	}
	raw := f.values[name]
	var s size
	if err := s.UnmarshalJSON(raw); err == nil {
		switch {
		case len(s) == 2:
			return edges{height: s[0], width: s[1]}
		case square:
			return edges{height: s[0], width: s[0]}
		}
		return edges{shorter: s[0]}
	}
	inner, err := readFields(raw)
	if err != nil {
		f.failf("its %q is %.60s; it must be a number, two, or an object", name, raw)
	}
	inner.err = f.err
	const what = "a whole number"
	inner.read("shortest_edge", &e.shorter, what)
	inner.read("height", &e.height, what)
	inner.read("width", &e.width, what)
	if n := len(inner.values); !(n == 1 && inner.has("shortest_edge") || n == 2 && inner.has("height") && inner.has("width")) {
		f.failf("its %q is %.80s; it must have shortest_edge, or height and width", name, raw)
	}
	return e
}

func (by processor) resizing(f fields, p *Preprocessing, height, width int) {
	otherwise := edges{shorter: by.side}
	if by.square {
		otherwise = edges{height: by.side, width: by.side}
	}
	to := f.edges("size", by.square, otherwise)
	if by.pct {
		byPercent(f, p, to, height, width)
		return
	}
	if !f.flag("do_center_crop", by.crop != 0) {
		if to.shorter != 0 {
			f.failf("images that keep their shape (size of one edge, do_center_crop false) are not supported")
		}
		f.fail(p.sized(to.height, to.width, height, width))
		return
	}
	crop := f.edges("crop_size", true, edges{height: by.crop, width: by.crop})
	if crop.shorter != 0 {
		crop.height, crop.width = crop.shorter, crop.shorter
	}
	switch {
	case to.shorter != 0:
		p.Resize, p.Shorter = ResizeCrop, to.shorter
	case to.height != to.width:
		f.failf("cropping the centre of an image of %d×%d is not supported", to.width, to.height)
	case to != crop:
		p.Shorter = to.height
	}
	f.fail(p.sized(crop.height, crop.width, height, width))
}

// byPercent applies the rule of ConvNextImageProcessor, which crops only images
// with sides below 384 pixels.
func byPercent(f fields, p *Preprocessing, to edges, height, width int) {
	side := to.shorter
	if side == 0 && to.height == to.width {
		side = to.height
	}
	if pct := f.number("crop_pct", 224.0/256); side < 384 {
		p.Resize, p.Shorter = ResizeCrop, floor(float64(side)/pct)
	}
	f.fail(p.sized(side, side, height, width))
}

// resamples lists filters in the order of Pillow's numbers.
var resamples = []Interpolation{"nearest", Lanczos, Bilinear, Bicubic, Box, Hamming}

func resample(f fields, otherwise Interpolation) Interpolation {
	n := slices.Index(resamples, otherwise)
	f.read("resample", &n, "a whole number")
	if n < 1 || n >= len(resamples) {
		f.failf("resample %d; 1 to 5 are supported (lanczos, bilinear, bicubic, box, hamming)", n)
		return otherwise
	}
	return resamples[n]
}

func (by processor) values(f fields, p *Preprocessing) {
	p.Scale = f.number("rescale_factor", p.Scale)
	if !f.flag("do_rescale", true) {
		p.Scale = 1
	}
	if f.flag("do_normalize", !by.raw) {
		p.Mean, p.Std = by.mean, by.std
		p.channels(f, "image_mean", "image_std")
	}
	if f.flag("do_flip_channel_order", by.bgr) {
		p.Color = BGR
	}
}
