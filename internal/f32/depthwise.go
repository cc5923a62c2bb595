package f32

// A Depthwise is a constant convolution of each plane with its own 3×3 or 5×5
// weights, at stride 1 or 2. Its kernels read the planes in place, eight
// columns at a time. Masks keep them within a row, and zeros replace rows of
// padding.
type Depthwise struct {
	Plane
	kernel  stripKernel
	taps    int // weights of a plane
	weights []float32
	first   int // number of the first row that is read, at most 0
	skip    int // number of groups of rows, one row per stride, that complete no result
	strips  []strip
}

// A strip is eight columns of results, or all if there are fewer.
type strip struct {
	from, to int // offsets of the first value that is read and of the first result
	masks    []int32
}

const stripWidth = 8

// A stripKernel computes a strip of one plane. Steps are in bytes.
type stripKernel func(out, x, weights, zeros *float32, masks *int32, from, first, rows, step, outStep, skip, groups int, bias, lo, hi float32)

// HasDepthwise reports whether the level has a kernel for size×size weights.
func HasDepthwise(size, stride int) bool { return levels[active].strips[[2]int{size, stride}] != nil }

// PackDepthwise prepares weights for planes of the given sizes.
func PackDepthwise(weights []float32, p Plane, size, stride int) *Depthwise {
	// A result depends on `before` whole groups and on the first row of another.
	before := (size - 1) / stride
	begin := min(p.Top/stride, before)
	d := &Depthwise{p, levels[active].strips[[2]int{size, stride}], size * size, weights, begin*stride - p.Top, before - begin, nil}
	for c := 0; c < p.OutW; c += stripWidth {
		s := strip{to: max(0, min(c, p.OutW-stripWidth))}
		s.from = stride*s.to - p.Left
		for l := range size + stride - 1 {
			column := s.from + l + l%stride*(stripWidth-1) // at stride 2, each pair of registers is adjacent
			for i := range stripWidth {
				mask := int32(0)
				if column+i >= 0 && column+i < p.InW {
					mask = -1
				}
				s.masks = append(s.masks, mask)
			}
		}
		d.strips = append(d.strips, s)
	}
	return d
}

// DepthwiseScratch returns the number of scratch values that Convolve needs.
func DepthwiseScratch(p Plane) int { return p.OutH*p.OutW + stripWidth }

// Convolve sets the planes of `out` from those of x. Epilogue e has a bias for
// each.
func (d *Depthwise) Convolve(out, x []float32, e *Epilogue, scratch []float32) {
	size, pixels := d.InH*d.InW, d.OutH*d.OutW
	checkMatrix("out", out, pixels, len(e.Bias), pixels)
	checkMatrix("x", x, size, len(e.Bias), size)
	checkMatrix("weights", d.weights, d.taps, len(e.Bias), d.taps)
	lo, hi := -infinity, infinity
	if e.Clip {
		lo, hi = e.Lo, e.Hi
	}
	for c, bias := range e.Bias {
		to := out[c*pixels:]
		// If a strip is wider than the plane, its rows overwrite the beginning
		// of what follows, which is computed later.
		last := d.OutW < stripWidth && len(to) < pixels+stripWidth
		if last {
			to = scratch[:pixels+stripWidth]
		}
		for _, s := range d.strips {
			d.kernel(&to[s.to], &x[c*size], &d.weights[c*d.taps], &zeros[0], &s.masks[0], 4*(d.first*d.InW+s.from), d.first,
				d.InH, 4*d.InW, 4*d.OutW, d.skip, d.skip+d.OutH, bias, lo, hi)
		}
		if last {
			copy(out[c*pixels:], to[:pixels])
		}
	}
}
