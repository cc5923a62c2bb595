package f32

import "slices"

// Windows computes the products of size×size weights with the windows of
// planes, or the maxima of windows, for depthwise convolutions and pools. A
// kernel reads a plane in place, eight columns at a time, within masks.
type Windows struct {
	Plane
	kernel  windowKernel
	taps    int       // number of weights of a plane
	padding []float32 // a row of padding
	first   int       // number of the first row that is read, at most 0
	skip    int       // number of groups of rows, one row per stride, that complete no result
	strips  []strip
}

// A strip is eight columns of results, or all if there are fewer.
type strip struct {
	from, to int // offsets of the first value that is read and of the first result
	masks    []int32
}

// A windowKernel computes a strip of one plane and fetches the next plane, which
// lies `ahead` bytes later. Steps are in bytes.
type windowKernel func(out, x, weights, padding *float32, masks *int32, from, first, rows, step, outStep, skip, groups, ahead int, start, lo, hi float32)

// A windowShape is the key of a kernel.
type windowShape struct {
	max          bool
	size, stride int
}

const stripWidth = 8

var lowest = slices.Repeat([]float32{-infinity}, len(zeros))

// NewWindows returns nil if the level has no kernel for such windows.
func NewWindows(p Plane, max bool, size, stride int) *Windows {
	kernel := levels[active].windows[windowShape{max, size, stride}]
	if kernel == nil {
		return nil
	}
	// A result depends on `before` whole groups and on the first rows of another.
	before := (size - 1) / stride
	begin := min(p.Top/stride, before)
	w := &Windows{p, kernel, size * size, zeros[:], begin*stride - p.Top, before - begin, nil}
	if max {
		w.padding = lowest
	}
	for c := 0; c < p.OutW; c += stripWidth {
		s := strip{to: min(c, p.OutW-min(p.OutW, stripWidth))}
		s.from = stride*s.to - p.Left
		for i := range roundUp(size, stride) * stripWidth {
			// At stride 2, each pair of registers is adjacent.
			column := s.from + i/stripWidth + i/stripWidth%stride*(stripWidth-1) + i%stripWidth
			mask := int32(0)
			if column >= 0 && column < p.InW {
				mask = -1
			}
			s.masks = append(s.masks, mask)
		}
		w.strips = append(w.strips, s)
	}
	return w
}

// Scratch returns the number of scratch values that Compute needs.
func (w *Windows) Scratch() int { return w.OutH*w.OutW + stripWidth }

// Compute sets each plane of `out` from a plane of x. The planes take the
// weights, and the biases of e, in turns.
func (w *Windows) Compute(out, x, weights []float32, e *Epilogue, scratch []float32) {
	size, pixels := w.InH*w.InW, w.OutH*w.OutW
	planes := len(out) / pixels
	checkMatrix("out", out, pixels, planes, pixels)
	checkMatrix("x", x, size, planes, size)
	lo, hi := -infinity, infinity
	if e != nil && e.Clip {
		lo, hi = e.Lo, e.Hi
	}
	for c := range planes {
		start, by, to := w.padding[0], weights[c*w.taps%len(weights):][:w.taps], out[c*pixels:]
		if e != nil && e.Bias != nil {
			start = e.Bias[c%len(e.Bias)]
		}
		// If a strip is wider than the plane, its rows overwrite the beginning
		// of what follows, which is computed later.
		last := w.OutW < stripWidth && len(to) < pixels+stripWidth
		if last {
			to = scratch[:pixels+stripWidth]
		}
		for _, s := range w.strips {
			w.kernel(&to[s.to], &x[c*size], &by[0], &w.padding[0], &s.masks[0], 4*(w.first*w.InW+s.from), w.first,
				w.InH, 4*w.InW, 4*w.OutW, w.skip, w.skip+w.OutH, 4*size, start, lo, hi)
		}
		if last {
			copy(out[c*pixels:], to[:pixels])
		}
	}
}
