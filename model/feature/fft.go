package feature

import "cpar/internal/fourier"

const (
	fftSide  = 192 // = 4·4·4·3
	fftLanes = fourier.Lanes
)

// An fft transforms the rows and columns of an fftSide² matrix, fftLanes at a
// time.
type fft struct{ *fourier.FFT }

func newFFT() *fft { return &fft{fourier.New(4, 4, 4, 3)} }

// rows transforms the first filled rows of a square matrix in place.
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

// columns transforms all columns of a square matrix in place.
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
