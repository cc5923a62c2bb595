package network

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"cpar"
)

// A Preprocessing says how a picture becomes the input of a network. A sample v in 0 …
// 255 enters as (v·Scale − Mean) / Std of its channel.
//
// It is read from a sidecar file. A preset sets all fields there, and any field overrides
// the preset:
//
//	{"preset": "imagenet", "size": 224, "resize": "crop", "shorter": 256,
//	 "color": "RGB", "scale": 0.00392156862745098,
//	 "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
type Preprocessing struct {
	Width, Height int
	Scale         float64
	Mean, Std     [3]float64 // in the order of Color
	Color         Color
	Resize        Resize
	// Shorter is the length to which the picture's shorter side is resized before the
	// centre is cut out. Only for ResizeCrop.
	Shorter int
}

// Color is the order of the network's channels.
type Color string

// The orders of channels.
const (
	RGB Color = "RGB"
	BGR Color = "BGR"
)

// Resize says how a picture of another shape is adapted to the network's.
type Resize string

// The rules of resizing. Both are bilinear; when the picture shrinks they average over
// all source pixels that a result pixel covers.
const (
	ResizeWhole Resize = "whole" // the whole picture, aspect ratio ignored
	ResizeCrop  Resize = "crop"  // shorter side to Shorter, then the centre
)

// Presets lists the names that Preset accepts.
func Presets() []string { return []string{"clip", "imagenet", "tensorflow"} }

// Preset returns the preprocessing of a family of networks for a side in pixels. Errors
// wrap cpar.ErrInput.
//
//	imagenet    torchvision: mean and deviation of ImageNet, centre of a picture a seventh larger
//	tensorflow  Keras' MobileNet and similar: −1 … 1, the whole picture
//	clip        OpenAI's CLIP: its own mean and deviation, centre. Its bicubic resizing is bilinear here
func Preset(name string, side int) (Preprocessing, error) {
	p, err := preset(name, side)
	if err != nil {
		return p, fmt.Errorf("choosing preprocessing: %w: %w", cpar.ErrInput, err)
	}
	return p, nil
}

func preset(name string, side int) (Preprocessing, error) {
	p := Preprocessing{Width: side, Height: side, Scale: 1.0 / 255, Std: [3]float64{1, 1, 1}, Color: RGB, Resize: ResizeWhole}
	switch name {
	case "imagenet":
		p.Mean, p.Std = [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
		p.Resize, p.Shorter = ResizeCrop, (side*8+3)/7
	case "tensorflow":
		p.Scale, p.Mean = 1/127.5, [3]float64{1, 1, 1}
	case "clip":
		p.Mean = [3]float64{0.48145466, 0.4578275, 0.40821073}
		p.Std = [3]float64{0.26862954, 0.26130258, 0.27577711}
		p.Resize, p.Shorter = ResizeCrop, side
	default:
		return p, fmt.Errorf("no preset %.40q; there are %s", name, strings.Join(Presets(), ", "))
	}
	return p, p.check()
}

// sidecar is the sidecar file. Nil pointers are fields left out.
type sidecar struct {
	Preset  string          `json:"preset,omitempty"`
	Size    json.RawMessage `json:"size,omitempty"` // side, or [width, height]
	Mean    numbers         `json:"mean,omitempty"`
	Std     numbers         `json:"std,omitempty"`
	Scale   *float64        `json:"scale,omitempty"`
	Color   string          `json:"color,omitempty"`
	Resize  Resize          `json:"resize,omitempty"`
	Shorter *int            `json:"shorter,omitempty"`
}

// numbers is one number for all channels, or three.
type numbers []float64

func (n *numbers) UnmarshalJSON(b []byte) error {
	var one float64
	if json.Unmarshal(b, &one) == nil {
		*n = numbers{one, one, one}
		return nil
	}
	var list []float64
	if err := json.Unmarshal(b, &list); err != nil || len(list) != 3 {
		return errors.New("mean and std are a number or three numbers")
	}
	*n = list
	return nil
}

const maxSidecar = 64 << 10

// ReadPreprocessing reads a sidecar file for a network that takes images of height×width.
// Without a preset the whole picture enters as 0 … 1. Errors wrap cpar.ErrInput.
func ReadPreprocessing(r io.Reader, height, width int) (Preprocessing, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSidecar+1))
	if err == nil && len(data) > maxSidecar {
		err = fmt.Errorf("more than %d bytes", maxSidecar)
	}
	var p Preprocessing
	if err == nil {
		p, err = parseSidecar(data, height, width)
	}
	if err != nil {
		return p, fmt.Errorf("reading preprocessing: %w: %w", cpar.ErrInput, err)
	}
	return p, nil
}

func parseSidecar(data []byte, height, width int) (Preprocessing, error) {
	var s sidecar
	p := Preprocessing{Scale: 1.0 / 255, Std: [3]float64{1, 1, 1}, Color: RGB, Resize: ResizeWhole}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return p, err
	}
	if _, err := d.Token(); err != io.EOF {
		return p, errors.New("something follows the object")
	}
	if s.Preset != "" {
		var err error
		if p, err = preset(s.Preset, min(height, width)); err != nil {
			return p, err
		}
	}
	p.Width, p.Height = width, height
	if s.Size != nil {
		var side int
		pair := []int{}
		if json.Unmarshal(s.Size, &side) == nil {
			pair = []int{side, side}
		} else if err := json.Unmarshal(s.Size, &pair); err != nil || len(pair) != 2 {
			return p, errors.New("size is a side, or [width, height]")
		}
		if pair[0] != width || pair[1] != height {
			return p, fmt.Errorf("its size is %d×%d, the network takes %d×%d", pair[0], pair[1], width, height)
		}
	}
	if s.Mean != nil {
		copy(p.Mean[:], s.Mean)
	}
	if s.Std != nil {
		copy(p.Std[:], s.Std)
	}
	if s.Scale != nil {
		p.Scale = *s.Scale
	}
	if s.Color != "" {
		p.Color = Color(strings.ToUpper(s.Color))
	}
	if s.Resize != "" {
		p.Resize = s.Resize
	}
	if p.Shorter == 0 {
		p.Shorter = max(width, height)
	}
	if s.Shorter != nil {
		p.Shorter = *s.Shorter
	}
	if p.Resize == ResizeWhole {
		p.Shorter = 0
	}
	return p, p.check()
}

// Preprocessing returns the preprocessing in the file's metadata: input_color, input_mean
// and input_scale, where a sample v enters as (v − mean) / scale and the whole picture is
// resized. ok is false if there is none.
func (a *fileInfo) Preprocessing() (p Preprocessing, ok bool, err error) {
	mean, hasMean := a.metadata["input_mean"]
	scale, hasScale := a.metadata["input_scale"]
	if !hasMean && !hasScale {
		return p, false, nil
	}
	p = Preprocessing{Width: a.width, Height: a.height, Scale: 1, Std: [3]float64{1, 1, 1}, Color: RGB, Resize: ResizeWhole}
	if color := a.metadata["input_color"]; color != "" {
		p.Color = Color(strings.ToUpper(color))
	}
	if hasMean {
		p.Mean, err = threeNumbers(mean)
	}
	if hasScale && err == nil {
		p.Std, err = threeNumbers(scale)
	}
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return p, false, fmt.Errorf("reading the network's metadata: %w: %w", cpar.ErrInput, err)
	}
	return p, true, nil
}

// threeNumbers reads one number for all channels, or three separated by commas or spaces.
func threeNumbers(s string) (three [3]float64, err error) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(", ;[]()", r) })
	if len(parts) == 1 {
		parts = slices.Repeat(parts, 3)
	}
	if len(parts) != 3 {
		return three, fmt.Errorf("%.40q is not a number or three numbers", s)
	}
	for i, p := range parts {
		if three[i], err = strconv.ParseFloat(p, 64); err != nil {
			return three, fmt.Errorf("%.40q is not a number", p)
		}
	}
	return three, nil
}

func (p Preprocessing) check() error {
	if p.Width < 1 || p.Height < 1 || p.Width > maxSide || p.Height > maxSide {
		return fmt.Errorf("an image of %d×%d; sides of 1 to %d are supported", p.Width, p.Height, maxSide)
	}
	if p.Color != RGB && p.Color != BGR {
		return fmt.Errorf("color %.20q; it is RGB or BGR", string(p.Color))
	}
	switch p.Resize {
	case ResizeWhole:
	case ResizeCrop:
		if p.Shorter < max(p.Width, p.Height) || p.Shorter > 2*maxSide {
			return fmt.Errorf("a shorter side of %d does not cover %d×%d, or is more than %d", p.Shorter, p.Width, p.Height, 2*maxSide)
		}
	default:
		return fmt.Errorf("resize %.20q; it is whole or crop", string(p.Resize))
	}
	for c := range 3 {
		// For every sample, the result must be a float32 of sensible size.
		ends := math.Abs(p.Mean[c]/p.Std[c]) + math.Abs(255*p.Scale/p.Std[c])
		if !(ends < 1e9) || p.Scale == 0 {
			return fmt.Errorf("scale %g, mean %g, std %g give no sensible values", p.Scale, p.Mean[c], p.Std[c])
		}
	}
	return nil
}
