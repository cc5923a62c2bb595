package prepare

import (
	"fmt"
	"math"
)

// Interpolation is the filter of resizing, by the name that Pillow, timm and open_clip
// give it. When a picture shrinks, the filter widens with it, so that no pixel is skipped.
type Interpolation string

// The filters. The zero value is bilinear.
const (
	Bilinear Interpolation = ""
	Bicubic  Interpolation = "bicubic"
	Lanczos  Interpolation = "lanczos"
	Box      Interpolation = "box"
	Hamming  Interpolation = "hamming"
)

// A filter is a weight by distance in pixels of the smaller picture, 0 beyond reach.
type filter struct {
	reach  float64
	weight func(x float64) float64
}

// filters are Pillow's (src/libImaging/Resample.c), term by term: another order of
// operations, or products fused with sums, would round other weights.
var filters = map[Interpolation]filter{
	Bilinear: {1, func(x float64) float64 { return max(0, 1-math.Abs(x)) }},
	Bicubic: {2, func(x float64) float64 {
		const a = -0.5
		switch x = math.Abs(x); {
		case x < 1:
			return float64((float64((a+2)*x)-(a+3))*x*x) + 1
		case x < 2:
			return (float64((float64((x-5)*x)+8)*x) - 4) * a
		}
		return 0
	}},
	Lanczos: {3, func(x float64) float64 {
		if x < -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}},
	Box: {0.5, func(x float64) float64 {
		if x > -0.5 && x <= 0.5 {
			return 1
		}
		return 0
	}},
	Hamming: {1, func(x float64) float64 {
		switch x = math.Abs(x); {
		case x == 0:
			return 1
		case x >= 1:
			return 0
		}
		x *= math.Pi
		const a, b = float64(float32(0.54)), float64(float32(0.46)) // as Pillow has them
		return math.Sin(x) / x * (a + float64(b*math.Cos(x)))
	}},
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// interpolation takes a name of a configuration file, in any case.
func interpolation(name string) (Interpolation, error) {
	if name == "bilinear" {
		return Bilinear, nil
	}
	if _, known := filters[Interpolation(name)]; known && name != "" {
		return Interpolation(name), nil
	}
	return "", fmt.Errorf("interpolation %.40q; bilinear, bicubic, lanczos, box and hamming are supported", name)
}

// precision is the number of binary places of a weight: 255 times a sum of weights, which
// is 1 before rounding and up to about 1.5 in absolute values, fits in an int32.
const precision = 22

// A window is the source pixels of one result pixel. Its weights, which sum to about
// 2^precision, are sign-extended for products of two channels at once (horizontal).
type window struct {
	first   int
	weights []uint64
}

// windows filters along one axis: n pixels become full, of which wanted from skip on are
// needed. Pixel centres are at halves.
func windows(n, full, skip, wanted int, f filter) []window {
	scale := float64(n) / float64(full)
	widened := max(1, scale)
	reach := f.reach * widened
	out := make([]window, wanted)
	var weights []float64
	for i := range out {
		centre := float64((float64(skip+i) + 0.5) * scale)
		first := max(0, int(centre-reach+0.5))
		end := min(n, int(centre+reach+0.5))
		weights = weights[:0]
		var sum float64
		for x := first; x < end; x++ {
			w := f.weight((float64(x) - centre + 0.5) * (1 / widened))
			weights = append(weights, w)
			sum += w
		}
		out[i] = window{first, make([]uint64, len(weights))}
		for k, w := range weights {
			if sum != 0 {
				w /= sum
			}
			out[i].weights[k] = uint64(int64(math.Copysign(0.5, w) + float64(w*(1<<precision)))) // truncated towards 0
		}
	}
	return out
}

// resize makes len(columns)×len(rows) pixels of rgb, as Pillow's Image.resize does: along
// rows, rounded to 8 bits, then along columns.
func resize(rgb []byte, width int, columns, rows []window) []byte {
	out := make([]byte, 0, 3*len(columns)*len(rows))
	// Neighbouring rows of the result read the same rows of the picture: the few that may
	// be needed again are kept by row number.
	span := 1
	for _, r := range rows {
		span = max(span, len(r.weights))
	}
	lines, of := make([][]byte, span), make([]int, span)
	for i := range lines {
		lines[i], of[i] = make([]byte, 3*len(columns)), -1
	}
	from, to := span1(columns)
	packed := make([]pixel, to-from)
	sum := make([]int32, 3*len(columns))
	for _, r := range rows {
		for i := range sum {
			sum[i] = half
		}
		for k, w := range r.weights {
			sy := r.first + k
			line := lines[sy%span]
			if of[sy%span] != sy {
				pack(packed, rgb[3*(width*sy+from):])
				horizontal(line, packed, from, columns)
				of[sy%span] = sy
			}
			add(sum, line, int32(w))
		}
		for _, v := range sum {
			out = append(out, clip(v))
		}
	}
	return out
}

// half rounds to the nearest.
const half = 1 << (precision - 1)

// span1 returns the range of source pixels that windows read.
func span1(w []window) (from, to int) {
	from = math.MaxInt
	for _, w := range w {
		from, to = min(from, w.first), max(to, w.first+len(w.weights))
	}
	return min(from, to), to
}

// A pixel is laid out for sums of two channels in one: red in the lower half of a word,
// blue in the upper, green in another.
type pixel struct{ redBlue, green uint64 }

func pack(to []pixel, rgb []byte) {
	for i := range to {
		if len(rgb) < 3 {
			return // never
		}
		to[i].redBlue, to[i].green = uint64(rgb[0])|uint64(rgb[2])<<32, uint64(rgb[1])
		rgb = rgb[3:]
	}
}

// horizontal makes one line of the result's columns.
func horizontal(line []byte, packed []pixel, from int, columns []window) {
	for x, c := range columns {
		redBlue, green := weighted(packed[c.first-from:][:len(c.weights)], c.weights)
		red := int32(redBlue)
		to := line[3*x:][:3:3]
		to[0], to[1], to[2] = clip(red), clip(int32(green)), clip(int32((redBlue-uint64(int64(red)))>>32))
	}
}

// weighted sums pixels. Sums wrap around 2^64, which leaves both halves right: the lower
// as an int32, the upper after the lower was taken away. It is not inlined, so that all
// it needs stays in registers.
//
//go:noinline
func weighted(pixels []pixel, weights []uint64) (redBlue, green uint64) {
	redBlue, green = half|half<<32, half
	weights = weights[:len(pixels)]
	for k := range pixels {
		w := weights[k]
		redBlue += pixels[k].redBlue * w
		green += pixels[k].green * w
	}
	return redBlue, green
}

// add adds w times a line.
func add(sum []int32, line []byte, w int32) {
	line = line[:len(sum)]
	for i, v := range line {
		sum[i] += w * int32(v)
	}
}

func clip(v int32) byte { return byte(min(max(v>>precision, 0), 255)) }
