package f32

import (
	"slices"
	"sync"
)

const (
	// wideColumns columns of b and packedRows rows of a are packed at once.
	// Blocks of wideRows rows stay in the second-level cache.
	wideColumns = 240 // whole tiles at every level
	packedRows  = 512
	wideRows    = 64
)

// scratches keeps the scratch memory of Mul64, because allocating it for each
// product would keep the garbage collector busy.
var scratches = sync.Pool{New: func() any { return new([]float64) }}

// Mul64 adds a·b to c for an m×k matrix a and a k×n matrix b. If transB is set,
// it adds a·bᵀ for an n×k matrix b. Rows are ldc, lda and ldb values apart.
// Products are added in the order of k, so a value of c does not depend on m, n
// or its position. c must not overlap a or b.
func Mul64[T float32 | float64](c []float64, ldc int, a []float64, lda int, b []T, ldb int, m, n, k int, transB bool) {
	mul64(c, ldc, a, lda, b, ldb, m, n, k, transB, false)
}

// Sub64 subtracts the product that Mul64 adds.
func Sub64[T float32 | float64](c []float64, ldc int, a []float64, lda int, b []T, ldb int, m, n, k int, transB bool) {
	mul64(c, ldc, a, lda, b, ldb, m, n, k, transB, true)
}

func mul64[T float32 | float64](c []float64, ldc int, a []float64, lda int, b []T, ldb int, m, n, k int, transB, minus bool) {
	checkMatrix("c", c, ldc, m, n)
	checkMatrix("a", a, lda, m, k)
	checkRight(b, ldb, k, n, transB)
	p := wideBlock{tiling: active.tiling(), level: active}
	own, depth := p.wideRows*p.wideWidth, min(k, maxDepth)
	left, right := min(m, packedRows)*depth, min(roundUp(n, p.wideWidth), wideColumns)*depth
	scratch := scratches.Get().(*[]float64)
	defer scratches.Put(scratch)
	*scratch = slices.Grow((*scratch)[:0], own+left+right)
	p.own, p.a, p.b = (*scratch)[:own:own], (*scratch)[own:own+left], (*scratch)[own+left:own+left+right]
	for top := 0; top < m; top += packedRows {
		high := min(packedRows, m-top)
		for first := 0; first < k; first += maxDepth {
			p.k = min(maxDepth, k-first)
			p.packLeft(a[top*lda+first:], lda, high)
			for j := 0; j < n; j += wideColumns {
				wide := min(wideColumns, n-j)
				if transB {
					packWide(&p, b[j*ldb+first:], ldb, wide, true)
				} else {
					packWide(&p, b[first*ldb+j:], ldb, wide, false)
				}
				if minus {
					for i, v := range p.b[:roundUp(wide, p.wideWidth)*p.k] {
						p.b[i] = -v
					}
				}
				for i := 0; i < high; i += wideRows {
					p.multiply(c[(top+i)*ldc+j:], ldc, p.a[i*p.k:], min(wideRows, high-i), wide)
				}
			}
		}
	}
}

type wideBlock struct {
	tiling
	level     level
	a, b, own []float64
	k         int
}

// packWide packs n columns of b in tile-wide strips, the last one zero-padded.
func packWide[T float32 | float64](p *wideBlock, b []T, ldb, n int, transB bool) {
	for j := 0; j < n; j += p.wideWidth {
		wide := min(p.wideWidth, n-j)
		to := p.b[j*p.k:][:p.k*p.wideWidth]
		if wide < p.wideWidth {
			clear(to)
		}
		if transB {
			packAcross(to, b[j*ldb:], ldb, wide, p.k, p.wideWidth)
			continue
		}
		if b, same := any(b).([]float64); same {
			for i := range p.k {
				copy(to[i*p.wideWidth:], b[i*ldb+j:][:wide])
			}
			continue
		}
		for i := range p.k {
			for q, v := range b[i*ldb+j:][:wide] {
				to[i*p.wideWidth+q] = float64(v)
			}
		}
	}
}

// packLeft packs m rows of a, block by block.
func (p *wideBlock) packLeft(a []float64, lda, m int) {
	for block := 0; block < m; block += wideRows {
		s := stripsOf(min(wideRows, m-block), p.wideRows)
		for i := range s.count {
			first, rows := s.part(i)
			packAcross(p.a[(block+first)*p.k:][:rows*p.k], a[(block+first)*lda:], lda, rows, p.k, rows)
		}
	}
}

// multiply adds the product of m packed rows and n packed columns to c.
func (p *wideBlock) multiply(c []float64, ldc int, a []float64, m, n int) {
	s := stripsOf(m, p.wideRows)
	for j := 0; j < n; j += p.wideWidth {
		wide := min(p.wideWidth, n-j)
		b := p.b[j*p.k:][:p.k*p.wideWidth]
		for i := range s.count {
			first, rows := s.part(i)
			packed, to := a[first*p.k:][:rows*p.k], c[first*ldc+j:]
			if wide == p.wideWidth {
				p.level.wide(rows, p.k, packed, b, to, ldc)
				continue
			}
			for r := range rows {
				copy(p.own[r*p.wideWidth:][:wide], to[r*ldc:])
			}
			p.level.wide(rows, p.k, packed, b, p.own, p.wideWidth)
			for r := range rows {
				copy(to[r*ldc:][:wide], p.own[r*p.wideWidth:])
			}
		}
	}
}
