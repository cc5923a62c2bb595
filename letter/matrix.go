package letter

import (
	"math/rand/v2"

	"cpar/internal/modq"
	"cpar/internal/parallel"
)

// A Matrix is a matrix of M×M integers modulo q = 2⁶⁴, in row-major order.
type Matrix struct {
	M     int
	Words []uint64
}

func newMatrix(m int) *Matrix { return &Matrix{M: m, Words: make([]uint64, m*m)} }

func (a *Matrix) row(i int) []uint64 { return a.Words[i*a.M : (i+1)*a.M] }

// apply returns a·x, at the cost of M inner products DOT_M.
func (a *Matrix) apply(x []uint64, count *Dots) []uint64 {
	out := make([]uint64, a.M)
	modq.Rows(out, a.Words, x)
	count.add(a.M, a.M)
	return out
}

func (a *Matrix) transpose() *Matrix {
	out := newMatrix(a.M)
	for i := range a.M {
		for j, x := range a.row(i) {
			out.Words[j*a.M+i] = x
		}
	}
	return out
}

// times returns a·b, at the cost of M² inner products DOT_M. It multiplies by
// blocks of columns of b that fit in a core's cache.
func (a *Matrix) times(b *Matrix, count *Dots) *Matrix {
	const columns = 64
	right, out := b.transpose(), newMatrix(a.M)
	parallel.For((a.M+columns-1)/columns, func(block int) {
		from, to := block*columns, min((block+1)*columns, a.M)
		vectors := make([][]uint64, to-from)
		for j := range vectors {
			vectors[j] = right.row(from + j)
		}
		products := make([]uint64, a.M*len(vectors))
		modq.RowsMany(products, a.Words, modq.Pack(vectors), len(vectors))
		for i := range a.M {
			copy(out.row(i)[from:to], products[i*len(vectors):])
		}
	})
	count.add(a.M, a.M*a.M)
	return out
}

func (a *Matrix) permuteRows(p []int) *Matrix {
	out := newMatrix(a.M)
	for i, from := range p {
		copy(out.row(i), a.row(from))
	}
	return out
}

// randomLower returns a random lower triangular matrix that is invertible
// modulo 2⁶⁴, because its diagonal is odd.
func randomLower(m int, random *rand.ChaCha8) *Matrix {
	out := newMatrix(m)
	for i := range m {
		row := out.row(i)[:i+1]
		for j := range row {
			row[j] = random.Uint64()
		}
		row[i] |= 1
	}
	return out
}

// invertLower inverts a matrix l that randomLower returned, by forward
// substitution: row i of the inverse is (1_i − Σ l[i][k]·row k) / l[i][i]. It
// computes blocks of columns that fit in a core's cache.
func (a *Matrix) invertLower() *Matrix {
	const columns = 64
	out := newMatrix(a.M)
	parallel.For((a.M+columns-1)/columns, func(block int) {
		from, to := block*columns, min((block+1)*columns, a.M)
		for i := from; i < a.M; i++ {
			x := out.row(i)[from:to]
			if i < to {
				x[i-from] = 1
			}
			for k := from; k < i; k++ {
				modq.Axpy(-a.row(i)[k], out.row(k)[from:to], x)
			}
			unit := modq.InverseOdd(a.row(i)[i])
			for j := range x {
				x[j] *= unit
			}
		}
	})
	return out
}
