package prepare

import (
	"fmt"
	"math"

	"cpar"
)

// Tensor makes the input of a network, 3·Height·Width values by channel, row and column,
// from an upright 8-bit RGB picture, 3·width·height bytes row by row (picture.Picture).
// Errors wrap cpar.ErrInput.
func (p Preprocessing) Tensor(rgb []byte, width, height int) ([]float32, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("preparing a picture: %w: %w", cpar.ErrInput, err)
	}
	if width < 1 || height < 1 || height > math.MaxInt/3/width || len(rgb) != 3*width*height {
		return nil, fmt.Errorf("preparing a picture: %w: %d bytes for %d×%d pixels", cpar.ErrInput, len(rgb), width, height)
	}
	pixels := p.pixels(rgb, width, height)
	out := make([]float32, len(pixels))
	for c := range 3 {
		source := c
		if p.Color == BGR {
			source = 2 - c
		}
		var value [256]float32
		for v := range value {
			value[v] = float32((float64(v)*p.Scale - p.Mean[c]) / p.Std[c])
		}
		to := out[c*p.Height*p.Width:][:p.Height*p.Width]
		for i := range to {
			to[i] = value[pixels[3*i+source]]
		}
	}
	return out, nil
}

// pixels adapts a picture to Width×Height pixels of 8-bit RGB.
func (p Preprocessing) pixels(rgb []byte, width, height int) []byte {
	fullW, fullH := p.full(width, height)
	across, down := p.place(fullW, p.Width), p.place(fullH, p.Height)
	f := filters[p.Interpolation]
	inner := resize(rgb, width, windows(width, fullW, across.skip, across.length, f), windows(height, fullH, down.skip, down.length, f))
	if p.Resize != ResizePad {
		return inner
	}
	out := make([]byte, 3*p.Width*p.Height)
	for i := range out {
		out[i] = p.Fill[i%3]
	}
	for y := range down.length {
		copy(out[3*((down.at+y)*p.Width+across.at):], inner[3*y*across.length:][:3*across.length])
	}
	return out
}

// full is the size of the whole picture, resized.
func (p Preprocessing) full(width, height int) (w, h int) {
	switch {
	case p.Resize == ResizeCrop && width <= height:
		// As in torchvision's Resize, the longer side is truncated to whole pixels. A
		// strip may be a million times as long as wide; int64 can hold that.
		return p.Shorter, int(int64(p.Shorter) * int64(height) / int64(width))
	case p.Resize == ResizeCrop:
		return int(int64(p.Shorter) * int64(width) / int64(height)), p.Shorter
	case p.Resize == ResizePad:
		// As in open_clip's ResizeKeepRatio, in float64, ties to even.
		ratio := max(float64(width)/float64(p.Width), float64(height)/float64(p.Height))
		side := func(n int) int { return max(1, int(math.RoundToEven(float64(n)/ratio))) }
		return side(width), side(height)
	case p.Shorter > 0:
		return p.Shorter, p.Shorter
	}
	return p.Width, p.Height
}

// A placement is what is needed of an axis of the resized picture, and where it goes.
type placement struct{ skip, length, at int }

// place centres an axis of full pixels in one of `wanted`.
func (p Preprocessing) place(full, wanted int) placement {
	if full < wanted {
		return placement{0, full, (wanted - full) / 2}
	}
	skip := (full - wanted) / 2
	if p.Offset == OffsetEven && (full-wanted)%2 == 1 {
		skip += skip % 2 // Python's round(), half to even
	}
	return placement{skip, wanted, 0}
}
