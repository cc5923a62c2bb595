package learn

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"cpar"
	"cpar/internal/parallel"
)

// jitter·m is added to each landmark's similarity to itself, so that rounding
// errors do not separate nearly equal landmarks.
const jitter = 1e-6

// setLandmarks makes landmarks of some rows' components.
func (f *ccaProblem) setLandmarks(picked blas64.General, opt Options) error {
	landmarks, m := round16(picked), picked.Rows
	l := landmarks.dense() // the rounded values that Apply uses
	if !f.setWidths(l) {
		return nil // all landmarks are equal, so the projection stays linear
	}
	f.p.landmarks, f.dense = landmarks, l
	for b, w := range opt.Weights {
		if f.p.blocks[b].basis.rows > 0 {
			f.p.blocks[b].weight = w
		}
	}
	k := f.p.kernel(l, l)
	for i := range m {
		k.Data[i*k.Stride+i] += jitter * float64(m)
	}
	f.factor = k
	if !factorise(k) {
		return fmt.Errorf("%w: the landmarks' similarities have no Cholesky factor", cpar.ErrInput)
	}
	return nil
}

// mapToLandmarks turns the components of blocks into m coordinates per photo,
// whose inner products approximate the similarities of photos (Nyström's
// approximation). Without landmarks it returns the components.
func (f *ccaProblem) mapToLandmarks(ctx context.Context, parts []blas64.General) (blas64.General, error) {
	if f.p.landmarks.rows == 0 {
		return f.join(parts), nil
	}
	// Each batch fits in a core's cache.
	const batch = 256
	x := matrix(parts[0].Rows, f.dense.Rows)
	some := func(b int) {
		from, to := b*batch, min((b+1)*batch, x.Rows)
		var z []blas64.General
		for _, p := range parts {
			z = append(z, slice(p, from, to))
		}
		part := slice(x, from, to)
		copy(part.Data, f.p.kernel(f.join(z), f.dense).Data)
		solveRight(blas.Trans, f.factor, part)
	}
	return x, parallel.Until(ctx, (x.Rows+batch-1)/batch, func() func(int) { return some })
}

func slice(m blas64.General, from, to int) blas64.General {
	m.Rows, m.Data = to-from, m.Data[from*m.Stride:min(to*m.Stride, len(m.Data))]
	return m
}

// setWidths sets the widths of the blocks from the landmarks' distances and
// reports whether any width is positive. The mean replaces the median if most
// landmarks are equal.
func (f *ccaProblem) setWidths(l blas64.General) bool {
	found, at := false, 0
	for k := range f.p.blocks {
		b := &f.p.blocks[k]
		if b.basis.rows == 0 {
			continue
		}
		d := distances(columns(l, at, b.basis.rows), columns(l, at, b.basis.rows))
		at += b.basis.rows
		apart := make([]float64, 0, d.Rows*(d.Rows-1)/2)
		total := 0.0
		for i := range d.Rows {
			for _, v := range d.Data[i*d.Stride : i*d.Stride+i] {
				apart, total = append(apart, v), total+v
			}
		}
		typical := selected(apart, len(apart)/2)
		// The total variance is 1, so a squared distance below 10⁻⁹ is rounding
		// error.
		if typical < 1e-9 {
			typical = total / float64(len(apart))
		}
		b.width = 0
		if typical >= 1e-9 {
			b.width, found = float32(1/(2*typical)), true
		}
	}
	return found
}

// selected returns the value that sorting would move to place k (Hoare,
// "Algorithm 65: find", 1961). It reorders x.
func selected(x []float64, k int) float64 {
	for lo, hi := 0, len(x)-1; lo < hi; {
		i, j, pivot := lo, hi, x[(lo+hi)/2]
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k]
		}
	}
	return x[k]
}

// kernel returns the similarities of the rows of x and l.
func (p *Projection) kernel(x, l blas64.General) blas64.General {
	out := matrix(x.Rows, l.Rows)
	total, at := float64(0), 0
	for _, b := range p.blocks {
		if b.basis.rows == 0 {
			continue
		}
		d := distances(columns(x, at, b.basis.rows), columns(l, at, b.basis.rows))
		for i, v := range d.Data {
			out.Data[i] += float64(b.weight) * math.Exp(-float64(b.width)*v)
		}
		at, total = at+b.basis.rows, total+float64(b.weight)
	}
	floats.Scale(1/total, out.Data)
	return out
}

func columns(m blas64.General, from, n int) blas64.General {
	m.Cols, m.Data = n, m.Data[from:]
	return m
}

func distances(a, b blas64.General) blas64.General {
	squares := func(m blas64.General) []float64 {
		out := make([]float64, m.Rows)
		for i := range out {
			out[i] = floats.Dot(row(m, i), row(m, i))
		}
		return out
	}
	out, aa, bb := product(a, b, true), squares(a), squares(b)
	for i := range aa {
		for j := range bb {
			out.Data[i*out.Stride+j] = max(0, aa[i]+bb[j]-2*out.Data[i*out.Stride+j])
		}
	}
	return out
}
