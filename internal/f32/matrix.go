package f32

import (
	"fmt"
	"math"
)

// A tile describes one kernel call. It multiplies a strip of packed a, k deep
// and `rows` wide, by a strip of b, k deep and vectors·lanes wide.
type tile struct {
	k, rows, vectors   int
	a, b               []float32
	ldb                int // distance between the rows of b
	ahead, pace        int // distances to the next values of b to fetch, and between them, in bytes
	c                  []float32
	ldc                int
	from               []float32 // the product is added to these values
	step               int       // distance between the rows in `from`, or oneEach for one value per row
	lo, hi             float32
	columns            int       // number of further columns, for a cornerKernel
	x, moreC, moreFrom []float32 // their values of b, c and `from`
}

const oneEach = -1

// A start selects the values that a product is added to.
type start int

const (
	nothing start = iota
	itself        // the values in c
	eachRow       // the bias, one value per row
	eachColumn
)

var zeros [64]float32

var infinity = float32(math.Inf(1))

// A block describes the product of a packed m×k and a k×n block. The product is
// written to c.
type block struct {
	tiling
	level   level
	a, b    []float32
	ldb     int // distance between the rows of b, or 0 if b is packed
	m, n, k int
	c       []float32
	ldc     int
	start   start
	bias    []float32
	lo, hi  float32
	own     []float32 // memory for a tile that extends beyond c
	columns int       // number of further columns
	column  []float32 // these columns of b, packed, or nil
	at      int       // first column of the tile that also multiplies them
	end     int       // column of c where they begin
}

// begin returns block number `depth` of a product that is cut along k. Only the
// first block adds the bias of e, and only the last block clips.
func (l level) begin(c []float32, ldc int, e *Epilogue, biasFor start, depth, depths int, own []float32) block {
	p := block{tiling: l.tiling(), level: l, c: c, ldc: ldc, lo: -infinity, hi: infinity, own: own}
	switch {
	case depth > 0:
		p.start = itself
	case e != nil && e.Bias != nil:
		p.start, p.bias = biasFor, e.Bias
	}
	if e != nil && e.Clip && depth == depths-1 {
		p.lo, p.hi = e.Lo, e.Hi
	}
	return p
}

// multiply computes the block with the strips of a in the inner loop. A strip
// of b then stays in the first-level cache, and the strips of a stay in the
// second. Each strip of a fetches a share of the next strip of b, because bursts
// would delay all loads.
func (p *block) multiply() {
	s, width := stripsOf(p.m, p.rows), p.width()
	group := max(1, blockRows/p.rows)
	if p.k <= 96 {
		group = 1 // writing c takes longest, and is faster row by row
	}
	for first := 0; first < s.count; first += group {
		last := min(first+group, s.count)
		for j := 0; j < p.n; j += width {
			wide := min(width, p.n-j)
			t := tile{k: p.k, vectors: (wide + p.lanes - 1) / p.lanes, lo: p.lo, hi: p.hi}
			whole := t.vectors * p.lanes
			t.b, t.ldb, t.pace = p.b[j:], p.ldb, 4*p.ldb
			ahead, apart := width, p.lanes
			if p.ldb == 0 {
				t.b, t.ldb, t.pace = p.b[j*p.k:][:whole*p.k], whole, max(1, 4*whole/(last-first))
				ahead, apart = whole*p.k, t.pace*p.k/4
			}
			for i := first; i < last; i++ {
				var row int
				row, t.rows = s.part(i)
				t.a = p.a[row*p.k:][:t.rows*p.k]
				if t.columns = 0; p.columns > 0 && j == p.at && levels[p.level].column == nil {
					p.corner(&t, row)
				}
				t.ahead = 4 * (ahead + (i-first)*apart)
				if whole > wide {
					p.edge(&t, row, j, wide, whole)
				} else {
					p.inner(&t, row, j)
				}
			}
		}
		if p.columns > 0 && levels[p.level].column != nil {
			p.oneColumn(s, first, last)
		}
	}
}

func (p *block) corner(t *tile, i int) {
	t.columns, t.x, t.moreC, t.moreFrom = p.columns, p.column, p.c[i*p.ldc+p.end:], zeros[:]
	if p.start == itself {
		t.moreFrom = t.moreC
	}
}

// oneColumn multiplies strips of a by p.column, eight at a time if they are
// equally high.
func (p *block) oneColumn(s strips, h, last int) {
	sums := p.own[:8*p.lanes]
	for many, apart := 0, 0; h < last; h += many {
		row, high := s.part(h)
		many, apart = 1, 0
		if _, same := s.part(h + 7); h+8 <= last && same == high {
			many, apart = 8, high
		}
		c := p.c[row*p.ldc+p.n:]
		at := func(i int) int { return i/high*p.lanes + i%high }
		clear(sums)
		for i := range many * high {
			switch p.start {
			case itself:
				sums[at(i)] = c[i*p.ldc]
			case eachRow:
				sums[at(i)] = p.bias[row+i]
			}
		}
		levels[p.level].column(p.k, &p.a[row*p.k], 4*apart*p.k, 4*high, &p.column[0], &sums[0])
		for i := range many * high {
			c[i*p.ldc] = clip(sums[at(i)], p.lo, p.hi)
		}
	}
}

// inner computes the tile at row i and column j, which lies entirely inside c.
func (p *block) inner(t *tile, i, j int) {
	t.c, t.ldc = p.c[i*p.ldc+j:], p.ldc
	switch p.start {
	case nothing:
		t.from, t.step = zeros[:], 0
	case itself:
		t.from, t.step = t.c, t.ldc
	case eachRow:
		t.from, t.step = p.bias[i:], oneEach
	case eachColumn:
		t.from, t.step = p.bias[j:], 0
	}
	p.level.tile(t)
}

// edge computes a tile that extends beyond c. It uses p.own, padded to whole
// columns, and copies the first columns to c.
func (p *block) edge(t *tile, i, j, wide, whole int) {
	own, c := p.own[:t.rows*whole], p.c[i*p.ldc+j:]
	t.c, t.ldc = own, whole
	switch p.start {
	case nothing:
		t.from, t.step = zeros[:], 0
	case itself:
		for r := range t.rows {
			copy(own[r*whole:][:wide], c[r*p.ldc:])
		}
		t.from, t.step = own, whole
	case eachRow:
		t.from, t.step = p.bias[i:], oneEach
	case eachColumn:
		t.from, t.step = p.own[len(own):][:whole], 0
		copy(t.from[:wide], p.bias[j:])
	}
	p.level.tile(t)
	for r := range t.rows {
		copy(c[r*p.ldc:][:wide], own[r*whole:])
	}
}

func (t tiling) ownTile() int { return (t.rows + 1) * t.width() }

// checkMatrix panics unless x holds m rows of n values, ld apart, because
// kernels do not check bounds.
func checkMatrix[T float32 | float64](name string, x []T, ld, m, n int) {
	if m < 1 || n < 1 || ld < n || (m-1)*ld+n > len(x) {
		panic(fmt.Sprintf("f32: %s has %d values, too few for %d rows of %d, %d apart", name, len(x), m, n, ld))
	}
}

// checkRight checks the k×n matrix b, or its transpose.
func checkRight[T float32 | float64](b []T, ldb, k, n int, trans bool) {
	if trans {
		k, n = n, k
	}
	checkMatrix("b", b, ldb, k, n)
}

func checkBias(e *Epilogue, n int) {
	if e != nil && e.Bias != nil && len(e.Bias) != n {
		panic(fmt.Sprintf("f32: a bias of %d values, want %d", len(e.Bias), n))
	}
}
