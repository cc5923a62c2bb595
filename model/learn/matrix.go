package learn

import (
	"encoding/binary"
	"math"
	"runtime"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

// fewestRows and mostRows bound the number of rows that a core multiplies at once. More
// rows share the packing of b, and fewer occupy more cores.
const fewestRows, mostRows = 64, 512

// product returns a·b, or a·bᵀ if transB is set. It uses all cores, whose
// number does not affect the values.
func product(a, b blas64.General, transB bool) blas64.General {
	n := b.Cols
	if transB {
		n = b.Rows
	}
	c := matrix(a.Rows, n)
	if a.Rows == 0 || n == 0 || a.Cols == 0 {
		return c
	}
	most := min(max(a.Rows/(2*runtime.GOMAXPROCS(0)), fewestRows), mostRows)
	parallel.Each((a.Rows+most-1)/most, func() func(int) {
		scratch := make([]float64, f32.Scratch64(most, n, a.Cols))
		return func(task int) {
			from := task * most
			rows := min(most, a.Rows-from)
			f32.Mul64(c.Data[from*c.Stride:], c.Stride, a.Data[from*a.Stride:], a.Stride, b.Data, b.Stride, rows, n, a.Cols, transB, scratch)
		}
	})
	return c
}

// solveBlock is the number of columns that solveRight solves at once. The rest
// are products, which are much faster.
const solveBlock = 64

// solveRight replaces b by b·L⁻ᵀ, or by b·L⁻¹ if t is blas.NoTrans.
func solveRight(t blas.Transpose, l blas64.Triangular, b blas64.General) {
	whole := blas64.General{Rows: l.N, Cols: l.N, Stride: l.Stride, Data: l.Data}
	for done := 0; done < l.N; done += solveBlock {
		n := min(solveBlock, l.N-done)
		from := done // L⁻¹ needs the last columns first
		if t == blas.NoTrans {
			from = l.N - done - n
		}
		now, corner := columns(b, from, n), columns(slice(whole, from, from+n), from, n)
		var known blas64.General
		switch {
		case done == 0:
		case t == blas.NoTrans:
			known = product(columns(b, from+n, done), columns(slice(whole, from+n, l.N), from, n), false)
		default:
			known = product(columns(b, 0, from), columns(slice(whole, from, from+n), 0, from), true)
		}
		for i := range known.Rows {
			row := now.Data[i*now.Stride : i*now.Stride+n]
			for j, v := range known.Data[i*known.Stride : i*known.Stride+n] {
				row[j] -= v
			}
		}
		blas64.Trsm(blas.Right, t, 1, blas64.Triangular{N: n, Stride: l.Stride, Uplo: l.Uplo, Diag: l.Diag, Data: corner.Data}, now)
	}
}

// solveLeft returns L⁻¹·b, or L⁻ᵀ·b if t is blas.Trans.
func solveLeft(t blas.Transpose, l blas64.Triangular, b blas64.General) blas64.General {
	b = transposed(b)
	if t == blas.Trans {
		solveRight(blas.NoTrans, l, b)
	} else {
		solveRight(blas.Trans, l, b)
	}
	return transposed(b)
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

// round16 returns the nearest matrix16. The largest value of every row becomes
// ±32767.
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

func (m matrix16) append(data []byte) []byte {
	data = appendFloats(data, m.scale)
	for _, v := range m.data {
		data = binary.LittleEndian.AppendUint16(data, uint16(v))
	}
	return data
}

func size16(rows, cols int) int { return 4*rows + 2*rows*cols }
