package pca

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"cpar"
	"cpar/internal/f32"
	"cpar/internal/parallel"
)

// MaxIn is the maximum length of a row.
const MaxIn = 1 << 16

// The Krylov space has krylovFactor·out + krylovExtra dimensions. It grows by
// blocks of out/4 rows, but at least minBlock and at most maxBlock. For the
// Haar signs (haarq) of Corel-5k, 128 components then capture 0.998 of the
// variance of the best 128. Narrower blocks would capture more but read the
// rows more often.
const (
	krylovFactor = 3
	krylovExtra  = 64
	minBlock     = 16
	maxBlock     = 128
)

// minVarianceShare is the share of the total variance below which a direction
// may be rounding error of float32.
const minVarianceShare = 1e-6

// Fit returns a basis of the `out` directions in which rows (n × in, read-only)
// vary most. Collections of up to 3·out + 64 rows are decomposed exactly. The
// result depends only on the rows, `out` and the public seed, up to the
// rounding of the processor. Errors wrap cpar.ErrInput or ctx's error.
//
// Fit needs about 70·in·(out+64) bytes on two cores, in addition to the rows.
func Fit(ctx context.Context, rows [][]float32, out int, seed uint64) (*Basis, error) {
	if err := checkRows(rows, out); err != nil {
		return nil, fmt.Errorf("fitting principal components: %w", err)
	}
	in := len(rows[0])
	b := &Basis{in: in, out: out, mean: make([]float32, in), components: make([]float32, out*in)}
	c, err := centre(rows)
	if err != nil {
		return nil, fmt.Errorf("fitting principal components: %w", err)
	}
	for j, m := range c.mean {
		b.mean[j] = float32(m)
	}
	if c.total == 0 { // one row, or identical rows
		return b, nil
	}

	size := min(krylovFactor*out+krylovExtra, in)
	if len(rows) <= size {
		if err := parallel.OrLeave(ctx, func() error { return fitExact(b, &c) }); err != nil {
			return nil, fmt.Errorf("fitting principal components: %w", err)
		}
		return b, nil
	}
	rng := rand.New(rand.NewPCG(seed, 0x706361)) // "pca"
	found, err := c.krylov(ctx, size, out, rng)
	if err != nil {
		return nil, fmt.Errorf("fitting principal components: %w", err)
	}
	b.setComponents(found)
	return b, nil
}

// krylov returns at most `out` directions of largest variance in the Krylov
// space K = [Q, QC, QC², …] of dimension size, for C = XᵀX and a random Q with
// orthonormal rows.
func (c *centred) krylov(ctx context.Context, size, out int, rng *rand.Rand) (blas64.General, error) {
	in := len(c.mean)
	width := min(max(minBlock, min(out/4, maxBlock)), in)
	k := newSubspace(size, in, rng)
	z := matrix(size, in) // Z = K·C
	next := matrix(width, in)
	k.randomise(next)
	for k.Rows < size {
		start := k.Rows
		k.extend(next)
		if err := c.multiply(ctx, rowsOf(z, start, k.Rows), rowsOf(k.General, start, k.Rows)); err != nil {
			return k.General, err
		}
		next = matrix(min(width, size-k.Rows), in)
		copy(next.Data, z.Data[start*in:k.Rows*in])
	}
	var found blas64.General
	err := parallel.OrLeave(ctx, func() (err error) {
		found, err = rayleighRitz(k.General, z, out, minVarianceShare*c.total)
		return err
	})
	if ctx.Err() != nil {
		return k.General, ctx.Err() // a goroutine may still write to `found`
	}
	return found, err
}

func checkRows(rows [][]float32, out int) error {
	if len(rows) == 0 {
		return fmt.Errorf("%w: no rows", cpar.ErrInput)
	}
	in := len(rows[0])
	if in == 0 || in > MaxIn {
		return fmt.Errorf("%w: rows of %d values, want 1 to %d", cpar.ErrInput, in, MaxIn)
	}
	if out < 1 || out > in {
		return fmt.Errorf("%w: %d components of %d values", cpar.ErrInput, out, in)
	}
	for i, row := range rows {
		if len(row) != in {
			return fmt.Errorf("%w: row %d has %d values, but row 0 has %d", cpar.ErrInput, i, len(row), in)
		}
	}
	return nil
}

// centred represents the matrix X = scale·(rows − mean), n × in, of which only
// one block is in memory at a time.
type centred struct {
	rows  [][]float32
	mean  []float64
	scale float64   // a power of two that keeps the squares of X within float32
	total float64   // sum of the squares of X
	sums  []float64 // buffer of multiply
}

// centre computes mean and scale. Non-finite values are detected because they
// make the variance of their column non-finite.
func centre(rows [][]float32) (centred, error) {
	in := len(rows[0])
	c := centred{rows: rows, mean: make([]float64, in), scale: 1}
	tasks := (in + panel - 1) / panel
	largest, total := make([]float64, tasks), make([]float64, tasks)
	parallel.Each(tasks, func() func(int) {
		return func(task int) {
			start, end := task*panel, min((task+1)*panel, in)
			mean := c.mean[start:end]
			for _, row := range rows {
				f32.AddTo64(mean, row[start:end])
			}
			// Identical rows are centred to exact zeros, because a sum of equal
			// float32 values and its quotient are exact in float64.
			for j := range mean {
				mean[j] /= float64(len(rows))
			}
			most, sum := 0.0, 0.0
			for _, row := range rows {
				square := 0.0 // per row, so that the processor can overlap the sums of several rows
				for j, v := range row[start:end] {
					x := float64(v) - mean[j]
					if x := math.Abs(x); x > most {
						most = x
					}
					square += x * x
				}
				sum += square
			}
			largest[task], total[task] = most, sum
		}
	})
	for _, t := range total {
		c.total += t // finite for finite rows, because float32 squares are far below float64's maximum
	}
	if math.IsNaN(c.total) || math.IsInf(c.total, 0) {
		return c, notFinite(rows)
	}
	if c.total > 0 {
		_, exponent := math.Frexp(slices.Max(largest))
		c.scale = math.Ldexp(1, -exponent)
		c.total *= c.scale * c.scale
	}
	return c, nil
}

func notFinite(rows [][]float32) error {
	for i, row := range rows {
		for j, v := range row {
			if !finite(v) {
				return fmt.Errorf("%w: row %d, value %d is %v", cpar.ErrInput, i, j, v)
			}
		}
	}
	panic("pca: finite rows of infinite variance")
}

// rayleighRitz returns at most `out` directions of largest variance in the
// space K, each with a variance above `least`. It computes them from the
// eigenvectors of K·C·Kᵀ = Z·Kᵀ.
func rayleighRitz(k, z blas64.General, out int, least float64) (blas64.General, error) {
	t := matrix(k.Rows, k.Rows)
	addProduct(t, z, k, true)
	top, _, err := eigenvectors(t, out, least)
	if err != nil {
		return top, err
	}
	found := matrix(top.Rows, k.Cols)
	if top.Rows > 0 {
		addProduct(found, top, k, false)
	}
	return found, nil
}

// fitExact decomposes collections with few rows. C = XᵀX has the eigenvalues of
// XXᵀ, and the eigenvector Xᵀu/√λ for every eigenvector u of XXᵀ.
func fitExact(b *Basis, c *centred) error {
	n, in := len(c.rows), b.in
	x := matrix(n, in)
	for i, row := range c.rows {
		for j, m := range c.mean {
			x.Data[i*in+j] = (float64(row[j]) - m) * c.scale
		}
	}
	gram := matrix(n, n)
	addProduct(gram, x, x, true)
	top, values, err := eigenvectors(gram, b.out, minVarianceShare*c.total)
	if err != nil {
		return err
	}
	found := matrix(top.Rows, in)
	if top.Rows > 0 {
		addProduct(found, top, x, false)
	}
	for i, v := range values {
		blas64.Scal(1/math.Sqrt(v), row(found, i))
	}
	b.setComponents(found)
	return nil
}

// eigenvectors returns at most `out` eigenvectors of t (as rows) and their
// eigenvalues, largest first, if the eigenvalues exceed `least`. Matrix t is
// symmetric up to rounding.
func eigenvectors(t blas64.General, out int, least float64) (blas64.General, []float64, error) {
	l := t.Rows
	symmetric := mat.NewSymDense(l, nil)
	for i := range l {
		for j := range i + 1 {
			symmetric.SetSym(i, j, (t.Data[i*l+j]+t.Data[j*l+i])/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric, true) {
		return t, nil, fmt.Errorf("%w: eigenvalues of %d directions do not converge", cpar.ErrInput, l)
	}
	rising := eigen.Values(nil)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	top := matrix(min(out, l), l)
	var values []float64
	for i := 0; i < top.Rows && rising[l-1-i] > least; i++ {
		mat.Col(row(top, i).Data, l-1-i, &vectors)
		values = append(values, rising[l-1-i])
	}
	return rowsOf(top, 0, len(values)), values, nil
}

func (b *Basis) setComponents(found blas64.General) {
	for i := range found.Rows {
		v := row(found, i)
		sign := math.Copysign(1, v.Data[blas64.Iamax(v)])
		for j, x := range v.Data {
			b.components[i*b.in+j] = float32(sign * x)
		}
	}
}
