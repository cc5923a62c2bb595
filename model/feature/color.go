package feature

import "math"

const (
	colorBins = 16
	colorSide = 256 // longest side at which colours are counted, after reduction
)

// colorCounts holds histograms of three colour spaces, 16 bins per channel.
type colorCounts struct {
	pixels        int
	rgb, hsv, lab [ColorDim]int
}

// A light is a channel value in [0, 1], as stored (sRGB) and as linear light.
type light struct{ stored, linear float64 }

// byteLights holds the light of every 8-bit channel value. meanLight reads entry
// 256, with weight 0, when it interpolates at 255.
var byteLights = func() (t [257]light) {
	for i := range t {
		x := float64(i) / 255
		t[i] = light{x, math.Pow((x+0.055)/1.055, 2.4)}
		if x <= 0.04045 {
			t[i].linear = x / 12.92
		}
	}
	return t
}()

// meanLight returns the light of x, a mean of 8-bit channel values.
func meanLight(x float64) light {
	i := int(x)
	dark, bright := byteLights[i].linear, byteLights[i+1].linear
	return light{x / 255, dark + (x-float64(i))*(bright-dark)}
}

func (c *colorCounts) addBytes(row []byte) {
	for ; len(row) >= 3; row = row[3:] {
		c.add(byteLights[row[0]], byteLights[row[1]], byteLights[row[2]])
	}
}

func (c *colorCounts) addMeans(pix []float64) {
	for ; len(pix) >= 3; pix = pix[3:] {
		c.add(meanLight(pix[0]), meanLight(pix[1]), meanLight(pix[2]))
	}
}

func (c *colorCounts) add(r, g, b light) {
	c.pixels++
	count(&c.rgb, r.stored, g.stored, b.stored)
	h, s, v := hsv(r.stored, g.stored, b.stored)
	count(&c.hsv, h, s, v)
	l, a, bb := lab(r.linear, g.linear, b.linear)
	count(&c.lab, l, a, bb)
}

func count(bins *[ColorDim]int, x, y, z float64) {
	bins[min(int(x*colorBins), colorBins-1)]++
	bins[colorBins+min(int(y*colorBins), colorBins-1)]++
	bins[2*colorBins+min(int(z*colorBins), colorBins-1)]++
}

func (c *colorCounts) write(v *Vectors) {
	// Every pixel counts once per channel, so the counts of a histogram sum to
	// three times the number of pixels.
	total := float64(3 * c.pixels)
	for i := range ColorDim {
		v.RGB[i] = float32(float64(c.rgb[i]) / total)
		v.HSV[i] = float32(float64(c.hsv[i]) / total)
		v.Lab[i] = float32(float64(c.lab[i]) / total)
	}
}

// hsv returns the hue in turns, the saturation and the value, all in [0, 1].
func hsv(r, g, b float64) (h, s, v float64) {
	// Adding tiny to divisors avoids 0/0 for greys. It also moves ratios of
	// small integers, which often lie exactly on the edge between two bins,
	// below that edge.
	const tiny = 1e-7
	v = max(r, g, b)
	d := v - min(r, g, b)
	s = d / (v + tiny)
	switch v {
	case r:
		if h = (g - b) / (d + tiny); h < 0 {
			h += 6
		}
	case g:
		h = 2 + (b-r)/(d+tiny)
	default:
		h = 4 + (r-g)/(d+tiny)
	}
	return h / 6, s, v
}

// lab converts linear light to CIE L*a*b* with white point D65. It scales L*
// from 0…100, and a* and b* from −128…128, to [0, 1].
func lab(r, g, b float64) (l, a, bb float64) {
	fx := labRoot((0.412453*r + 0.357580*g + 0.180423*b) / 0.950456)
	fy := labRoot(0.212671*r + 0.715160*g + 0.072169*b)
	fz := labRoot((0.019334*r + 0.119193*g + 0.950227*b) / 1.088754)
	// Greys lie exactly on the edge between two bins of a* and of b*. Adding
	// tiny prevents rounding from moving them to the lower bin.
	const tiny = 1e-9
	return (116*fy - 16) / 100, (500*(fx-fy)+128)/256 + tiny, (200*(fy-fz)+128)/256 + tiny
}

func labRoot(t float64) float64 {
	const threshold, slope = 216.0 / 24389, 24389.0 / 27
	if t > threshold {
		return math.Cbrt(t)
	}
	return (slope*t + 16) / 116
}
