package f32

// packLeft packs m rows of k values, lda apart, strip by strip. In a strip, the
// values of one column are adjacent.
func (l level) packLeft(dst, a []float32, lda, m, k int) {
	s := stripsOf(m, l.tiling().rows)
	for i := range s.count {
		first, rows := s.part(i)
		l.across(dst[first*k:][:rows*k], a[first*lda:], lda, rows, k, rows)
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
func (l level) packRightTransposed(dst, b []float32, ldb, n, k int) {
	t := l.tiling()
	for j := 0; j < n; j += t.width() {
		wide := min(t.width(), n-j)
		whole := roundUp(wide, t.lanes)
		to := dst[j*k:][:whole*k]
		if whole > wide {
			clear(to)
		}
		l.across(to, b[j*ldb:], ldb, wide, k, whole)
	}
}

// across is packAcross with the level's kernel for blocks of 4×8 values.
func (l level) across(dst, from []float32, lda, rows, k, ld int) {
	blocks := k / 8
	if kernel := levels[l].across; kernel == nil || rows < 4 {
		blocks = 0
	} else if blocks > 0 {
		checkMatrix("a", from, lda, rows, k)
		checkMatrix("packed a", dst, ld, k, rows)
		for r := 0; r < rows; r += 4 {
			r := min(r, rows-4) // the last block may overlap the one before
			kernel(&dst[r], &from[r*lda], 4*ld, 4*lda, blocks)
		}
	}
	packAcross(dst[min(8*blocks*ld, len(dst)):], from[8*blocks:], lda, rows, k-8*blocks, ld)
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
