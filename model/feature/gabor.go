package feature

import (
	"math"
	"sync"

	"cpar/internal/fourier"
)

const (
	gaborSide   = 128
	gaborBlocks = 8
	gaborBlock  = gaborSide / gaborBlocks
	gaborAspect = 0.5
	gaborLevels = 8

	// The image is padded by reflection as far as the largest kernel reaches.
	gaborReach  = 24
	gaborPadded = gaborSide + 2*gaborReach

	// gaborNoise is far above the rounding error of a zero response (below
	// 1e-13) and far below the response to a difference of one grey level
	// (above 1e-5).
	gaborNoise = 1e-11
)

var gaborWavelengths = [3]float64{4, 8, 16}

// gaborKernel returns the value of a complex Gabor kernel at offset (dx, dy)
// from its centre. The real part equals OpenCV's cv2.getGaborKernel with phase
// offset ψ = 0, and the imaginary part equals it with ψ = π/2. OpenCV fills the
// kernel back to front, which only negates the imaginary part, an odd function.
func gaborKernel(wavelength float64, orientation, dx, dy int) (re, im float64) {
	sigma := wavelength / 2
	sin, cos := math.Sincos(float64(orientation) * math.Pi / 4)
	x := float64(dx)*cos + float64(dy)*sin
	y := -float64(dx)*sin + float64(dy)*cos
	envelope := math.Exp(-0.5 * (x*x + gaborAspect*gaborAspect*y*y) / (sigma * sigma))
	im, re = math.Sincos(2 * math.Pi / wavelength * x)
	return envelope * re, envelope * im
}

// gaborHalf returns the pixels from a kernel's centre to its edge, 3σ.
func gaborHalf(wavelength float64) int { return int(3*wavelength) / 2 }

// gaborSpectrum returns the transfer function (the Fourier transform) of a
// kernel after subtracting the mean of the kernel's real part. Its fftSide²
// values are divided by fftSide², because the inverse transform in filter does
// not divide. The values are real, because a kernel k is conjugate-symmetric
// about its centre: k(−d) = conj k(d).
func gaborSpectrum(f *fft, wavelength float64, orientation int) []float64 {
	const n = fftSide
	half := gaborHalf(wavelength)
	kernel := make([]complex128, n*n)
	mean := 0.0
	for dy := -half; dy <= half; dy++ {
		for dx := -half; dx <= half; dx++ {
			re, im := gaborKernel(wavelength, orientation, dx, dy)
			kernel[(dy+n)%n*n+(dx+n)%n] = complex(re, im)
			mean += re
		}
	}
	mean /= float64((2*half + 1) * (2*half + 1))
	for dy := -half; dy <= half; dy++ {
		for dx := -half; dx <= half; dx++ {
			kernel[(dy+n)%n*n+(dx+n)%n] -= complex(mean, 0)
		}
	}
	f.rows(kernel, n)
	f.columns(kernel)
	spectrum := make([]float64, n*n)
	for i, c := range kernel {
		spectrum[i] = real(c) / (n * n)
	}
	return spectrum
}

// gaborSpectra returns all transfer functions by scale and orientation, 3.5 MB.
var gaborSpectra = sync.OnceValue(func() (spectra [3][4][]float64) {
	f := newFFT()
	for i, wavelength := range gaborWavelengths {
		for o := range spectra[i] {
			spectra[i][o] = gaborSpectrum(f, wavelength, o)
		}
	}
	return spectra
})

type gaborScratch struct {
	fft        *fft
	image      []complex128 // fftSide²: the padded image, then its spectrum
	rows       []complex128 // 128 filtered rows of fftSide pixels, of which collect uses 128 each
	mag, phase [GaborDim]float64
}

func newGaborScratch() *gaborScratch {
	return &gaborScratch{
		fft:   newFFT(),
		image: make([]complex128, fftSide*fftSide),
		rows:  make([]complex128, gaborSide*fftSide),
	}
}

// respond writes the mean magnitudes and the quantised mean phases of the Gabor
// responses to a 128×128 grey image in [0, 1]. Each mean is over one block and
// the three scales.
func (s *gaborScratch) respond(grey []float64, magnitude, quantised []float32) {
	clear(s.mag[:])
	clear(s.phase[:])
	s.transform(grey)
	for _, scale := range gaborSpectra() {
		for o, spectrum := range scale {
			s.filter(spectrum)
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

// transform computes the spectrum of a grey image. It pads the image by
// mirroring it about its border pixels (OpenCV's BORDER_REFLECT_101) and fills
// the rest of the matrix with zeros.
func (s *gaborScratch) transform(grey []float64) {
	clear(s.image)
	for y := range gaborPadded {
		src := grey[reflect101(y-gaborReach)*gaborSide:][:gaborSide]
		dst := s.image[y*fftSide:][:gaborPadded]
		for x := range dst {
			dst[x] = complex(src[reflect101(x-gaborReach)], 0)
		}
	}
	s.fft.rows(s.image, gaborPadded)
	s.fft.columns(s.image)
	// The FFT above used e^{+iω}. For a real image, the conjugates of its
	// results are the transform with e^{−iω}. The FFT in filter, again with
	// e^{+iω}, is the inverse of that transform.
	for i, c := range s.image {
		s.image[i] = complex(real(c), -imag(c))
	}
}

func reflect101(i int) int {
	switch {
	case i < 0:
		return -i
	case i >= gaborSide:
		return 2*(gaborSide-1) - i
	}
	return i
}

// filter multiplies the image's spectrum by a kernel's transfer function and
// applies the inverse transform. It stores the rows of the image without the
// padding.
func (s *gaborScratch) filter(spectrum []float64) {
	const n = fftSide
	for u := 0; u < n; u += fftLanes {
		fourier.ScaleLanes(s.fft.Input(), s.image[u:], spectrum[u:], n)
		out := s.fft.Run()[fftLanes*gaborReach:]
		for y := range gaborSide {
			copy(s.rows[y*n+u:][:fftLanes], out[fftLanes*y:][:fftLanes])
		}
	}
	s.fft.rows(s.rows, gaborSide)
}

const (
	fftSide  = 192 // = 4·4·4·3, the radices of the FFT
	fftLanes = fourier.Lanes
)

type fft struct{ *fourier.FFT }

func newFFT() *fft { return &fft{fourier.New(4, 4, 4, 3)} }

func (f *fft) rows(matrix []complex128, filled int) {
	const n = fftSide
	for ; filled > 0; filled -= fftLanes {
		r0, r1, r2, r3 := matrix[:n], matrix[n:][:n], matrix[2*n:][:n], matrix[3*n:][:n]
		in := f.Input()
		for x := range r0 {
			lanes := in[fftLanes*x:][:fftLanes]
			lanes[0], lanes[1], lanes[2], lanes[3] = r0[x], r1[x], r2[x], r3[x]
		}
		out := f.Run()
		for x := range r0 {
			lanes := out[fftLanes*x:][:fftLanes]
			r0[x], r1[x], r2[x], r3[x] = lanes[0], lanes[1], lanes[2], lanes[3]
		}
		matrix = matrix[fftLanes*n:]
	}
}

func (f *fft) columns(matrix []complex128) {
	const n = fftSide
	for u := 0; u < n; u += fftLanes {
		in := f.Input()
		for v := range n {
			copy(in[fftLanes*v:][:fftLanes], matrix[v*n+u:][:fftLanes])
		}
		out := f.Run()
		for v := range n {
			copy(matrix[v*n+u:][:fftLanes], out[fftLanes*v:][:fftLanes])
		}
	}
}

func (s *gaborScratch) collect(orientation int) {
	for y := range gaborSide {
		base := (orientation*gaborBlocks + y/gaborBlock) * gaborBlocks
		for b := range gaborBlocks {
			m, p := blockRow((*[gaborBlock]complex128)(s.rows[y*fftSide+gaborReach+b*gaborBlock:]))
			s.mag[base+b] += m
			s.phase[base+b] += p
		}
	}
}

// blockRow returns the sum of the magnitudes and the sum of the angles (in
// radians) of sixteen responses. The angle of a product of complex numbers
// equals the sum of the factors' angles, up to whole turns, and turnsLost
// counts those turns. Eight pixels therefore share one arctangent.
//
// The computed angle of a response with a negative real part and only noise as
// imaginary part could be +π or −π. It counts as 0, the mean of the two. A
// response of only noise also counts as 0, because noise differs between
// machines. For these reasons gaborq differs from OpenCV's results, mostly in
// border blocks.
func blockRow(responses *[gaborBlock]complex128) (magnitude, angle float64) {
	const run = 8 // the smallest product, (1e-11)⁸, is well within float64's range
	turns := 0
	for start := 0; start < gaborBlock; start += run {
		pr, pi := 1.0, 0.0
		for k := start; k < start+run; k++ {
			a, b := real(responses[k]), imag(responses[k])
			magnitude += math.Sqrt(a*a + b*b)
			if a < gaborNoise && math.Abs(b) < gaborNoise {
				continue
			}
			qr, qi := pr*a-pi*b, pr*b+pi*a
			turns += turnsLost(pi, b, qi)
			pr, pi = qr, qi
		}
		angle += math.Atan2(pi, pr)
	}
	return magnitude, angle + 2*math.Pi*float64(turns)
}

// turnsLost returns the number of turns, −1 to 1, to add to a product's angle
// to obtain the sum of its factors' angles. Its parameters are the imaginary
// parts of the two factors and of the product. The sum exceeds π if both
// factors lie in the upper half-plane and the product lies in the lower. It is
// below −π if both factors lie in the lower half-plane and the product lies in
// the upper.
func turnsLost(a, b, product float64) int {
	sa, sb, sp := math.Float64bits(a)>>63, math.Float64bits(b)>>63, math.Float64bits(product)>>63
	return int(sp&^(sa|sb)) - int(sa&sb&^sp)
}
