package prepare

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Interpolation is a resizing filter, named as in Pillow, timm and open_clip.
// When an image shrinks, the filter is widened so that every pixel contributes.
type Interpolation string

// These are the supported filters. The zero value is bilinear.
const (
	Bilinear Interpolation = ""
	Bicubic  Interpolation = "bicubic"
	Lanczos  Interpolation = "lanczos"
	Box      Interpolation = "box"
	Hamming  Interpolation = "hamming"
)

// A filter gives the weight of a source pixel by its distance, in pixels of the
// smaller image. The weight is 0 at distances beyond `reach`.
type filter struct {
	reach  float64
	weight func(x float64) float64
}

// filters holds Pillow's filters (src/libImaging/Resample.c). They repeat
// Pillow's operations in order, because reordered or fused operations would
// round differently.
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
		const a, b = float64(float32(0.54)), float64(float32(0.46)) // as in Pillow
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

func interpolation(name string) (Interpolation, error) {
	if name == "bilinear" {
		return Bilinear, nil
	}
	if _, known := filters[Interpolation(name)]; known && name != "" {
		return Interpolation(name), nil
	}
	return "", fmt.Errorf("interpolation %.40q; bilinear, bicubic, lanczos, box and hamming are supported", name)
}

// precision is the number of fractional bits of a weight. With this precision,
// a weighted sum of bytes fits in an int32, because the absolute values of a
// window's weights sum to at most about 1.5.
const precision = 22

// A window describes the source pixels of one result pixel on an axis. The
// weights sum to about 2^precision. They are sign-extended to 64 bits so that
// function `horizontal` can multiply two channels at once.
type window struct {
	first   int      // position of the first source pixel
	weights []uint64 // weights of consecutive source pixels
}

// windows returns windows that resample an axis from n to `full` pixels. It
// returns only the windows of result pixels `skip` to `skip`+`wanted`−1. Pixel
// centres are at half-integers.
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
			out[i].weights[k] = uint64(int64(math.Copysign(0.5, w) + float64(w*(1<<precision)))) // the conversion truncates towards 0
		}
	}
	return out
}

// resize computes len(columns)×len(rows) pixels from image `rgb` as Pillow's
// Image.resize does. It resamples along rows, rounds to 8 bits, and then
// resamples along columns.
func resize(rgb []byte, width int, columns, rows []window) []byte {
	out := make([]byte, 0, 3*len(columns)*len(rows))
	// Adjacent result rows share source rows. Source rows are resampled in
	// pairs, and `pairs` caches as many pairs as a window spans.
	span := 1
	for _, r := range rows {
		span = max(span, len(r.weights))
	}
	pairs := make([]pair, span/2+1)
	for i := range pairs {
		pairs[i] = pair{-1, make([]byte, 3*len(columns)), make([]byte, 3*len(columns))}
	}
	from, to := sourceRange(columns)
	packed := make([]pixels, to-from)
	sum := make([]int32, 3*len(columns))
	for _, r := range rows {
		for i := range sum {
			sum[i] = half
		}
		end := r.first + len(r.weights)
		for number := r.first / 2; 2*number < end; number++ {
			p := &pairs[number%len(pairs)]
			if p.number != number {
				first := rgb[3*width*2*number:]
				second := first // a last single row is paired with itself
				if len(first) > 3*width {
					second = first[3*width:]
				}
				pack(packed, first[3*from:3*to], second[3*from:3*to])
				horizontal(p.even, p.odd, packed, from, columns)
				p.number = number
			}
			add(sum, p, r.weight(2*number), r.weight(2*number+1))
		}
		for _, v := range sum {
			out = append(out, clip(v))
		}
	}
	return out
}

func (w *window) weight(i int) int32 {
	if i -= w.first; i < 0 || i >= len(w.weights) {
		return 0
	}
	return int32(w.weights[i])
}

// A pair holds two resampled source rows, 2·number and 2·number+1.
type pair struct {
	number    int
	even, odd []byte
}

// half is added to a sum so that the shift in function clip rounds to nearest.
const half = 1 << (precision - 1)

func sourceRange(w []window) (from, to int) {
	from = math.MaxInt
	for _, w := range w {
		from, to = min(from, w.first), max(to, w.first+len(w.weights))
	}
	return min(from, to), to
}

// A pixels value holds two vertically adjacent pixels, packed so that one
// multiplication serves two channels. Each word holds one channel in its lower
// half and one in its upper half.
type pixels struct {
	redBlue  uint64 // red and blue of the even row
	redBlue2 uint64 // red and blue of the odd row
	greens   uint64 // green of the even row and green of the odd row
}

func pack(to []pixels, even, odd []byte) {
	for i := range to {
		if len(even) < 4 || len(odd) < 4 { // reading four bytes would read past the end
			x, y := [4]byte{}, [4]byte{}
			copy(x[:], even)
			copy(y[:], odd)
			even, odd = x[:], y[:]
		}
		a, b := uint64(binary.LittleEndian.Uint32(even)), uint64(binary.LittleEndian.Uint32(odd))
		to[i].redBlue = a&0xff | a<<16&(0xff<<32)
		to[i].redBlue2 = b&0xff | b<<16&(0xff<<32)
		to[i].greens = a>>8&0xff | b<<24&(0xff<<32)
		even, odd = even[3:], odd[3:]
	}
}

func horizontal(even, odd []byte, packed []pixels, from int, columns []window) {
	for x := range columns {
		c := &columns[x]
		redBlue, redBlue2, greens := weighted(packed[c.first-from:][:len(c.weights)], c.weights)
		to, to2 := even[3*x:][:3:3], odd[3*x:][:3:3]
		to[0], to[2] = unpackSums(redBlue)
		to2[0], to2[2] = unpackSums(redBlue2)
		to[1], to2[1] = unpackSums(greens)
	}
}

func unpackSums(sums uint64) (low, high byte) {
	l := int32(sums)
	return clip(l), clip(int32((sums - uint64(int64(l))) >> 32))
}

// weighted returns weighted sums of packed pixels modulo 2^64. Both halves of a
// sum are recoverable exactly: the lower as an int32, and the upper after
// subtracting the lower (unpackSums). The directive prevents inlining, because
// a separate function keeps all values in registers.
//
//go:noinline
func weighted(of []pixels, weights []uint64) (redBlue, redBlue2, greens uint64) {
	redBlue, redBlue2, greens = half|half<<32, half|half<<32, half|half<<32
	weights = weights[:len(of)]
	for k := range of {
		w := weights[k]
		redBlue += of[k].redBlue * w
		redBlue2 += of[k].redBlue2 * w
		greens += of[k].greens * w
	}
	return redBlue, redBlue2, greens
}

func add(sum []int32, p *pair, even, odd int32) {
	x, y := p.even[:len(sum)], p.odd[:len(sum)]
	for i := range sum {
		sum[i] += even*int32(x[i]) + odd*int32(y[i])
	}
}

func clip(v int32) byte { return byte(min(max(v>>precision, 0), 255)) }
