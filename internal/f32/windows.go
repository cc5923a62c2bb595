package f32

import "slices"

// Windows computes the products of size×size weights with the windows of
// planes, or the maxima of windows, for depthwise convolutions and pools. A
// kernel reads a plane in place, a register of columns at a time. Masks exclude
// columns outside the plane.
type Windows struct {
	Plane
	kernel  windowKernel
	taps    int       // number of weights of a plane
	padding []float32 // a row of padding
	first   int       // number of the first row that is read, at most 0
	skip    int       // number of groups of rows, one row per stride, that complete no result
	strips  []strip
	width   int // columns of a strip
}

// A strip is a register of columns of results, or all columns if there are fewer.
type strip struct {
	from, to int // offsets of the first value that is read and of the first result
	masks    []int32
}

// A windowKernel computes a strip of one plane and fetches the next plane, which
// lies `ahead` bytes later. Steps are in bytes.
type windowKernel func(out, x, weights, padding *float32, masks *int32, from, first, rows, step, outStep, skip, groups, ahead int, start, lo, hi float32)

type windowShape struct {
	max          bool
	size, stride int
}

var lowest = slices.Repeat([]float32{-infinity}, len(zeros))

// NewWindows returns nil if the level has no kernel for such windows.
func NewWindows(p Plane, max bool, size, stride int) *Windows {
	kernels, width := levels[active].windows, active.tiling().lanes
	if narrow := levels[active].narrow; narrow != nil && p.OutW <= 8 {
		kernels, width = narrow, 8
	}
	kernel := kernels[windowShape{max, size, stride}]
	if kernel == nil {
		return nil
	}
	// A result depends on `before` whole groups and on the first rows of another.
	before := (size - 1) / stride
	begin := min(p.Top/stride, before)
	w := &Windows{p, kernel, size * size, zeros[:], begin*stride - p.Top, before - begin, nil, width}
	if max {
		w.padding = lowest
	}
	for c := 0; c < p.OutW; c += w.width {
		s := strip{to: min(c, p.OutW-min(p.OutW, w.width))}
		s.from = stride*s.to - p.Left
		for i := range roundUp(size, stride) * w.width {
			// At stride 2, each pair of registers is adjacent.
			column := s.from + i/w.width + i/w.width%stride*(w.width-1) + i%w.width
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

func (w *Windows) Scratch() int { return w.OutH*w.OutW + w.width }

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
		last := w.OutW < w.width && len(to) < pixels+w.width
		if last {
			to = scratch[:pixels+w.width]
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
