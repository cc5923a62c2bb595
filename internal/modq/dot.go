package modq

// Lanes is the number of vectors that DotLanes multiplies with one row.
const Lanes = 8

// Dot is Σ a[i]·b[i] modulo 2⁶⁴. b must not be shorter than a; what it has beyond
// len(a) is ignored.
//
// Four sums run side by side so that one multiplication need not wait for the
// addition before it; the plain loop takes twice as long.
func Dot(a, b []uint64) uint64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 uint64
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s0 += a[4] * b[4]
		s1 += a[5] * b[5]
		s2 += a[6] * b[6]
		s3 += a[7] * b[7]
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// Axpy adds alpha·x to y, element by element modulo 2⁶⁴. y must not be shorter
// than x; what it has beyond len(x) is left alone.
func Axpy(alpha uint64, x, y []uint64) {
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		y[0] += alpha * x[0]
		y[1] += alpha * x[1]
		y[2] += alpha * x[2]
		y[3] += alpha * x[3]
		x, y = x[4:], y[4:]
	}
	for i := range x {
		y[i] += alpha * x[i]
	}
}

// DotLanes adds to sum[l] the inner product of row and of lane l of x, where x
// holds Lanes vectors interleaved: element k of vector l is x[k·Lanes+l]. A
// matrix row is then read from memory once for all of them, which is what batch
// encryption lives on.
func DotLanes(sum *[Lanes]uint64, row, x []uint64) {
	s0, s1, s2, s3 := sum[0], sum[1], sum[2], sum[3]
	s4, s5, s6, s7 := sum[4], sum[5], sum[6], sum[7]
	for _, r := range row {
		v := (*[Lanes]uint64)(x)
		s0 += r * v[0]
		s1 += r * v[1]
		s2 += r * v[2]
		s3 += r * v[3]
		s4 += r * v[4]
		s5 += r * v[5]
		s6 += r * v[6]
		s7 += r * v[7]
		x = x[Lanes:]
	}
	*sum = [Lanes]uint64{s0, s1, s2, s3, s4, s5, s6, s7}
}
