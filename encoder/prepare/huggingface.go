package prepare

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A processor holds the defaults of a Hugging Face image processor
// (transformers, models/*/image_processing_*.py).
type processor struct {
	side      int  // of the resized image
	square    bool // a single number is both sides, not the shorter one
	crop      int  // 0 disables the centre crop
	pct       bool // ConvNeXt's rule: the shorter side is side/crop_pct
	filter    Interpolation
	mean, std [3]float64
	raw       bool // no mean and deviation
	bgr       bool
}

// processors by name, without the suffix ImageProcessor or FeatureExtractor.
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

// processorOf finds the processor that a file names. fast processors compute
// with torchvision and round as it does.
func processorOf(f fields) (p processor, fast bool, err error) {
	name, err := f.text("feature_extractor_type", "")
	if err == nil {
		name, err = f.text("image_processor_type", name)
	}
	if err != nil {
		return p, false, err
	}
	if name == "" {
		return unnamedProcessor(f)
	}
	short, fast := strings.CutSuffix(name, "Fast")
	short = strings.TrimSuffix(strings.TrimSuffix(short, "ImageProcessor"), "FeatureExtractor")
	p, known := processors[short]
	if !known {
		return p, false, fmt.Errorf("image processor %.60q is not known; those of %s are", name, strings.Join(slices.Sorted(maps.Keys(processors)), ", "))
	}
	return p, fast, nil
}

func unnamedProcessor(f fields) (p processor, fast bool, err error) {
	for _, name := range []string{"size", "resample", "image_mean", "image_std"} {
		if !f.has(name) {
			return p, false, fmt.Errorf("it names no image processor and has no %q", name)
		}
	}
	crop, err := f.flag("do_center_crop", f.has("crop_size"))
	if crop {
		p.crop = usualSide
	}
	p.square = !crop
	return p, false, err
}

func readHuggingFace(f fields, height, width int) (Preprocessing, error) {
	p := plain(height, width)
	by, fast, err := processorOf(f)
	if err != nil {
		return p, err
	}
	if !fast {
		p.Offset = OffsetFloor
	}
	if err := by.refuse(f); err != nil {
		return p, err
	}
	if err := by.resizing(f, &p, height, width); err != nil {
		return p, err
	}
	if p.Resize == ResizeWhole && p.Shorter == 0 {
		p.Offset = OffsetEven // nothing is cropped
	}
	if p.Interpolation, err = resample(f, by.filter); err != nil {
		return p, err
	}
	return p, by.values(f, &p)
}

// refuse reports unsupported operations.
func (by processor) refuse(f fields) error {
	resized, err := f.flag("do_resize", true)
	if err != nil {
		return err
	}
	if !resized {
		return errors.New("images of any size (do_resize false) are not supported")
	}
	for _, name := range []string{"do_pad", "rescale_offset"} {
		if on, err := f.flag(name, false); err != nil || on {
			return errOr(err, "%s is not supported", name)
		}
	}
	return nil
}

func errOr(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

type edges struct{ shorter, height, width int }

func (f fields) edges(name string, square bool, otherwise edges) (edges, error) {
	raw, ok := f[name]
	if !ok {
		return otherwise, nil
	}
	var s size
	if err := s.UnmarshalJSON(raw); err == nil {
		switch {
		case len(s) == 2:
			return edges{height: s[0], width: s[1]}, nil
		case square:
			return edges{height: s[0], width: s[0]}, nil
		}
		return edges{shorter: s[0]}, nil
	}
	inner, err := readFields(raw)
	if err != nil {
		return edges{}, fmt.Errorf("its %q is %.60s; it must be a number, two, or an object", name, raw)
	}
	var e edges
	const what = "a whole number"
	for part, to := range map[string]*int{"shortest_edge": &e.shorter, "height": &e.height, "width": &e.width} {
		if err := inner.read(part, to, what); err != nil {
			return e, err
		}
	}
	switch {
	case len(inner) == 1 && inner.has("shortest_edge"), len(inner) == 2 && inner.has("height") && inner.has("width"):
		return e, nil
	}
	return e, fmt.Errorf("its %q is %.80s; it must have shortest_edge, or height and width", name, raw)
}

func (by processor) resizing(f fields, p *Preprocessing, height, width int) error {
	otherwise := edges{shorter: by.side}
	if by.square {
		otherwise = edges{height: by.side, width: by.side}
	}
	to, err := f.edges("size", by.square, otherwise)
	if err != nil {
		return err
	}
	if by.pct {
		return byPercent(f, p, to, height, width)
	}
	cropped, err := f.flag("do_center_crop", by.crop != 0)
	if err != nil {
		return err
	}
	if !cropped {
		if to.shorter != 0 {
			return errors.New("images that keep their shape (size of one edge, do_center_crop false) are not supported")
		}
		return p.sized(to.height, to.width, height, width)
	}
	crop, err := f.edges("crop_size", true, edges{height: by.crop, width: by.crop})
	if err != nil {
		return err
	}
	if crop.shorter != 0 {
		crop.height, crop.width = crop.shorter, crop.shorter
	}
	switch {
	case to.shorter != 0:
		p.Resize, p.Shorter = ResizeCrop, to.shorter
	case to.height != to.width:
		return fmt.Errorf("a centre of an image of %d×%d is not supported", to.width, to.height)
	case to != crop:
		p.Shorter = to.height
	}
	return p.sized(crop.height, crop.width, height, width)
}

// byPercent is the rule of ConvNextImageProcessor, which crops only small
// images.
func byPercent(f fields, p *Preprocessing, to edges, height, width int) error {
	side := to.shorter
	if side == 0 && to.height == to.width {
		side = to.height
	}
	pct, err := f.number("crop_pct", 224.0/256)
	if err != nil {
		return err
	}
	if side < 384 {
		p.Resize, p.Shorter = ResizeCrop, floor(float64(side)/pct)
	}
	return p.sized(side, side, height, width)
}

// resamples are Pillow's numbers.
var resamples = []Interpolation{"nearest", Lanczos, Bilinear, Bicubic, Box, Hamming}

func resample(f fields, otherwise Interpolation) (Interpolation, error) {
	n := slices.Index(resamples, otherwise)
	if err := f.read("resample", &n, "a whole number"); err != nil {
		return "", err
	}
	if n < 1 || n >= len(resamples) {
		return "", fmt.Errorf("resample %d; 1 to 5 are supported (lanczos, bilinear, bicubic, box, hamming)", n)
	}
	return resamples[n], nil
}

// values sets scale, mean and deviation.
func (by processor) values(f fields, p *Preprocessing) error {
	rescaled, err := f.flag("do_rescale", true)
	if err != nil {
		return err
	}
	if p.Scale, err = f.number("rescale_factor", p.Scale); err != nil {
		return err
	}
	if !rescaled {
		p.Scale = 1
	}
	normalised, err := f.flag("do_normalize", !by.raw)
	if err != nil {
		return err
	}
	if normalised {
		p.Mean, p.Std = by.mean, by.std
		if err := p.channels(f, "image_mean", "image_std"); err != nil {
			return err
		}
	}
	flipped, err := f.flag("do_flip_channel_order", by.bgr)
	if err != nil {
		return err
	}
	if flipped {
		p.Color = BGR
	}
	if math.IsNaN(p.Scale) {
		return errors.New("a scale that is no number")
	}
	return nil
}
