package pca

import (
	"context"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/parallel"
)

const (
	// panel is the length of the inner products in all matrix products here. A dot
	// product of 512 float32 values in the L1 cache runs at 2.5 times the speed of
	// blas32.Gemm, which uses 64; sums over panels are float64, so longer rows do not
	// round more.
	panel = 512
	// nearRows rows of a panel, 32 kB, stay in the L1 cache while rows of the other matrix pass by.
	nearRows = 16
	// forwardRows and backwardCols size one task: its share of X, at most 2 MB for rows
	// of 4096, stays in a core's second cache.
	forwardRows  = 32
	backwardCols = 128
	// columnStride is the distance between columns in a panel of Xᵀ: a cache line more
	// than necessary, since columns a power of two columnStride would compete for the same cache
	// lines while they are written side by side.
	columnStride = panel + 16
)

// panels is a matrix of float32 divided into panels of columns. Each panel is contiguous,
// row by row, and the last is padded with zeros: contiguous rows of 2¹² values would
// compete for the same few cache lines.
type panels struct {
	rows int
	data []float32
}

func newPanels(rows, cols int) panels {
	return panels{rows: rows, data: make([]float32, rows*(cols+panel-1)/panel*panel)}
}

// number returns panel k: rows × panel.
func (p panels) number(k int) []float32 { return p.data[k*p.rows*panel : (k+1)*p.rows*panel] }

// count returns the number of panels.
func (p panels) count() int { return len(p.data) / (p.rows * panel) }

// narrowed returns m in float32.
func narrowed(m blas64.General) panels {
	p := newPanels(m.Rows, m.Cols)
	for i := range m.Rows {
		for j, v := range row(m, i).Data {
			p.number(j / panel)[i*panel+j%panel] = float32(v)
		}
	}
	return p
}

// addProducts adds a·bᵀ to sums, for one panel each of a and b; stride is the distance
// between rows of b.
func addProducts(sums []float64, a, b []float32, stride int) {
	rows, cols := len(a)/panel, len(b)/stride
	for near := 0; near < rows; near += nearRows {
		for j := range cols {
			passing := blas32.Vector{N: panel, Inc: 1, Data: b[j*stride : j*stride+panel]}
			for i := near; i < min(near+nearRows, rows); i++ {
				sums[i*cols+j] += float64(blas32.Dot(blas32.Vector{N: panel, Inc: 1, Data: a[i*panel : (i+1)*panel]}, passing))
			}
		}
	}
}

// forward returns q·Xᵀ, l × n.
func (c *centred) forward(ctx context.Context, q blas64.General) (panels, error) {
	narrow := narrowed(q)
	n, in, l := len(c.rows), len(c.mean), q.Rows
	p := newPanels(l, n)
	err := parallel.Until(ctx, (n+forwardRows-1)/forwardRows, func() func(int) {
		x := newPanels(forwardRows, in)
		sums := make([]float64, l*forwardRows)
		return func(task int) {
			start := task * forwardRows
			end := min(start+forwardRows, n)
			for r := range end - start { // rows beyond end may belong to another task: not used
				c.row(x, r, start+r)
			}
			clear(sums)
			for k := range x.count() {
				addProducts(sums, narrow.number(k), x.number(k), panel)
			}
			to := p.number(start / panel)
			for i := range l {
				for r := range end - start {
					to[i*panel+start%panel+r] = float32(sums[i*forwardRows+r])
				}
			}
		}
	})
	return p, err
}

// backward writes p·X, l × in, to z.
func (c *centred) backward(ctx context.Context, z blas64.General, p panels) error {
	n, in, l := len(c.rows), len(c.mean), p.rows
	return parallel.Until(ctx, (in+backwardCols-1)/backwardCols, func() func(int) {
		x := make([]float32, backwardCols*columnStride)
		sums := make([]float64, l*backwardCols)
		return func(task int) {
			start := task * backwardCols
			end := min(start+backwardCols, in)
			cols := end - start
			clear(sums)
			for k := range p.count() {
				c.columns(x, k*panel, min((k+1)*panel, n), start, end)
				addProducts(sums[:l*cols], p.number(k), x[:cols*columnStride], columnStride)
			}
			for i := range l {
				copy(z.Data[i*z.Stride+start:i*z.Stride+end], sums[i*cols:(i+1)*cols])
			}
		}
	})
}

// row writes row i of X to row r of x.
func (c *centred) row(x panels, r, i int) {
	from := c.rows[i]
	for k := range x.count() {
		part := from[k*panel : min((k+1)*panel, len(from))]
		to, mean := x.number(k)[r*panel:][:len(part)], c.mean[k*panel:][:len(part)]
		for j, v := range part {
			to[j] = float32((float64(v) - mean[j]) * c.scale)
		}
	}
}

// columns writes columns start to end of rows first to last of X to x, column by column,
// columnStride apart. The rest of a column is left as it is: it meets the zeros that pad
// the last panel of p.
func (c *centred) columns(x []float32, first, last, start, end int) {
	mean, scale := c.mean[start:end], c.scale
	i := first
	// Eight rows at a time, so that writes are adjacent.
	for ; i+8 <= last; i += 8 {
		r0, r1, r2, r3 := c.rows[i][start:end], c.rows[i+1][start:end], c.rows[i+2][start:end], c.rows[i+3][start:end]
		r4, r5, r6, r7 := c.rows[i+4][start:end], c.rows[i+5][start:end], c.rows[i+6][start:end], c.rows[i+7][start:end]
		for j, m := range mean {
			to := (*[8]float32)(x[j*columnStride+i-first:])
			to[0] = float32((float64(r0[j]) - m) * scale)
			to[1] = float32((float64(r1[j]) - m) * scale)
			to[2] = float32((float64(r2[j]) - m) * scale)
			to[3] = float32((float64(r3[j]) - m) * scale)
			to[4] = float32((float64(r4[j]) - m) * scale)
			to[5] = float32((float64(r5[j]) - m) * scale)
			to[6] = float32((float64(r6[j]) - m) * scale)
			to[7] = float32((float64(r7[j]) - m) * scale)
		}
	}
	for ; i < last; i++ {
		for j, v := range c.rows[i][start:end] {
			x[j*columnStride+i-first] = float32((float64(v) - mean[j]) * scale)
		}
	}
}
