package f32

// packLeft packs m rows of k values, lda apart, strip by strip. In a strip, the
// values of one column are adjacent.
func (t tiling) packLeft(dst, a []float32, lda, m, k int) {
	s := stripsOf(m, t.rows)
	for i := range s.count {
		first, rows := s.part(i)
		packAcross(dst[first*k:][:rows*k], a[first*lda:], lda, rows, k, rows)
	}
}

// packRight packs k rows of n values in tile-wide strips. The last strip is one
// or two registers wide, with undefined padding. Row i is at b[offsets[i]:].
func (l level) packRight(dst, b []float32, offsets []int, n int) {
	t, k := l.tiling(), len(offsets)
	furthest := 0
	for _, o := range offsets {
		furthest = max(furthest, o)
	}
	for j := 0; j < n; j += t.width() {
		wide := min(t.width(), n-j)
		whole := roundUp(wide, t.lanes)
		to := dst[j*k:][:whole*k]
		if furthest+j+whole <= len(b) { // the padding holds other values of b
			l.pack(to, b[j:], offsets, whole)
			continue
		}
		for i, o := range offsets {
			row := to[i*whole:][:whole]
			clear(row[copy(row, b[o+j:][:wide]):])
		}
	}
}

// packRightTransposed packs the first k columns of b, whose n rows are ldb
// apart, as packRight packs rows of bᵀ.
func (t tiling) packRightTransposed(dst, b []float32, ldb, n, k int) {
	for j := 0; j < n; j += t.width() {
		wide := min(t.width(), n-j)
		whole := roundUp(wide, t.lanes)
		to := dst[j*k:][:whole*k]
		if whole > wide {
			clear(to)
		}
		packAcross(to, b[j*ldb:], ldb, wide, k, whole)
	}
}

// packAcross writes rows of k values as columns of dst, whose rows are ld
// apart. Four rows at a time make its writes contiguous.
func packAcross[To, From float32 | float64](dst []To, from []From, lda, rows, k, ld int) {
	r := 0
	for ; r+4 <= rows; r += 4 {
		r0, r1 := from[r*lda:][:k], from[(r+1)*lda:][:k]
		r2, r3 := from[(r+2)*lda:][:k], from[(r+3)*lda:][:k]
		for i := range r0 {
			to := (*[4]To)(dst[i*ld+r:])
			to[0], to[1], to[2], to[3] = To(r0[i]), To(r1[i]), To(r2[i]), To(r3[i])
		}
	}
	for ; r < rows; r++ {
		for i, v := range from[r*lda:][:k] {
			dst[i*ld+r] = To(v)
		}
	}
}
