package learn

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

func clone(m blas64.General) blas64.General {
	m.Data = slices.Clone(m.Data)
	return m
}

// fewestRows and mostRows bound the number of rows that a core multiplies at
// once. More rows share the packing of b, and fewer occupy more cores.
const fewestRows, mostRows = 64, 512

// product returns a·b, or a·bᵀ if transB is set. It uses all cores, whose
// number does not affect the values.
func product(a, b blas64.General, transB bool) blas64.General {
	n := b.Cols
	if transB {
		n = b.Rows
	}
	c := matrix(a.Rows, n)
	addProduct(c, a, b, transB)
	return c
}

// addProduct adds the product to c, which may be other columns of a's matrix.
func addProduct(c, a, b blas64.General, transB bool) { each(f32.Mul64[float64], c, a, b, transB) }

// subtract subtracts the product from c.
func subtract(c, a, b blas64.General, transB bool) { each(f32.Sub64[float64], c, a, b, transB) }

// each applies f32.Mul64 or f32.Sub64 to some rows of a and c at a time.
func each(multiply func(c []float64, ldc int, a []float64, lda int, b []float64, ldb, m, n, k int, transB bool), c, a, b blas64.General, transB bool) {
	if c.Rows == 0 || c.Cols == 0 || a.Cols == 0 {
		return
	}
	cores := runtime.GOMAXPROCS(0)
	most := min(max((a.Rows+cores-1)/cores, fewestRows), mostRows)
	parallel.For((a.Rows+most-1)/most, func(task int) {
		from := task * most
		rows := min(most, a.Rows-from)
		multiply(c.Data[from*c.Stride:], c.Stride, a.Data[from*a.Stride:], a.Stride, b.Data, b.Stride, rows, c.Cols, a.Cols, transB)
	})
}

// addSquare adds a·aᵀ to the lower triangle of c, and may change the rest of c.
func addSquare(c, a blas64.General) {
	if c.Rows <= 4*solveBlock {
		addProduct(c, a, a, true)
		return
	}
	first, below, second := divide(c)
	left, right := slice(a, 0, first.Rows), slice(a, first.Rows, a.Rows)
	addSquare(first, left)
	addProduct(below, right, left, true)
	addSquare(second, right)
}

// solveBlock is the largest triangle that is solved or factorised directly. The
// rest of the work consists of products, which are much faster.
const solveBlock = 72

// factorise replaces the symmetric matrix c by its lower Cholesky factor, with
// any values above the diagonal. It reports whether there is one.
func factorise(c blas64.General) bool {
	if c.Rows <= solveBlock {
		_, ok := lapack64.Potrf(blas64.Symmetric{N: c.Rows, Stride: c.Stride, Uplo: blas.Lower, Data: c.Data})
		return ok
	}
	first, below, second := divide(c)
	if !factorise(first) {
		return false
	}
	solveRight(blas.Trans, first, below)
	subtract(second, below, below, true)
	return factorise(second)
}

// divide returns two triangles of l, and the square or rectangle between them.
func divide(l blas64.General) (first, below, second blas64.General) {
	n := l.Rows / 2
	bottom := slice(l, n, l.Rows)
	return columns(slice(l, 0, n), 0, n), columns(bottom, 0, n), columns(bottom, n, l.Rows-n)
}

// solveRight replaces b by b·L⁻ᵀ, or by b·L⁻¹ if t is blas.NoTrans. An empty L
// stands for the identity.
func solveRight(t blas.Transpose, l, b blas64.General) {
	if l.Rows == 0 {
		return
	}
	if l.Rows <= solveBlock {
		right := inverse(l)
		parallel.Each((b.Rows+fewestRows-1)/fewestRows, func() func(int) {
			out := matrix(fewestRows, l.Rows)
			return func(task int) {
				part := slice(b, task*fewestRows, min((task+1)*fewestRows, b.Rows))
				clear(out.Data)
				f32.Mul64(out.Data, out.Stride, part.Data, part.Stride, right.Data, right.Stride, part.Rows, l.Rows, l.Rows, t == blas.Trans)
				for i := range part.Rows {
					copy(row(part, i), row(out, i))
				}
			}
		})
		return
	}
	first, below, second := divide(l)
	left, right := columns(b, 0, first.Rows), columns(b, first.Rows, second.Rows)
	if t == blas.Trans {
		solveRight(t, first, left)
		subtract(right, left, below, true)
		solveRight(t, second, right)
		return
	}
	solveRight(t, second, right)
	subtract(left, right, below, false)
	solveRight(t, first, left)
}

// inverse returns the inverse of the lower triangle of l.
func inverse(l blas64.General) blas64.General {
	out := matrix(l.Rows, l.Rows)
	for i := range l.Rows {
		to, from := row(out, i), row(l, i)
		to[i] = 1 / from[i]
		for j, x := range from[:i] {
			floats.AddScaled(to[:j+1], -x/from[i], row(out, j)[:j+1])
		}
	}
	return out
}

func transposed(m blas64.General) blas64.General {
	if m.Rows == 0 || m.Cols == 0 {
		return matrix(m.Cols, m.Rows)
	}
	var in, t mat.Dense
	in.SetRawMatrix(m)
	t.CloneFrom(in.T())
	return t.RawMatrix()
}

// matrix16 stores each value as an int16 times the scale of its row, in half
// the space of float32.
type matrix16 struct {
	rows, cols int
	scale      []float32
	data       []int16
}

// round16 returns the nearest matrix16. A row's largest value becomes ±32767.
func round16(m blas64.General) matrix16 {
	out := matrix16{m.Rows, m.Cols, make([]float32, m.Rows), make([]int16, m.Rows*m.Cols)}
	for i := range m.Rows {
		row, largest := m.Data[i*m.Stride:i*m.Stride+m.Cols], 0.0
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
		scale := float32(largest / math.MaxInt16)
		if scale == 0 {
			continue
		}
		out.scale[i] = scale
		for j, v := range row {
			v = math.RoundToEven(v / float64(scale))
			out.data[i*m.Cols+j] = int16(min(max(v, -math.MaxInt16), math.MaxInt16))
		}
	}
	return out
}

func (m matrix16) row(i int) []int16 { return m.data[i*m.cols : (i+1)*m.cols] }

func (m matrix16) first(n int) matrix16 {
	return matrix16{n, m.cols, m.scale[:n], m.data[:n*m.cols]}
}

func (m matrix16) dense() blas64.General {
	out := matrix(m.rows, m.cols)
	for i := range m.rows {
		for j, v := range m.row(i) {
			out.Data[i*m.cols+j] = float64(m.scale[i]) * float64(v)
		}
	}
	return out
}

// times returns m·x. Four independent sums keep the processor's adders busy.
func (m matrix16) times(x []float64) []float64 {
	out := make([]float64, m.rows)
	for i := range out {
		row, x := m.row(i), x[:m.cols]
		var a, b, c, d float64
		for len(row) >= 4 && len(x) >= 4 {
			a += float64(row[0]) * x[0]
			b += float64(row[1]) * x[1]
			c += float64(row[2]) * x[2]
			d += float64(row[3]) * x[3]
			row, x = row[4:], x[4:]
		}
		for j, v := range row {
			a += float64(v) * x[j]
		}
		out[i] = float64(m.scale[i]) * (a + b + (c + d))
	}
	return out
}

// timesAll returns x·mᵀ.
func (m matrix16) timesAll(x blas64.General) blas64.General {
	out := matrix(x.Rows, m.rows)
	if x.Rows < 8 { // too few to be worth packing m
		for i := range x.Rows {
			copy(row(out, i), m.times(row(x, i)))
		}
		return out
	}
	values := make([]float32, len(m.data))
	for i, v := range m.data {
		values[i] = float32(v)
	}
	f32.Mul64(out.Data, out.Stride, x.Data, x.Stride, values, m.cols, x.Rows, m.rows, m.cols, true)
	for i := range x.Rows {
		for j, s := range m.scale {
			row(out, i)[j] *= float64(s)
		}
	}
	return out
}

func (m matrix16) append(data []byte) []byte {
	data = appendFloats(data, m.scale)
	for _, v := range m.data {
		data = binary.LittleEndian.AppendUint16(data, uint16(v))
	}
	return data
}
