package pca

import (
	"context"

	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

const (
	// panel is the number of products that the kernels of package f32 sum in
	// float32, one after the other. Longer panels would round more.
	panel = 128
	// forwardRows rows of X are multiplied at a time.
	forwardRows  = 128
	backwardCols = 512
)

func (c *centred) forward(ctx context.Context, q blas64.General) ([]float32, error) {
	n, in, l := len(c.rows), len(c.mean), q.Rows
	narrow := make([]float32, l*in)
	for i := range l {
		for j, v := range row(q, i).Data {
			narrow[i*in+j] = float32(v)
		}
	}
	var directions []*f32.Right // one per panel, panel × l
	for k := 0; k < in; k += panel {
		directions = append(directions, f32.PackRight(narrow[k:], in, min(panel, in-k), l, true))
	}
	p := make([]float32, l*n)
	err := parallel.Until(ctx, (n+forwardRows-1)/forwardRows, func() func(int) {
		x, sums, part := make([]float32, forwardRows*in), make([]float64, forwardRows*l), make([]float32, forwardRows*l)
		scratch := make([]float32, directions[0].Scratch(forwardRows))
		return func(task int) {
			start := task * forwardRows
			rows := min(forwardRows, n-start)
			for r := range rows {
				f32.Centre(x[r*in:], c.rows[start+r], c.mean, c.scale)
			}
			clear(sums)
			for k, d := range directions {
				d.Mul(part, l, x[k*panel:], in, rows, nil, scratch)
				f32.AddTo64(sums, part[:rows*l])
			}
			for i := range l {
				for r := range rows {
					p[i*n+start+r] = float32(sums[r*l+i])
				}
			}
		}
	})
	return p, err
}

// backward writes p·X, l × in, to z.
func (c *centred) backward(ctx context.Context, z blas64.General, p []float32) error {
	n, in, l := len(c.rows), len(c.mean), z.Rows
	var panels []*f32.Left // l × panel
	for k := 0; k < n; k += panel {
		panels = append(panels, f32.PackLeft(p[k:], n, l, min(panel, n-k)))
	}
	return parallel.Until(ctx, (in+backwardCols-1)/backwardCols, func() func(int) {
		x, sums := make([]float32, panel*backwardCols), make([]float64, l*backwardCols)
		part, scratch := make([]float32, l*backwardCols), make([]float32, panels[0].Scratch(backwardCols))
		return func(task int) {
			start := task * backwardCols
			cols := min(backwardCols, in-start)
			clear(sums)
			for k, left := range panels {
				first := k * panel
				for r := range min(panel, n-first) {
					f32.Centre(x[r*cols:], c.rows[first+r][start:start+cols], c.mean[start:], c.scale)
				}
				left.Mul(part, cols, x, cols, cols, scratch)
				f32.AddTo64(sums, part[:l*cols])
			}
			for i := range l {
				copy(z.Data[i*z.Stride+start:i*z.Stride+start+cols], sums[i*cols:])
			}
		}
	})
}
