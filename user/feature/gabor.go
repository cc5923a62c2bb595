package feature

import (
	"math"
	"sync"
)

const (
	gaborSide   = 128 // of the grey image
	gaborBlocks = 8   // blocks a side
	gaborBlock  = gaborSide / gaborBlocks
	gaborAspect = 0.5
	gaborLevels = 8 // of quantised phase

	// gaborNoise is far above what float64 leaves of a response that is zero
	// (below 1e-13) and far below what one grey level makes (above 1e-5).
	gaborNoise = 1e-11
)

// gaborWavelengths are the three scales, in pixels.
var gaborWavelengths = [3]float64{4, 8, 16}

// gaborKernel is cv2.getGaborKernel at offset (dx, dy) from the anchor, real
// part (ψ = 0) and imaginary part (ψ = π/2), before the real part loses its
// mean. OpenCV fills the kernel back to front, which only turns the sign of the
// odd part, and filter2D correlates.
func gaborKernel(wavelength float64, orientation, dx, dy int) (re, im float64) {
	sigma := wavelength / 2
	sin, cos := math.Sincos(float64(orientation) * math.Pi / 4)
	x := float64(dx)*cos + float64(dy)*sin
	y := -float64(dx)*sin + float64(dy)*cos
	envelope := math.Exp(-0.5 * (x*x + gaborAspect*gaborAspect*y*y) / (sigma * sigma))
	im, re = math.Sincos(2 * math.Pi / wavelength * x)
	return envelope * re, envelope * im
}

// gaborHalf is the reach of a kernel to each side: 3σ, so sides of 13, 25, 49.
func gaborHalf(wavelength float64) int { return int(3*wavelength) / 2 }

// A gaborScale holds what the four kernels of a wavelength come to; it never
// changes once made.
type gaborScale struct {
	half    int          // reach of the kernels to each side
	side    int          // of the transform, ≥ 128 + 2·half
	spectra [4][]float64 // transfer function of each orientation, side², real
	cut     *gaborCut
}

// gaborScales are made when the first picture asks for them: 3 MB, 20 ms. The
// sides of the transforms are the quickest among those that fit.
var gaborScales = sync.OnceValue(func() (scales [3]*gaborScale) {
	for i, side := range [3]int{144, 160, 180} {
		wavelength := gaborWavelengths[i]
		g := &gaborScale{half: gaborHalf(wavelength), side: side, cut: newGaborCut(wavelength, side)}
		for o := range g.spectra {
			g.spectra[o] = gaborSpectrum(wavelength, o, g.half, side)
		}
		scales[i] = g
	}
	return scales
})

// gaborSpace is the workspace of one goroutine.
type gaborSpace struct {
	padded     []float64             // the image with its borders reflected
	re, im     []float64             // 128×128 responses
	fft        [3]*spectral          // one a scale
	cut        [2][gaborSide]float64 // signs for the first and the last line
	mag, phase [GaborDim]float64
}

func newGaborSpace() *gaborSpace {
	widest := gaborSide + 2*gaborHalf(gaborWavelengths[2])
	s := &gaborSpace{
		padded: make([]float64, widest*widest),
		re:     make([]float64, gaborSide*gaborSide),
		im:     make([]float64, gaborSide*gaborSide),
	}
	for i, g := range gaborScales() {
		s.fft[i] = newSpectral(g.side)
	}
	return s
}

// respond writes magnitudes and quantised phases of a 128×128 grey image in
// [0, 1], averaged over the pixels of a block and the three scales.
func (s *gaborSpace) respond(grey []float64, magnitude, quantised []float32) {
	clear(s.mag[:])
	clear(s.phase[:])
	for i, g := range gaborScales() {
		stride := s.reflect(grey, g.half)
		s.fft[i].forward(s.padded, stride)
		for o, spectrum := range g.spectra {
			s.fft[i].filter(spectrum, g.half, s.re, s.im)
			s.settle(g.cut, s.fft[i], o)
			s.collect(o)
		}
	}
	const samples = 3 * gaborBlock * gaborBlock
	for i := range s.mag {
		magnitude[i] = float32(s.mag[i] / samples)
		level := math.Floor((s.phase[i]/samples + math.Pi) / (2 * math.Pi) * gaborLevels)
		quantised[i] = float32(min(max(level, 0), gaborLevels-1))
	}
}

// reflect pads by half on every side, mirrored about the border pixels
// (BORDER_REFLECT_101), and returns the padded side.
func (s *gaborSpace) reflect(grey []float64, half int) int {
	stride := gaborSide + 2*half
	for y := range stride {
		src := grey[reflect101(y-half)*gaborSide:][:gaborSide]
		dst := s.padded[y*stride:][:stride]
		for x := range half {
			dst[x] = src[reflect101(x-half)]
			dst[half+gaborSide+x] = src[reflect101(gaborSide+x)]
		}
		copy(dst[half:], src)
	}
	return stride
}

// reflect101 mirrors an index that is less than a side beyond the border.
func reflect101(i int) int {
	switch {
	case i < 0:
		return -i
	case i >= gaborSide:
		return 2*(gaborSide-1) - i
	}
	return i
}
