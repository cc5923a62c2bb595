package f32

// Scratch returns the number of scratch values that Mul needs for matrices of
// up to these sizes.
func Scratch(m, n, k int) int {
	t := active.tiling()
	return (&Right{level: active, k: k}).Scratch(m) + min(roundUp(n, t.lanes), blockColumns)*k
}

// Mul sets c = a·b for an m×k matrix a and a k×n matrix b. If transB is set, it
// sets c = a·bᵀ for an n×k matrix b. Rows are lda, ldb and ldc values apart. c
// must not overlap a, b or `scratch`.
func Mul(c []float32, ldc int, a []float32, lda int, b []float32, ldb int, m, n, k int, transB bool, scratch []float32) {
	checkMatrix("c", c, ldc, m, n)
	checkRight(b, ldb, k, n, transB)
	step := 1
	if transB {
		step = ldb
	}
	packed, scratch := take(scratch, min(roundUp(n, active.tiling().lanes), blockColumns)*k)
	for j := 0; j < n; j += blockColumns {
		right := Right{active, k, min(blockColumns, n-j), packed}
		right.pack(b[j*step:], ldb, transB)
		right.Mul(c[j:], ldc, a, lda, m, nil, scratch)
	}
}

func take(scratch []float32, n int) (own, rest []float32) { return scratch[:n:n], scratch[n:] }

const maxDepth = 256

// A Left is a constant m×k matrix on the left of products, packed without
// padding: the weights of a convolution, one row per output channel.
type Left struct {
	level level
	m, k  int
	data  []float32 // packed block by block along k
}

func PackLeft(a []float32, lda, m, k int) *Left {
	checkMatrix("a", a, lda, m, k)
	t := active.tiling()
	l := &Left{active, m, k, make([]float32, m*k+t.lanes)} // products with remaining columns read whole registers
	depths := t.depths(k)
	for d := range depths.count {
		first, deep := depths.part(d)
		active.packLeft(l.data[first*m:], a[first:], lda, m, deep)
	}
	return l
}

// LeftScratch returns the number of scratch values that products of a Left with
// k columns and a matrix with n columns need.
func LeftScratch(n, k int) int {
	t := active.tiling()
	return t.ownTile() + t.few*k + min(roundUp(n, t.lanes), blockColumns)*min(k, t.depth)
}

func (l *Left) Mul(c []float32, ldc int, b []float32, ldb, n int, scratch []float32) {
	checkMatrix("b", b, ldb, l.k, n)
	offsets := make([]int, l.k)
	for i := range offsets {
		offsets[i] = i * ldb
	}
	l.product(c, ldc, b, offsets, ldb, n, nil, scratch)
}

// MulRows sets c = a·b with an optional epilogue. Row i of b is the n values
// that start at b[offsets[i]]. Rows may overlap, as the windows of an image do.
func (l *Left) MulRows(c []float32, ldc int, b []float32, offsets []int, n int, e *Epilogue, scratch []float32) {
	if len(offsets) != l.k {
		panic("f32: the number of offsets differs from the columns of the matrix")
	}
	ldb := l.level.tiling().lanes
	if l.k > 1 {
		ldb = offsets[1] - offsets[0]
	}
	for i, o := range offsets {
		checkMatrix("b", b[o:], n, 1, n)
		if o != offsets[0]+i*ldb {
			ldb = 0
		}
	}
	l.product(c, ldc, b, offsets, ldb, n, e, scratch)
}

// product reads b in place if its rows are ldb apart and consist of aligned
// registers. Reading other rows for each strip of a would cost more than packing
// them once. If the rows are not equally far apart, ldb is 0.
func (l *Left) product(c []float32, ldc int, b []float32, offsets []int, ldb, n int, e *Epilogue, scratch []float32) {
	checkMatrix("c", c, ldc, l.m, n)
	checkBias(e, l.m)
	t := l.level.tiling()
	few := n % t.lanes
	var column []float32 // the last columns of b, if a kernel multiplies them beside others
	width, at := 1, 0    // the distance between their rows, and the column of their tile
	if 0 < few && few <= t.few {
		n -= few
		alone, corners := levels[l.level].column != nil, levels[l.level].corners[0] != nil
		switch {
		case few == 1 && n > 0 && (alone || corners && n%t.width() != 0):
			at = n - t.lanes
		case few <= 4 && n >= t.width() && corners:
			width = 4
		default:
			l.fewColumns(c[n:], ldc, b[n:], offsets, few, e, scratch)
			few = 0
		}
		if few > 0 {
			column, scratch = take(scratch, l.k*width)
			for i, o := range offsets {
				for j, v := range b[o+n:][:few] {
					column[i*width+j] = v
				}
			}
		}
	}
	inPlace := ldb > 0 && (n|ldb|offsets[0])%t.lanes == 0
	own, right := take(scratch, t.ownTile())
	depths := t.depths(l.k)
	for j := 0; j < n; j += blockColumns {
		wide := min(blockColumns, n-j)
		for d := range depths.count {
			first, deep := depths.part(d)
			p := l.level.begin(c[j:], ldc, e, eachRow, d, depths.count, own)
			p.a, p.m, p.n, p.k = l.data[first*l.m:], l.m, wide, deep
			if inPlace {
				p.b, p.ldb = b[offsets[first]+j:], ldb
			} else {
				l.level.packRight(right, b[j:], offsets[first:][:deep], wide)
				p.b = right
			}
			if column != nil && j <= at && at < j+wide {
				p.column, p.columns, p.at, p.end = column[first*width:][:deep*width], few, at-j, n-j
			}
			p.multiply()
		}
	}
}

// A Right is a constant k×n matrix on the right of products, padded to a
// register's width: the weights of a linear layer, one column per output value.
type Right struct {
	level level
	k, n  int
	data  []float32
}

// PackRight packs k rows of n values, ldb apart. If `trans` is set, it packs
// the transpose of n rows of k values.
func PackRight(b []float32, ldb, k, n int, trans bool) *Right {
	checkRight(b, ldb, k, n, trans)
	r := &Right{active, k, n, make([]float32, k*roundUp(n, active.tiling().lanes))}
	r.pack(b, ldb, trans)
	return r
}

func (r *Right) pack(b []float32, ldb int, trans bool) {
	t := r.level.tiling()
	depths, padded := t.depths(r.k), roundUp(r.n, t.lanes)
	var offsets [maxDepth]int
	for d := range depths.count {
		first, deep := depths.part(d)
		to := r.data[first*padded:][:deep*padded]
		if trans {
			r.level.packRightTransposed(to, b[first:], ldb, r.n, deep)
			continue
		}
		for i := range deep {
			offsets[i] = i * ldb
		}
		r.level.packRight(to, b[first*ldb:], offsets[:deep], r.n)
	}
}

// rightRows is the number of rows of a that share one pass over a Right.
const rightRows = 256

func (r *Right) Scratch(m int) int {
	t := r.level.tiling()
	return t.ownTile() + min(m, rightRows)*min(r.k, t.depth)
}

// Mul sets c = a·b for the m×k matrix a, with an optional epilogue.
func (r *Right) Mul(c []float32, ldc int, a []float32, lda, m int, e *Epilogue, scratch []float32) {
	checkMatrix("c", c, ldc, m, r.n)
	checkMatrix("a", a, lda, m, r.k)
	checkBias(e, r.n)
	t := r.level.tiling()
	own, left := take(scratch, t.ownTile())
	padded := roundUp(r.n, t.lanes)
	depths, heights := t.depths(r.k), stripsOf(m, rightRows)
	for h := range heights.count {
		row, high := heights.part(h)
		for d := range depths.count {
			first, deep := depths.part(d)
			r.level.packLeft(left, a[row*lda+first:], lda, high, deep)
			p := r.level.begin(c[row*ldc:], ldc, e, eachColumn, d, depths.count, own)
			p.a, p.b, p.m, p.n, p.k = left, r.data[first*padded:], high, r.n, deep
			p.multiply()
		}
	}
}

// fewColumns multiplies at most t.few columns of b. Each of its registers holds
// rows of c, so that it computes no unneeded columns.
func (l *Left) fewColumns(c []float32, ldc int, b []float32, offsets []int, n int, e *Epilogue, scratch []float32) {
	t := l.level.tiling()
	own, columns := take(scratch, (n+1)*t.lanes)
	bias := own[n*t.lanes:]
	packPlain(columns, b, offsets, n)
	depths, heights := t.depths(l.k), stripsOf(l.m, t.rows)
	for h := range heights.count {
		row, high := heights.part(h)
		for d := range depths.count {
			first, deep := depths.part(d)
			p := l.level.begin(own, t.lanes, e, eachColumn, d, depths.count, nil)
			p.a, p.b, p.ldb = columns[first*n:], l.data[first*l.m+row*deep:], high
			p.m, p.n, p.k = n, t.lanes, deep
			if p.bias != nil {
				copy(bias, p.bias[row:][:high])
				p.bias = bias
			}
			p.multiply()
		}
		l.level.across(c[row*ldc:], own, t.lanes, n, high, ldc)
	}
}
