package feature

import "slices"

// This file reduces images as OpenCV's INTER_AREA (area averaging) does. It is
// linear and separable, so one pass over the rows computes any number of
// reductions. Runs of pixels with equal weights are first summed in integers.

// A tap is the weight w of a source position in destination dst.
type tap struct {
	dst int
	w   float64
}

// areaTaps returns the taps of each of n source positions in d ≤ n
// destinations. A destination is the average of the positions that it covers.
func areaTaps(n, d int) [][]tap {
	taps := make([][]tap, n)
	for i := range n { // source i covers i·d … (i+1)·d, destination j covers j·n … (j+1)·n
		for j := i * d / n; j*n < (i+1)*d; j++ {
			overlap := min((i+1)*d, (j+1)*n) - max(i*d, j*n)
			taps[i] = append(taps[i], tap{j, float64(overlap) / float64(n)})
		}
	}
	return taps
}

// linearTaps implements INTER_AREA for images that grow along an axis. At most
// two sources contribute to a destination, so integer scale factors replicate
// pixels.
func linearTaps(n, d int) [][]tap {
	taps := make([][]tap, n)
	for j := range d {
		i := j * n / d
		f := 0.0 // weight of source i+1
		if i+1 < n {
			f = float64(max(0, (j+1)*n-(i+1)*d)%n) / float64(n)
		}
		taps[i] = append(taps[i], tap{j, 1 - f})
		if f > 0 {
			taps[i+1] = append(taps[i+1], tap{j, f})
		}
	}
	return taps
}

// A target is one reduced copy of an image: w×h pixels of 1 or 3 channels with
// values in 0…255.
type target struct {
	channels     int
	xTaps, yTaps [][]tap
	out          []float64 // h·w·channels
	line         []float64 // one reduced row, w·channels
	bySegment    [][]tap   // the taps of each segment of the reducer
}

func newTarget(fromW, fromH, w, h, channels int) *target {
	taps := areaTaps
	if fromW < w || fromH < h {
		taps = linearTaps
	}
	return &target{
		channels: channels, xTaps: taps(fromW, w), yTaps: taps(fromH, h),
		out: make([]float64, w*h*channels), line: make([]float64, w*channels),
	}
}

// scaleToUnit scales the values to [0, 1], in place.
func (t *target) scaleToUnit() []float64 {
	for i := range t.out {
		t.out[i] /= 255
	}
	return t.out
}

// A reducer adds up segments (runs of columns with equal taps) over runs of
// rows with equal taps, and distributes the sums to its targets.
type reducer struct {
	targets []*target
	ends    []int     // segment s has columns ends[s-1] … ends[s]-1
	flush   []bool    // flush[y] is set if row y is the last of its run
	sums    []uint64  // 3 per segment, over the rows since the last flush
	rgb     []float64 // sums converted to float64
	grey    []float64 // grey values of `rgb`
}

func newReducer(w, h int, targets []*target) *reducer {
	r := &reducer{targets: targets, flush: make([]bool, h)}
	for x := range w {
		if x == w-1 || differs(targets, x, func(t *target) [][]tap { return t.xTaps }) {
			r.ends = append(r.ends, x+1)
			for _, t := range targets {
				t.bySegment = append(t.bySegment, t.xTaps[x])
			}
		}
	}
	for y := range h {
		r.flush[y] = y == h-1 || differs(targets, y, func(t *target) [][]tap { return t.yTaps })
	}
	r.sums = make([]uint64, 3*len(r.ends))
	r.rgb = make([]float64, 3*len(r.ends))
	r.grey = make([]float64, len(r.ends))
	return r
}

func differs(targets []*target, i int, axis func(*target) [][]tap) bool {
	return slices.ContainsFunc(targets, func(t *target) bool { return !slices.Equal(axis(t)[i], axis(t)[i+1]) })
}

// add adds row y. Rows must come in order.
func (r *reducer) add(y int, row []byte) {
	x := 0
	for s, end := range r.ends {
		var red, green, blue uint64
		pix := row[3*x : 3*end]
		for len(pix) >= 3 {
			red += uint64(pix[0])
			green += uint64(pix[1])
			blue += uint64(pix[2])
			pix = pix[3:]
		}
		sum := r.sums[3*s:][:3:3]
		sum[0] += red
		sum[1] += green
		sum[2] += blue
		x = end
	}
	if r.flush[y] {
		r.distribute(y)
	}
}

func (r *reducer) distribute(y int) {
	for s := range r.grey {
		red, green, blue := float64(r.sums[3*s]), float64(r.sums[3*s+1]), float64(r.sums[3*s+2])
		r.rgb[3*s], r.rgb[3*s+1], r.rgb[3*s+2] = red, green, blue
		r.grey[s] = 0.299*red + 0.587*green + 0.114*blue
	}
	clear(r.sums)
	for _, t := range r.targets {
		taps := t.yTaps[y]
		if len(taps) == 0 {
			continue
		}
		clear(t.line)
		for s, xs := range t.bySegment {
			for _, a := range xs {
				if t.channels == 1 {
					t.line[a.dst] += a.w * r.grey[s]
					continue
				}
				for c := range 3 {
					t.line[3*a.dst+c] += a.w * r.rgb[3*s+c]
				}
			}
		}
		for _, a := range taps {
			out := t.out[a.dst*len(t.line):][:len(t.line)]
			for i, v := range t.line {
				out[i] += a.w * v
			}
		}
	}
}
