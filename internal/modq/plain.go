package modq

// This file defines the kernels in plain Go, which also run on processors
// without suitable vector instructions.

// DotGeneric implements Dot in plain Go, for comparisons. Four separate sums
// halve its time.
func DotGeneric(a, b []uint64) uint64 {
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

func axpyPlain(alpha uint64, x, y []uint64) {
	y = y[:len(x)]
	for i, w := range x {
		y[i] += alpha * w
	}
}

func sumPlain(x []uint64) (s uint64) {
	for _, w := range x {
		s += w
	}
	return s
}

func dotLanesPlain(sum *[Lanes]uint64, row, x []uint64) {
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

func rowsPlain(dst, matrix, x []uint64) {
	for i := range dst {
		dst[i] = DotGeneric(matrix[i*len(x):(i+1)*len(x)], x)
	}
}

func gatherPlain(dst []uint64, rows [][]uint64, x []uint64) {
	for i, row := range rows {
		dst[i] = DotGeneric(x, row)
	}
}

// tilePlain computes products by their definition and ignores sums of pairs.
func tilePlain(dst *Block, rows *[TileRows][]uint64, groups []Group) {
	for g, group := range groups {
		for q, row := range rows {
			var sum [Lanes]uint64
			dotLanesPlain(&sum, row, group.X)
			dst[g][q] = sum
		}
	}
}
