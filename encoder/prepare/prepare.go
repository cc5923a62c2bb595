// Package prepare converts a decoded image to the input of a network in the
// same way as in its training.
//
//	configuration files ─▶ Preprocessing ─┐
//	image, 8-bit RGB ─────────────────────┴▶ Tensor ─▶ 3×H×W float32
//
// Resizing reproduces the results of Pillow bit for bit, because nearly all
// networks were trained with it. Sizes and crop offsets are rounded as in
// torchvision, timm and open_clip, or as in Hugging Face for its configuration
// files.
package prepare

import (
	"fmt"
	"math"
	"strings"

	"cpar"
)

// A Preprocessing describes how to convert an image to a network's input. A
// sample v in 0 … 255 becomes (v·Scale − Mean) / Std, with the Mean and Std of
// its channel. Encoder digests in indexes include the JSON encoding, so fields
// added later must be omitted when zero.
type Preprocessing struct {
	Width, Height int // size of the network's input in pixels
	Scale         float64
	Mean, Std     [3]float64 // for each channel, in the order of Color
	Color         Color
	Resize        Resize
	// Shorter is the length, in pixels, of the image's shorter side
	// (ResizeCrop) or of both sides (ResizeWhole) before the centre crop. For
	// ResizeWhole, 0 means no crop.
	Shorter       int
	Interpolation Interpolation `json:",omitempty"`
	Offset        Offset        `json:",omitempty"`
	Fill          [3]uint8      `json:",omitzero"` // RGB of the border that ResizePad adds
	Views         Views         `json:",omitempty"`
}

// Color is the order of the network's channels.
type Color string

const (
	RGB Color = "RGB"
	BGR Color = "BGR"
)

// Resize is the rule for images whose aspect ratio differs from the network's.
type Resize string

const (
	ResizeWhole Resize = "whole" // ignores the aspect ratio
	ResizeCrop  Resize = "crop"  // resizes the shorter side to Shorter, and crops the centre
	ResizePad   Resize = "pad"   // fits the image into the network's input, and adds a border of colour Fill
)

// Offset is the rule by which half a pixel in a crop's offset is rounded.
type Offset string

const (
	OffsetEven  Offset = ""      // to even: torchvision, timm, open_clip
	OffsetFloor Offset = "floor" // down: Hugging Face
)

// maxSide is the maximum side of a network's input in pixels. Before a crop, a
// side may be twice as long.
const maxSide = 4096

// Presets lists the names that Preset accepts.
func Presets() []string {
	return []string{"clip", "clip-bilinear", "dinov2", "imagenet", "siglip", "tensorflow"}
}

// Preset returns the preprocessing of a family of networks for square images
// with the given side in pixels. Errors wrap cpar.ErrInput.
//
//	imagenet       torchvision: ImageNet's mean and deviation, the centre of an image a seventh larger
//	dinov2         like imagenet, with bicubic resizing
//	tensorflow     Keras' MobileNet and similar: values from −1 to 1, the whole image
//	siglip         like tensorflow, with bicubic resizing
//	clip           OpenAI's CLIP: its own mean and deviation, the centre, bicubic resizing
//	clip-bilinear  like clip, with bilinear resizing
func Preset(name string, side int) (Preprocessing, error) {
	p, err := preset(name, side)
	if err != nil {
		return p, fmt.Errorf("choosing preprocessing: %w: %w", cpar.ErrInput, err)
	}
	return p, nil
}

var (
	imagenetMean, imagenetStd = [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
	clipMean, clipStd         = [3]float64{0.48145466, 0.4578275, 0.40821073}, [3]float64{0.26862954, 0.26130258, 0.27577711}
	halves                    = [3]float64{0.5, 0.5, 0.5}
)

func plain(height, width int) Preprocessing {
	return Preprocessing{Width: width, Height: height, Scale: 1.0 / 255, Std: [3]float64{1, 1, 1}, Color: RGB, Resize: ResizeWhole}
}

func preset(name string, side int) (Preprocessing, error) {
	p := plain(side, side)
	switch name {
	case "dinov2":
		p.Interpolation = Bicubic
		fallthrough
	case "imagenet":
		p.Mean, p.Std = imagenetMean, imagenetStd
		p.Resize, p.Shorter = ResizeCrop, (side*8+3)/7
	case "siglip":
		p.Mean, p.Std, p.Interpolation = halves, halves, Bicubic
	case "tensorflow":
		p.Scale, p.Mean = 1/127.5, [3]float64{1, 1, 1}
	case "clip":
		p.Interpolation = Bicubic
		fallthrough
	case "clip-bilinear":
		p.Mean, p.Std = clipMean, clipStd
		p.Resize, p.Shorter = ResizeCrop, side
	default:
		return p, fmt.Errorf("no preset %.40q; there are %s", name, strings.Join(Presets(), ", "))
	}
	return p, p.check()
}

func (p Preprocessing) check() error {
	if p.Width < 1 || p.Height < 1 || p.Width > maxSide || p.Height > maxSide {
		return fmt.Errorf("an image of %d×%d; sides of 1 to %d are supported", p.Width, p.Height, maxSide)
	}
	if p.Color != RGB && p.Color != BGR {
		return fmt.Errorf("color %.20q; it is RGB or BGR", string(p.Color))
	}
	if _, known := filters[p.Interpolation]; !known {
		return fmt.Errorf("unknown interpolation %.40q", string(p.Interpolation))
	}
	if p.Offset != OffsetEven && p.Offset != OffsetFloor {
		return fmt.Errorf("offset %.20q; it is even or floor", string(p.Offset))
	}
	if err := p.Views.Check(); err != nil {
		return err
	}
	switch p.Resize {
	case ResizeWhole:
		if p.Shorter != 0 && (p.Shorter < max(p.Width, p.Height) || p.Shorter > 2*maxSide) {
			return fmt.Errorf("an image of %d×%[1]d does not cover %d×%d, or is more than %d", p.Shorter, p.Width, p.Height, 2*maxSide)
		}
	case ResizeCrop:
		if p.Shorter < max(p.Width, p.Height) || p.Shorter > 2*maxSide {
			return fmt.Errorf("a shorter side of %d does not cover %d×%d, or is more than %d", p.Shorter, p.Width, p.Height, 2*maxSide)
		}
	case ResizePad:
	default:
		return fmt.Errorf("resize %.20q; it is whole, crop or pad", string(p.Resize))
	}
	for c := range 3 {
		// Results for all samples must be float32 values of moderate size.
		ends := math.Abs(p.Mean[c]/p.Std[c]) + math.Abs(255*p.Scale/p.Std[c])
		if !(ends < 1e9) || p.Scale == 0 {
			return fmt.Errorf("scale %g, mean %g, std %g give no sensible values", p.Scale, p.Mean[c], p.Std[c])
		}
	}
	return nil
}
