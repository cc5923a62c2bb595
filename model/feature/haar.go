package feature

import "math"

const (
	haarSide   = 64
	haarLevels = 6
	haarZero   = 1e-3 // smaller magnitudes count as 0 in haarq
)

// haarTransform writes the full orthonormal 2-D Haar decomposition of a 64×64
// grey image in [0, 1] to `out`, in the layout of pywt.coeffs_to_array. At each
// level, the top left quarter holds averages. The top right, bottom left and
// bottom right quarters hold details along x, along y, and along both. A detail
// is the first value minus the second, as in PyWavelets.
func haarTransform(grey, out []float64) {
	var average [haarSide * haarSide]float64
	copy(average[:], grey)
	for level, half := 0, haarSide/2; level < haarLevels; level, half = level+1, half/2 {
		for y := range half {
			for x := range half {
				// The averages of every level are computed in place, in rows of
				// 64 values. Element (y, x) is read before it is overwritten,
				// because 2y ≥ y and 2x ≥ x.
				a, b := average[2*y*haarSide+2*x], average[2*y*haarSide+2*x+1]
				c, d := average[(2*y+1)*haarSide+2*x], average[(2*y+1)*haarSide+2*x+1]
				average[y*haarSide+x] = (a + b + c + d) / 2
				out[y*haarSide+half+x] = (a - b + c - d) / 2
				out[(half+y)*haarSide+x] = (a + b - c - d) / 2
				out[(half+y)*haarSide+half+x] = (a - b - c + d) / 2
			}
		}
	}
	out[0] = average[0]
}

func haarWrite(coefficients []float64, magnitude, sign []float32) {
	for i, c := range coefficients {
		magnitude[i] = float32(math.Abs(c))
		switch {
		case c >= haarZero:
			sign[i] = 1
		case c <= -haarZero:
			sign[i] = -1
		default:
			sign[i] = 0
		}
	}
}
