package f32

import "slices"

// Windows computes a value for each window of planes, as depthwise convolutions
// and pools do. Its kernels read the planes in place, eight columns at a time.
// Masks keep them within a row.
type Windows struct {
	Plane
	kernel  windowKernel
	weights []float32 // of all planes
	taps    int       // number of weights of a plane, 0 for pools
	padding []float32 // stands for a row of padding
	first   int       // number of the first row that is read, at most 0
	skip    int       // number of groups of rows, one row per stride, that complete no result
	strips  []strip
}

// A strip is eight columns of results, or all if there are fewer.
type strip struct {
	from, to int // offsets of the first value that is read and of the first result
	masks    []int32
}

const stripWidth = 8

// A windowKernel computes a strip of one plane. Steps are in bytes. It fetches
// the next plane, which lies `ahead` bytes later.
type windowKernel func(out, x, weights, padding *float32, masks *int32, from, first, rows, step, outStep, skip, groups, ahead int, start, lo, hi float32)

// A WindowKind describes windows of Size×Size values, Stride apart.
type WindowKind struct {
	Of           WindowValue
	Size, Stride int
}

// A WindowValue is the value that is computed for a window.
type WindowValue byte

const (
	WindowDot WindowValue = iota // product with weights of the plane
	WindowSum
	WindowMax
)

// HasWindows reports whether the level has a kernel.
func HasWindows(k WindowKind) bool { return levels[active].windows[k] != nil }

var lowest = slices.Repeat([]float32{-infinity}, len(zeros))

// NewWindows prepares for planes of the given sizes. Only WindowDot has weights.
func NewWindows(k WindowKind, p Plane, weights []float32) *Windows {
	// A result depends on `before` whole groups and on the first rows of another.
	before := (k.Size - 1) / k.Stride
	begin := min(p.Top/k.Stride, before)
	w := &Windows{Plane: p, kernel: levels[active].windows[k], weights: zeros[:], padding: zeros[:], first: begin*k.Stride - p.Top, skip: before - begin}
	switch k.Of {
	case WindowDot:
		w.weights, w.taps = weights, k.Size*k.Size
	case WindowMax:
		w.padding = lowest
	}
	for c := 0; c < p.OutW; c += stripWidth {
		s := strip{to: max(0, min(c, p.OutW-stripWidth))}
		s.from = k.Stride*s.to - p.Left
		for l := range roundUp(k.Size, k.Stride) {
			column := s.from + l + l%k.Stride*(stripWidth-1) // at stride 2, each pair of registers is adjacent
			for i := range stripWidth {
				mask := int32(0)
				if column+i >= 0 && column+i < p.InW {
					mask = -1
				}
				s.masks = append(s.masks, mask)
			}
		}
		w.strips = append(w.strips, s)
	}
	return w
}

// WindowScratch returns the number of scratch values that Compute needs.
func WindowScratch(p Plane) int { return p.OutH*p.OutW + stripWidth }

// Compute sets each plane of `out` from a plane of x. For WindowDot, epilogue e
// has a bias for each plane.
func (w *Windows) Compute(out, x []float32, e *Epilogue, scratch []float32) {
	size, pixels := w.InH*w.InW, w.OutH*w.OutW
	planes := len(out) / pixels
	checkMatrix("out", out, pixels, planes, pixels)
	checkMatrix("x", x, size, planes, size)
	checkBias(e, planes)
	lo, hi := -infinity, infinity
	if e != nil && e.Clip {
		lo, hi = e.Lo, e.Hi
	}
	for c := range planes {
		start, weights, to := w.padding[0], w.weights[c*w.taps:][:max(1, w.taps)], out[c*pixels:]
		if e != nil && e.Bias != nil {
			start = e.Bias[c]
		}
		// If a strip is wider than the plane, its rows overwrite the beginning
		// of what follows, which is computed later.
		last := w.OutW < stripWidth && len(to) < pixels+stripWidth
		if last {
			to = scratch[:pixels+stripWidth]
		}
		for _, s := range w.strips {
			w.kernel(&to[s.to], &x[c*size], &weights[0], &w.padding[0], &s.masks[0], 4*(w.first*w.InW+s.from), w.first,
				w.InH, 4*w.InW, 4*w.OutW, w.skip, w.skip+w.OutH, 4*size, start, lo, hi)
		}
		if last {
			copy(out[c*pixels:], to[:pixels])
		}
	}
}
