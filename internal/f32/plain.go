package f32

// This file defines the kernels in plain Go, which also run on processors
// without suitable vector instructions.

// tilePlain sets rows×vectors·lanes values of c to from + aᵀ·b, within lo and hi.
func tilePlain(t *tile, lanes int) {
	wide := t.vectors * lanes
	if t.rows == 4 && wide == 4 {
		tile4x4(t)
		return
	}
	for r := range t.rows {
		for j := range wide {
			sum := t.begin(r, j)
			for i := range t.k {
				sum += t.a[i*t.rows+r] * t.b[i*t.ldb+j]
			}
			t.c[r*t.ldc+j] = clip(sum, t.lo, t.hi)
		}
	}
}

// begin returns the value to which the product in row r, column j is added.
func (t *tile) begin(r, j int) float32 {
	if t.step == oneEach {
		return t.from[r]
	}
	return t.from[r*t.step+j]
}

// tile4x4 keeps sixteen sums in registers.
func tile4x4(t *tile) {
	var s [4][4]float32
	for r := range s {
		for j := range s[r] {
			s[r][j] = t.begin(r, j)
		}
	}
	s00, s01, s02, s03 := s[0][0], s[0][1], s[0][2], s[0][3]
	s10, s11, s12, s13 := s[1][0], s[1][1], s[1][2], s[1][3]
	s20, s21, s22, s23 := s[2][0], s[2][1], s[2][2], s[2][3]
	s30, s31, s32, s33 := s[3][0], s[3][1], s[3][2], s[3][3]
	for i := range t.k {
		a, b := t.a[4*i:][:4], t.b[i*t.ldb:][:4]
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		x := a[0]
		s00, s01, s02, s03 = s00+x*b0, s01+x*b1, s02+x*b2, s03+x*b3
		x = a[1]
		s10, s11, s12, s13 = s10+x*b0, s11+x*b1, s12+x*b2, s13+x*b3
		x = a[2]
		s20, s21, s22, s23 = s20+x*b0, s21+x*b1, s22+x*b2, s23+x*b3
		x = a[3]
		s30, s31, s32, s33 = s30+x*b0, s31+x*b1, s32+x*b2, s33+x*b3
	}
	s = [4][4]float32{{s00, s01, s02, s03}, {s10, s11, s12, s13}, {s20, s21, s22, s23}, {s30, s31, s32, s33}}
	for r := range s {
		for j, v := range s[r] {
			t.c[r*t.ldc+j] = clip(v, t.lo, t.hi)
		}
	}
}

func clip(v, lo, hi float32) float32 {
	if v < lo {
		v = lo
	}
	if v > hi {
		v = hi
	}
	return v
}

func packPlain(dst, b []float32, offsets []int, wide int) {
	for i, o := range offsets {
		copy(dst[i*wide:][:wide], b[o:])
	}
}

func dotPlain(x, y []float32) float32 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float32
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i := range x {
		s0 += x[i] * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func axpyPlain(a float32, x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

func linePlain(out, in []float32, by, plus, lo, hi float32) {
	for i, v := range in {
		out[i] = clip(v*by+plus, lo, hi)
	}
}

func timesPlain(out, x, y []float32) {
	for i, v := range x {
		out[i] = v * y[i]
	}
}

func largerPlain(out, x, y []float32) {
	for i, v := range x {
		out[i] = max(v, y[i])
	}
}

func largestPlain(x []float32) float32 {
	top := -infinity
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	return top
}

func widenPlain(sum []float64, x []float32) {
	sum = sum[:len(x)]
	for i, v := range x {
		sum[i] += float64(v)
	}
}

func centrePlain(out, x []float32, mean []float64, scale float64) {
	mean, out = mean[:len(x)], out[:len(x)]
	for i, v := range x {
		out[i] = float32((float64(v) - mean[i]) * scale)
	}
}

// widePlain adds aᵀ·b, of packed a and b, to a tile of float64.
func widePlain(rows, k int, a, b, c []float64, ldc int) {
	wide := len(b) / k
	for i := range k {
		from := b[i*wide:][:wide]
		for r, x := range a[i*rows:][:rows] {
			to := c[r*ldc:][:wide]
			for j, y := range from {
				to[j] += x * y
			}
		}
	}
}
