package network

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
	fullW, fullH := p.Width, p.Height // size of the whole picture, resized
	if p.Resize == ResizeCrop {
		// As in torchvision's Resize, the longer side is truncated to whole pixels. A
		// strip may be a million times as long as wide; int64 can hold that.
		if width <= height {
			fullW, fullH = p.Shorter, int(int64(p.Shorter)*int64(height)/int64(width))
		} else {
			fullW, fullH = int(int64(p.Shorter)*int64(width)/int64(height)), p.Shorter
		}
	}
	columns := resampling(width, fullW, (fullW-p.Width)/2, p.Width)
	rows := resampling(height, fullH, (fullH-p.Height)/2, p.Height)

	out := make([]float32, 3*p.Width*p.Height)
	sum := make([]float64, 3*p.Width)
	// Neighbouring rows of the result read the same rows of the picture: the few that may
	// be needed again are kept by row number.
	span := 2
	for _, r := range rows {
		span = max(span, len(r.weights))
	}
	lines := make([][]float64, min(span, height))
	of := make([]int, len(lines))
	for i := range lines {
		lines[i], of[i] = make([]float64, 3*p.Width), -1
	}
	for y, r := range rows {
		clear(sum)
		for k, w := range r.weights {
			sy := r.first + k
			at := sy % len(lines)
			if of[at] != sy {
				resampleRow(lines[at], rgb[3*width*sy:][:3*width], columns)
				of[at] = sy
			}
			for i, v := range lines[at] {
				sum[i] += w * v
			}
		}
		for c := range 3 {
			source := c
			if p.Color == BGR {
				source = 2 - c
			}
			to := out[(c*p.Height+y)*p.Width:][:p.Width]
			for x := range to {
				to[x] = float32((sum[3*x+source]*p.Scale - p.Mean[c]) / p.Std[c])
			}
		}
	}
	return out, nil
}

// A sampler is the source pixels of one result pixel; the weights sum to 1.
type sampler struct {
	first   int
	weights []float64
}

// resampling is the bilinear filter along one axis: n pixels become full, of which
// `wanted` from skip on are needed. Pixel centres are at halves. If the axis shrinks, the
// triangle widens with it, as in Pillow, so that no pixel of a large photo is skipped; if
// it grows, this is OpenCV's plain interpolation.
func resampling(n, full, skip, wanted int) []sampler {
	scale := float64(n) / float64(full)
	reach := max(1, scale)
	samplers := make([]sampler, wanted)
	for i := range samplers {
		centre := (float64(skip+i)+0.5)*scale - 0.5
		first := max(0, int(math.Ceil(centre-reach)))
		last := min(n-1, int(math.Floor(centre+reach)))
		s := sampler{first: min(first, n-1)}
		var sum float64
		for x := s.first; x <= last; x++ {
			w := max(0, 1-math.Abs(float64(x)-centre)/reach)
			s.weights = append(s.weights, w)
			sum += w
		}
		for k := range s.weights {
			s.weights[k] /= sum
		}
		samplers[i] = s
	}
	return samplers
}

func resampleRow(line []float64, row []byte, columns []sampler) {
	for x, c := range columns {
		var red, green, blue float64
		pixels := row[3*c.first:][:3*len(c.weights)]
		for k, w := range c.weights {
			red += w * float64(pixels[3*k])
			green += w * float64(pixels[3*k+1])
			blue += w * float64(pixels[3*k+2])
		}
		line[3*x], line[3*x+1], line[3*x+2] = red, green, blue
	}
}
