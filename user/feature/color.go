package feature

import "math"

const (
	colorBins = 16
	colorSide = 256 // longest side at which colours are counted
)

// colorCounts are the counts of the three colour histograms.
type colorCounts struct {
	pixels        int
	rgb, hsv, lab [ColorDim]int
}

func (c *colorCounts) reset() { *c = colorCounts{} }

// addBytes counts a row of 8-bit pixels.
func (c *colorCounts) addBytes(row []byte) {
	table := labTable()
	for ; len(row) >= 3; row = row[3:] {
		r, g, b := row[0], row[1], row[2]
		c.add(unit8[r], unit8[g], unit8[b])
		c.addLab(table.at(labPlace8[r], labPlace8[g], labPlace8[b]))
	}
}

// addFloats counts reduced pixels in 0 … 255.
func (c *colorCounts) addFloats(pix []float64) {
	for ; len(pix) >= 3; pix = pix[3:] {
		r, g, b := unit(pix[0]), unit(pix[1]), unit(pix[2])
		c.add(r, g, b)
		c.addLab(lab(r, g, b))
	}
}

// unit8 is byte/255 in float32, as NumPy divides.
var unit8 = func() (t [256]float32) {
	for i := range t {
		t[i] = float32(i) / 255
	}
	return t
}()

// unit scales a mean of bytes. A mean of equal bytes comes within 1e-12 of the
// byte and then must equal it: flat areas sit on bin edges.
func unit(x float64) float32 { return min(1, float32(math.Round(x*(1<<24))/(1<<24))/255) }

// add counts a pixel in all but lab.
func (c *colorCounts) add(r, g, b float32) {
	c.pixels++
	c.rgb[bin16(r)]++
	c.rgb[colorBins+bin16(g)]++
	c.rgb[2*colorBins+bin16(b)]++

	h, s, v := hsv(r, g, b)
	c.hsv[binWide(h, 0, 22.5)]++
	c.hsv[colorBins+bin16(s)]++
	c.hsv[2*colorBins+bin16(v)]++
}

func (c *colorCounts) addLab(lab [3]int32) {
	for i, v := range lab {
		c.lab[i*colorBins+int(min(v>>labBinShift, colorBins-1))]++
	}
}

// bin16 is the bin of x in [0, 1]; the last bin is closed above.
func bin16(x float32) int { return min(int(x*16), 15) }

// binWide is numpy.histogram's bin of x ≥ lo: a division, then a comparison
// with the edges, which are exact in float32, decides.
func binWide(x, lo, width float32) int {
	i := max(0, min(int((x-lo)/width), colorBins-1))
	if i > 0 && x < lo+width*float32(i) {
		return i - 1
	}
	if i < colorBins-1 && x >= lo+width*float32(i+1) {
		return i + 1
	}
	return i
}

func (c *colorCounts) write(rgb, hsv, lab []float32) {
	// Every channel counts every pixel once, so a vector's sum is three counts.
	total := float64(3 * c.pixels)
	for i := range ColorDim {
		rgb[i] = float32(float64(c.rgb[i]) / total)
		hsv[i] = float32(float64(c.hsv[i]) / total)
		lab[i] = float32(float64(c.lab[i]) / total)
	}
}

// hsv is OpenCV's RGB2HSV_f, H in [0, 360], operation by operation: ratios of
// small integers hit bin edges, and its epsilon and fused multiply-add decide
// on which side they fall.
func hsv(r, g, b float32) (h, s, v float32) {
	const epsilon = 1.1920929e-07
	v = max(r, g, b)
	d := v - min(r, g, b)
	s = d / (v + epsilon)
	q := 60 / (d + epsilon)
	var n, base float32
	switch {
	case v == r && g < b:
		n, base = g-b, 360
	case v == r:
		n = g - b
	case v == g:
		n, base = b-r, 120
	default:
		n, base = r-g, 240
	}
	// The product of two float32 is exact in float64: one rounding, as fused.
	return float32(float64(n)*float64(q) + float64(base)), s, v
}
