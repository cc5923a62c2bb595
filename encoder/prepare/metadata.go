package prepare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cpar"
)

// FromMetadata returns the preprocessing that a network file's metadata
// describes. The whole image is resized to height×width. FromMetadata knows two
// kinds of entries:
//
//	input_color, input_mean, input_scale     a sample v becomes (v − mean) / scale
//	Image.NominalPixelRange and similar      as in ONNX's docs/MetadataProps.md
//
// Result `ok` reports whether the metadata describe preprocessing. Errors wrap
// cpar.ErrInput.
func FromMetadata(metadata map[string]string, height, width int) (p Preprocessing, ok bool, err error) {
	p = plain(height, width)
	mean, hasMean := metadata["input_mean"]
	scale, hasScale := metadata["input_scale"]
	image := imageMetadata(metadata)
	switch {
	case hasMean || hasScale:
		p.Scale = 1
		if color := metadata["input_color"]; color != "" {
			p.Color = Color(strings.ToUpper(color))
		}
		if hasMean {
			p.Mean, err = threeNumbers(mean)
		}
		if hasScale && err == nil {
			p.Std, err = threeNumbers(scale)
		}
	case image["image.nominalpixelrange"] != "":
		err = p.nominal(image)
	default:
		return p, false, nil
	}
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return p, false, fmt.Errorf("reading the network's metadata: %w: %w", cpar.ErrInput, err)
	}
	return p, true, nil
}

func imageMetadata(metadata map[string]string) map[string]string {
	image := map[string]string{}
	for k, v := range metadata {
		if k = strings.ToLower(k); strings.HasPrefix(k, "image.") {
			image[k] = strings.ToLower(v)
		}
	}
	return image
}

func (p *Preprocessing) nominal(image map[string]string) error {
	switch values := image["image.nominalpixelrange"]; values {
	case "nominalrange_0_255":
		p.Scale = 1
	case "normalized_0_1":
	case "normalized_1_1":
		p.Scale, p.Mean = 1/127.5, [3]float64{1, 1, 1}
	default:
		return fmt.Errorf("a pixel range of %.40q; NominalRange_0_255, Normalized_0_1 and Normalized_1_1 are supported", values)
	}
	switch format := image["image.bitmappixelformat"]; format {
	case "", "rgb8":
	case "bgr8":
		p.Color = BGR
	default:
		return fmt.Errorf("a pixel format of %.40q; Rgb8 and Bgr8 are supported", format)
	}
	if gamma := image["image.colorspacegamma"]; gamma != "" && gamma != "srgb" {
		return fmt.Errorf("a gamma of %.40q; SRGB is supported", gamma)
	}
	return nil
}

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
