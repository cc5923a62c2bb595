package decode

import "math"

// This file computes the means of the cells (squares) of a block.
//
// The inverse cosine transform computes the 8×8 samples of a block from its
// coefficients F. On each axis, the sample at x is Σ_u
// a(u)·F(u)·cos((2x+1)uπ/16), where a(0) = 1/√8 and a(u) = 1/2 for u > 0. A
// block has k cells per axis, each with m = 8/k samples. Over the samples of
// cell j, the mean of the cosine is
//
//	g(u)·cos((2j+1)uπ/2k),   g(u) = sin(muπ/16) / (m·sin(uπ/16))
//
// This is a basis function of the k-point transform, with frequency u or, for u
// > k, with its alias frequency and a sign. Each coefficient is therefore
// weighted and added to one of k×k sums, and a k-point transform turns the sums
// into cells. The result equals the mean of the samples of the 8-point
// transform.

var zigzag = [64]int{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

const foldBits = 13 // fractional bits of sums and cosines

type folding struct {
	kx, ky int
	ready  bool
	// weight holds the weight of each coefficient times its quantisation step,
	// in zigzag order, with foldBits fractional bits.
	weight [64]int32
	// sumIndex holds the index of each coefficient's sum in the same order.
	sumIndex [64]uint8
}

func (f *folding) size() int { return f.kx * f.ky }

func (f *folding) prepare(steps *[64]int32) {
	for i, at := range zigzag {
		px, wx := foldAxis(f.kx, at%8)
		py, wy := foldAxis(f.ky, at/8)
		f.sumIndex[i] = uint8(py*f.kx + px)
		f.weight[i] = int32(math.RoundToEven(wx * wy * float64(steps[i]) * (1 << foldBits)))
	}
	f.ready = true
}

func foldAxis(k, u int) (frequency int, weight float64) {
	if u == 0 {
		return 0, 1 / math.Sqrt(8)
	}
	m := 8 / k
	angle := float64(u) * math.Pi / 16
	weight = 0.5 * math.Sin(float64(m)*angle) / (float64(m) * math.Sin(angle))
	f := u % (4 * k)
	if f > 2*k {
		f = 4*k - f
	}
	if f > k {
		f, weight = 2*k-f, -weight
	}
	switch {
	case f == k: // this cosine is zero at the centre of every cell
		return 0, 0
	case k == 2 && f == 1: // both points share one cosine, included in the weight
		weight *= math.Sqrt2 / 2
	}
	return f, weight
}

func (c *jpegComponent) write(sums []int32, bx, by int) {
	kx, ky := c.fold.kx, c.fold.ky
	out := c.plane[by*ky*c.stride+bx*kx:]
	switch {
	case kx == 1 && ky == 1:
		out[0] = foldedByte(int64(sums[0]))
	case kx == 2 && ky == 2:
		a, b, p, q := int64(sums[0]), int64(sums[1]), int64(sums[2]), int64(sums[3])
		out[0], out[1] = foldedByte(a+b+p+q), foldedByte(a-b+p-q)
		out = out[c.stride:]
		out[0], out[1] = foldedByte(a+b-p-q), foldedByte(a-b-p+q)
	default:
		var x [64]int64
		for i, s := range sums {
			x[i] = int64(s)
		}
		for row := range ky {
			unfold(kx, x[row*kx:], 1)
		}
		for col := range kx {
			unfold(ky, x[col:], kx)
		}
		for row := range ky {
			line := out[row*c.stride:][:kx]
			for col := range line {
				line[col] = foldedByte(x[row*kx+col])
			}
		}
	}
}

func foldedByte(v int64) byte {
	v = (v+1<<(foldBits-1))>>foldBits + 128
	return byte(min(max(v, 0), 255))
}

// foldCosines[i][f][j] is cos((2j+1)fπ/2k) in fixed point, for k = 4 and 8 and
// the first half of the cells. In the second half, odd f have the opposite
// sign.
var foldCosines = func() (t [2][8][4]int64) {
	for i, k := range [2]int{4, 8} {
		for f := range k {
			for j := range k / 2 {
				t[i][f][j] = int64(math.RoundToEven(math.Cos(float64((2*j+1)*f)*math.Pi/float64(2*k)) * (1 << foldBits)))
			}
		}
	}
	return t
}()

// unfold transforms k sums to cells. Even frequencies are symmetric about the
// middle and odd ones antisymmetric, so each product is used for two cells.
func unfold(k int, x []int64, stride int) {
	if k == 1 {
		return
	}
	if k == 2 {
		x[0], x[stride] = x[0]+x[stride], x[0]-x[stride]
		return
	}
	var in [8]int64
	for f := range k {
		in[f] = x[f*stride]
	}
	t := &foldCosines[k/8]
	for j := range k / 2 {
		even, odd := in[0]<<foldBits+1<<(foldBits-1), int64(0)
		for f := 1; f < k; f += 2 {
			odd += in[f] * t[f][j]
		}
		for f := 2; f < k; f += 2 {
			even += in[f] * t[f][j]
		}
		x[j*stride], x[(k-1-j)*stride] = (even+odd)>>foldBits, (even-odd)>>foldBits
	}
}
