package prepare

import (
	"fmt"
	"math"
	"slices"

	"cpar"
)

// Tensor converts an upright 8-bit RGB image, stored row by row in
// 3·width·height bytes (decode.Image). It returns 3·Height·Width values in the
// order channel, row, column. Errors wrap cpar.ErrInput.
func (p Preprocessing) Tensor(rgb []byte, width, height int) ([]float32, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("preparing an image: %w: %w", cpar.ErrInput, err)
	}
	if width < 1 || height < 1 || height > math.MaxInt/3/width || len(rgb) != 3*width*height {
		return nil, fmt.Errorf("preparing an image: %w: %d bytes for %d×%d pixels", cpar.ErrInput, len(rgb), width, height)
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

func (p Preprocessing) full(width, height int) (w, h int) {
	switch {
	case p.Resize == ResizeCrop && width <= height:
		// Like torchvision's Resize, truncate the longer side. An int64 holds
		// the product even if an image is a million times as long as wide.
		return p.Shorter, int(int64(p.Shorter) * int64(height) / int64(width))
	case p.Resize == ResizeCrop:
		return int(int64(p.Shorter) * int64(width) / int64(height)), p.Shorter
	case p.Resize == ResizePad:
		// Like open_clip's ResizeKeepRatio, round ties to even in float64.
		ratio := max(float64(width)/float64(p.Width), float64(height)/float64(p.Height))
		side := func(n int) int { return max(1, int(math.RoundToEven(float64(n)/ratio))) }
		return side(width), side(height)
	case p.Shorter > 0:
		return p.Shorter, p.Shorter
	}
	return p.Width, p.Height
}

// A placement describes the part of a resized axis that the result contains.
type placement struct {
	skip   int // first pixel of the part
	length int // pixels of the part
	at     int // position of the part in the result
}

func (p Preprocessing) place(full, wanted int) placement {
	if full < wanted {
		return placement{0, full, (wanted - full) / 2}
	}
	skip := (full - wanted) / 2
	if p.Offset == OffsetEven && (full-wanted)%2 == 1 {
		skip += skip % 2 // as Python's round(): half to even
	}
	return placement{skip, wanted, 0}
}

// Views is the number of views of an image whose embeddings are averaged. Each
// view costs one run of the network. docs/quality.md reports the gain.
//
//	1    the image (0 means the same)
//	2    the image, and its mirrored centre
type Views int

// MostViews is the maximum and the default of Views.
const MostViews Views = 2

func (v Views) Check() error {
	if v < 0 || v > MostViews {
		return fmt.Errorf("%d views per image; 1 and %d are supported", int(v), MostViews)
	}
	return nil
}

const middleShare = 7 // length of the centre's sides, in eighths

// Tensors returns one input per view, in the format of Tensor. Errors wrap
// cpar.ErrInput.
func (p Preprocessing) Tensors(rgb []byte, width, height int) ([][]float32, error) {
	whole, err := p.Tensor(rgb, width, height)
	if err != nil {
		return nil, err
	}
	if p.Views <= 1 {
		return [][]float32{whole}, nil
	}
	middle, err := p.Tensor(cropMiddle(rgb, width, height))
	if err != nil {
		return nil, err
	}
	for row := range slices.Chunk(middle, p.Width) {
		slices.Reverse(row)
	}
	return [][]float32{whole, middle}, nil
}

func cropMiddle(rgb []byte, width, height int) (middle []byte, w, h int) {
	w, h = max(1, width*middleShare/8), max(1, height*middleShare/8)
	left, top := (width-w)/2, (height-h)/2
	middle = make([]byte, 0, 3*w*h)
	for y := top; y < top+h; y++ {
		middle = append(middle, rgb[3*(y*width+left):][:3*w]...)
	}
	return middle, w, h
}
