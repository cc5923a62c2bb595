package feature

import (
	"math"
	"slices"
)

// OpenCV's INTER_AREA (imgproc/src/resize.cpp) is linear and separable, so one
// pass over the stored rows feeds any number of reductions: a run of source
// pixels that all weigh alike in every reduction is summed in integers first,
// and only the sums meet the weights.

// A tap says that a source position weighs w in destination position dst.
type tap struct {
	dst int
	w   float64
}

// axisTaps returns the taps of each of n source positions for d destinations.
func axisTaps(n, d int, area bool) [][]tap {
	if area {
		return areaTaps(n, d)
	}
	return linearTaps(n, d)
}

// areaTaps is computeResizeAreaTab: a destination averages the source cells it
// covers, the outer ones in part. The 1e-3 are OpenCV's.
func areaTaps(n, d int) [][]tap {
	taps := make([][]tap, n)
	scale := 1 / (float64(d) / float64(n))
	for dx := range d {
		lo := float64(dx) * scale
		hi := lo + scale
		cell := min(scale, float64(n)-lo)
		first := int(math.Ceil(lo))
		last := min(int(math.Floor(hi)), n-1)
		first = min(first, last)
		if float64(first)-lo > 1e-3 {
			taps[first-1] = append(taps[first-1], tap{dx, (float64(first) - lo) / cell})
		}
		for sx := first; sx < last; sx++ {
			taps[sx] = append(taps[sx], tap{dx, 1 / cell})
		}
		if hi-float64(last) > 1e-3 {
			taps[last] = append(taps[last], tap{dx, min(hi-float64(last), 1, cell) / cell})
		}
	}
	return taps
}

// linearTaps is what OpenCV does under the name INTER_AREA as soon as one of
// the two axes grows: two taps, placed so that whole factors replicate.
func linearTaps(n, d int) [][]tap {
	taps := make([][]tap, n)
	inv := float64(d) / float64(n)
	scale := 1 / inv
	for dx := range d {
		sx := int(math.Floor(float64(dx) * scale))
		f := float32(float64(dx+1) - float64(sx+1)*inv)
		if f <= 0 {
			f = 0
		} else {
			f -= float32(math.Floor(float64(f)))
		}
		if sx >= n-1 {
			sx, f = n-1, 0
		}
		taps[sx] = append(taps[sx], tap{dx, float64(1 - f)})
		if f > 0 {
			taps[sx+1] = append(taps[sx+1], tap{dx, float64(f)})
		}
	}
	return taps
}

// inCells returns the taps of cells of `side` source positions each, the last
// of which may be cut: a cell weighs what its positions weigh together.
func inCells(taps [][]tap, side int) [][]tap {
	if side == 1 {
		return taps
	}
	cells := make([][]tap, ceilDiv(len(taps), side))
	for i, at := range taps {
		cell := cells[i/side]
		for _, t := range at {
			k := slices.IndexFunc(cell, func(c tap) bool { return c.dst == t.dst })
			if k < 0 {
				cell = append(cell, t)
				continue
			}
			cell[k].w += t.w
		}
		cells[i/side] = cell
	}
	return cells
}

// A target is one reduction of the picture to w×h values of `channels`: 3 for
// RGB, 1 for grey, in 0 … 255, laid out in stored order.
type target struct {
	w, h         int
	channels     int
	transpose    bool
	xTaps, yTaps [][]tap
	out          []float64 // h·w·channels
	line         []float64 // one reduced row, w·channels
	bySegment    [][]tap
}

// newStoredTarget reduces in stored order, for what does not depend on how the
// picture is turned.
func newStoredTarget(p *Picture, w, h, channels int) *target {
	return makeTarget(p, w, h, channels, 1)
}

func makeTarget(p *Picture, w, h, channels int, turn orientation) *target {
	area := p.storedW >= w && p.storedH >= h
	axis := func(n, d int, reverse bool) [][]tap {
		taps := axisTaps(n, d, area)
		if reverse {
			slices.Reverse(taps)
		}
		return inCells(taps, p.cell)
	}
	return &target{
		w: w, h: h, channels: channels, transpose: turn.swaps(),
		xTaps: axis(p.storedW, w, turn.reversesX()), yTaps: axis(p.storedH, h, turn.reversesY()),
		out: make([]float64, w*h*channels), line: make([]float64, w*channels),
	}
}

// newTarget reduces to a w×h upright image (w = h here): an axis that runs
// backwards has its taps reversed, which is exact for the linear taps too, and
// a transposed picture is transposed once it is small.
func newTarget(p *Picture, w, h, channels int) *target {
	return makeTarget(p, w, h, channels, p.turn)
}

// upright returns the values of a square grey target row by row, scaled to
// [0, 1]; it may be called once a picture.
func (t *target) upright() []float64 {
	for i := range t.out {
		t.out[i] /= 255
	}
	if t.transpose {
		for y := range t.h {
			for x := range y {
				t.out[y*t.w+x], t.out[x*t.w+y] = t.out[x*t.w+y], t.out[y*t.w+x]
			}
		}
	}
	return t.out
}

// A reducer sums rows by segment and hands the sums to its targets.
type reducer struct {
	targets []*target
	ends    []int    // segment s is pixels ends[s-1] … ends[s]-1
	flush   []bool   // whether row y is the last of its run
	skip    []bool   // whether row y weighs nowhere
	sums    []uint64 // 3 a segment, of the rows since the last flush
	rgb     []float64
	grey    []float64
}

func newReducer(w, h int, targets []*target) *reducer {
	r := &reducer{targets: targets, flush: make([]bool, h), skip: make([]bool, h)}
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
		r.skip[y] = !slices.ContainsFunc(targets, func(t *target) bool { return len(t.yTaps[y]) > 0 })
	}
	r.sums = make([]uint64, 3*len(r.ends))
	r.rgb = make([]float64, 3*len(r.ends))
	r.grey = make([]float64, len(r.ends))
	return r
}

// differs reports whether source positions i and i+1 weigh differently.
func differs(targets []*target, i int, axis func(*target) [][]tap) bool {
	for _, t := range targets {
		if !slices.Equal(axis(t)[i], axis(t)[i+1]) {
			return true
		}
	}
	return false
}

// reset makes the reducer ready for another picture of the same size.
func (r *reducer) reset() {
	clear(r.sums)
	for _, t := range r.targets {
		clear(t.out)
	}
}

// add takes row y; rows come in order.
func (r *reducer) add(y int, row []byte) {
	if r.skip[y] {
		return
	}
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

// distribute weighs the sums of a run of rows that ends with row y.
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

// reducedSize is the size at which colours of a larger picture are counted.
func reducedSize(w, h int) (int, int) {
	f := colorSide / float64(max(w, h))
	reduce := func(n int) int { return max(1, int(math.RoundToEven(float64(n)*f))) }
	return reduce(w), reduce(h)
}
