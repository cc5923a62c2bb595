package feature

import (
	"math"
	"sync"
)

// OpenCV does not compute L*a*b* of a float image: it interpolates a table of
// 33×33×33 colours in 14-bit fixed point with 4-bit weights (color_lab.cpp,
// RGB2Lab_f and trilinearInterpolate). The steps are up to one unit of a* and
// b*, and greys sit on the bin edge at 0, so the table is made here too.

const (
	labShift  = 14 // fixed-point bits of a channel
	labCube   = 5  // bits that choose the cell
	labWeight = 4  // bits of the place within the cell
	labSide   = 1<<labCube + 1
)

// labTable holds L/100, (a+128)/256 and (b+128)/256 in 14-bit fixed point, at
// index ((r·33 + g)·33 + b)·3. It never changes once made.
var labTable = sync.OnceValue(func() []int32 {
	var gamma [labSide]float64
	for i := range gamma {
		gamma[i] = linearLight(float64(i) / (labSide - 1))
	}
	table := make([]int32, 0, 3*labSide*labSide*labSide)
	for r := range labSide {
		for g := range labSide {
			for b := range labSide {
				l, a, bb := labExact(gamma[r], gamma[g], gamma[b])
				table = append(table, fixed(l/100), fixed((a+128)/256), fixed((bb+128)/256))
			}
		}
	}
	return table
})

func fixed(x float64) int32 { return int32(math.RoundToEven(x * (1 << labShift))) }

// linearLight undoes the sRGB transfer curve.
func linearLight(x float64) float64 {
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}

// labExact is CIE L*a*b* under D65 of linear RGB, with OpenCV's matrix.
func labExact(r, g, b float64) (l, a, bb float64) {
	const threshold, slope = 216.0 / 24389, 24389.0 / 27
	f := func(t float64) float64 {
		if t > threshold {
			return math.Cbrt(t)
		}
		return (slope*t + 16) / 116
	}
	fx := f((0.412453*r + 0.357580*g + 0.180423*b) / 0.950456)
	y := 0.212671*r + 0.715160*g + 0.072169*b
	fy := f(y)
	fz := f((0.019334*r + 0.119193*g + 0.950227*b) / 1.088754)
	return 116*fy - 16, 500 * (fx - fy), 200 * (fy - fz)
}

// lab is OpenCV's conversion of r, g, b in [0, 1].
func lab(r, g, b float32) (l, a, bb float32) {
	table := labTable()
	ri, rw := labPlace(r)
	gi, gw := labPlace(g)
	bi, bw := labPlace(b)
	const one = 1 << labWeight
	var sl, sa, sb int32
	at := func(i, w int32) {
		t := table[3*i:][:3:3]
		sl += w * t[0]
		sa += w * t[1]
		sb += w * t[2]
	}
	// At a channel of 1 the weight of the next cell is 0: stay in the table.
	rn, gn, bn := min(ri+1, labSide-1), min(gi+1, labSide-1), min(bi+1, labSide-1)
	w00, w01 := (one-rw)*(one-gw), (one-rw)*gw
	w10, w11 := rw*(one-gw), rw*gw
	i00, i01 := (ri*labSide+gi)*labSide, (ri*labSide+gn)*labSide
	i10, i11 := (rn*labSide+gi)*labSide, (rn*labSide+gn)*labSide
	at(i00+bi, w00*(one-bw))
	at(i00+bn, w00*bw)
	at(i01+bi, w01*(one-bw))
	at(i01+bn, w01*bw)
	at(i10+bi, w10*(one-bw))
	at(i10+bn, w10*bw)
	at(i11+bi, w11*(one-bw))
	at(i11+bn, w11*bw)
	const round = 1 << (3*labWeight - 1)
	down := func(s int32) float32 { return float32((s+round)>>(3*labWeight)) / (1 << labShift) }
	return down(sl) * 100, down(sa)*256 - 128, down(sb)*256 - 128
}

// labPlace splits a channel into its cell and its 4-bit place within.
func labPlace(x float32) (cell, place int32) {
	i := int32(math.RoundToEven(float64(x * (1 << labShift))))
	return i >> (labShift - labCube), i >> (labShift - labCube - labWeight) & (1<<labWeight - 1)
}
