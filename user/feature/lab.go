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

type labCubes []int32

// labTable holds L/100, (a+128)/256 and (b+128)/256 in 14-bit fixed point, at
// index ((r·33 + g)·33 + b)·3. It never changes once made.
var labTable = sync.OnceValue(func() labCubes {
	var gamma [labSide]float64
	for i := range gamma {
		gamma[i] = linearLight(float64(i) / (labSide - 1))
	}
	table := make(labCubes, 0, 3*labSide*labSide*labSide)
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

// A bin of each channel is 1024 steps of the fixed point: 6.25 of L*, 16 of a*
// and b*, whose floats are exact, so that no division is needed to find it.
const labBinShift = labShift - 4

// lab is OpenCV's conversion of r, g, b in [0, 1], in the table's fixed point.
func lab(r, g, b float32) [3]int32 {
	return labTable().at(placeLab(r), placeLab(g), placeLab(b))
}

// A labPlace is a channel split into its cell and its 4-bit place within.
type labPlace struct{ cell, place int32 }

func placeLab(x float32) labPlace {
	i := int32(math.RoundToEven(float64(x * (1 << labShift))))
	return labPlace{i >> (labShift - labCube), i >> (labShift - labCube - labWeight) & (1<<labWeight - 1)}
}

// labPlace8 is the place of byte/255.
var labPlace8 = func() (t [256]labPlace) {
	for i := range t {
		t[i] = placeLab(unit8[i])
	}
	return t
}()

// at interpolates.
func (table labCubes) at(r, g, b labPlace) [3]int32 {
	const one = 1 << labWeight
	// At a channel of 1 the weight of the next cell is 0: stay in the table.
	rn, gn, bn := min(r.cell+1, labSide-1), min(g.cell+1, labSide-1), min(b.cell+1, labSide-1)
	w00, w01 := (one-r.place)*(one-g.place), (one-r.place)*g.place
	w10, w11 := r.place*(one-g.place), r.place*g.place
	i00, i01 := (r.cell*labSide+g.cell)*labSide, (r.cell*labSide+gn)*labSide
	i10, i11 := (rn*labSide+g.cell)*labSide, (rn*labSide+gn)*labSide
	var sl, sa, sb int32
	for _, edge := range [4]struct{ i, w int32 }{{i00, w00}, {i01, w01}, {i10, w10}, {i11, w11}} {
		near, far := table[3*(edge.i+b.cell):][:3:3], table[3*(edge.i+bn):][:3:3]
		wn, wf := edge.w*(one-b.place), edge.w*b.place
		sl += wn*near[0] + wf*far[0]
		sa += wn*near[1] + wf*far[1]
		sb += wn*near[2] + wf*far[2]
	}
	const round = 1 << (3*labWeight - 1)
	const down = 3 * labWeight
	return [3]int32{(sl + round) >> down, (sa + round) >> down, (sb + round) >> down}
}
