package pca

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

const (
	// panel is the number of products summed in float32 before they are added
	// to a float64.
	panel = 128
	// maxParts is the number of parts of X whose sums are kept apart. They are
	// added in order, so that no result depends on the number of cores. At most
	// maxParts cores take part.
	maxParts = 8
)

// multiply writes q·XᵀX, l × in, to z for the l rows of q. It centres a block of
// X only once, because the block stays in the cache for both products.
func (c *centred) multiply(ctx context.Context, z, q blas64.General) error {
	n, in, l := len(c.rows), len(c.mean), q.Rows
	narrow := make([]float32, l*in)
	for i := range l {
		for j, v := range row(q, i).Data {
			narrow[i*in+j] = float32(v)
		}
	}
	var directions []*f32.Right // one matrix of panel × l values per panel
	for k := 0; k < in; k += panel {
		directions = append(directions, f32.PackRight(narrow[k:], in, min(panel, in-k), l, true))
	}
	blocks := (n + panel - 1) / panel
	parts := min(maxParts, blocks)
	if len(c.sums) < parts*l*in {
		c.sums = make([]float64, parts*l*in)
	}
	err := parallel.Until(ctx, parts, func() func(int) {
		x, dots, p := make([]float32, panel*in), make([]float64, panel*l), make([]float32, l*panel)
		products := make([]float32, l*max(in, panel))
		scratch := make([]float32, max(directions[0].Scratch(panel), f32.LeftScratch(in, panel)))
		return func(part int) {
			sum := c.sums[part*l*in:][:l*in]
			clear(sum)
			for block := part * blocks / parts; block < (part+1)*blocks/parts; block++ {
				rows := c.rows[block*panel : min((block+1)*panel, n)]
				for r, values := range rows {
					f32.Centre(x[r*in:], values, c.mean, c.scale)
				}
				clear(dots)
				for k, d := range directions { // X·qᵀ
					d.Mul(products, l, x[k*panel:], in, len(rows), nil, scratch)
					f32.AddTo64(dots, products[:len(rows)*l])
				}
				for i := range l {
					for r := range rows {
						p[i*len(rows)+r] = float32(dots[r*l+i])
					}
				}
				f32.PackLeft(p, len(rows), l, len(rows)).Mul(products, in, x, in, in, scratch)
				f32.AddTo64(sum, products[:l*in])
			}
		}
	})
	if err != nil {
		return err
	}
	for i := range l {
		clear(row(z, i).Data)
		for part := range parts {
			blas64.Axpy(1, blas64.Vector{N: in, Inc: 1, Data: c.sums[(part*l+i)*in:]}, row(z, i))
		}
	}
	return nil
}

func matrix(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float64, rows*cols)}
}

func rowsOf(m blas64.General, start, end int) blas64.General {
	return blas64.General{Rows: end - start, Cols: m.Cols, Stride: m.Stride, Data: m.Data[start*m.Stride : end*m.Stride]}
}

const productCols = 120

func addProduct(c, a, b blas64.General, transB bool) {
	parallel.For((c.Cols+productCols-1)/productCols, func(task int) {
		start := task * productCols
		cols, from := min(productCols, c.Cols-start), b.Data[start:]
		if transB {
			from = b.Data[start*b.Stride:]
		}
		f32.Mul64(c.Data[start:], c.Stride, a.Data, a.Stride, from, b.Stride, c.Rows, cols, a.Cols, transB)
	})
}

type subspace struct {
	blas64.General
	rng *rand.Rand
}

func newSubspace(size, in int, rng *rand.Rand) *subspace {
	s := &subspace{General: matrix(size, in), rng: rng}
	s.Rows = 0
	return s
}

func (s *subspace) randomise(m blas64.General) {
	for i := range m.Data {
		m.Data[i] = s.rng.NormFloat64()
	}
}

// minRemainder is the share of a row's length up to which its part outside the
// space may be rounding error of float32 products.
const minRemainder = 1e-6

// extend adds the directions of the rows of m and overwrites m. Random
// directions replace rows that already lie in the space.
func (s *subspace) extend(m blas64.General) {
	before := make([]float64, m.Rows)
	for i := range before {
		before[i] = blas64.Nrm2(row(m, i))
	}
	start := s.Rows
	s.remove(m, 0, start)
	for i := range m.Rows {
		v := rowsOf(m, i, i+1)
		for norm := before[i]; !s.add(v, start, norm); norm = blas64.Nrm2(row(v, 0)) {
			s.randomise(v)
			s.remove(v, 0, start)
		}
	}
}

// remove subtracts from the rows of m their components along rows `start` to
// `end`−1 of the space. It subtracts twice, which suffices for orthogonality
// (Kahan, Parlett).
func (s *subspace) remove(m blas64.General, start, end int) {
	if start == end {
		return
	}
	known := rowsOf(s.General, start, end)
	for range 2 {
		inner := matrix(m.Rows, known.Rows)
		addProduct(inner, m, known, true)
		for i := range inner.Data {
			inner.Data[i] = -inner.Data[i]
		}
		addProduct(m, inner, known, false)
	}
}

// add adds the direction of the single row of v, which is already orthogonal to
// the rows before `start`. It returns false if the new part of v is at most
// minRemainder·norm.
func (s *subspace) add(v blas64.General, start int, norm float64) bool {
	s.remove(v, start, s.Rows)
	left := blas64.Nrm2(row(v, 0))
	if left <= minRemainder*norm {
		return false
	}
	blas64.Scal(1/left, row(v, 0))
	copy(s.Data[s.Rows*s.Cols:], v.Data)
	s.Rows++
	return true
}

func row(m blas64.General, i int) blas64.Vector {
	return blas64.Vector{N: m.Cols, Inc: 1, Data: m.Data[i*m.Stride : i*m.Stride+m.Cols]}
}
