package pca

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"cpar"
)

// MaxIn bounds the length of a row, here and in the encoding.
const MaxIn = 1 << 16

// The Krylov space has krylovFactor·out + krylovExtra dimensions and grows by
// a quarter of out at a time, within leastBlock and mostBlock. On the haarq of
// Corel-5k, whose variances hardly fall (128 of 4096 components hold a fifth),
// 128 components capture 0.998 of what the best do, on haar 0.99999; narrower
// blocks would do better and read the rows more often. 20,000 rows of 4096
// take about 22 seconds of processor time for 128 components.
const (
	krylovFactor = 3
	krylovExtra  = 64
	leastBlock   = 16
	mostBlock    = 128
)

const (
	// chunkRows rows are centred and multiplied at a time, in float32; sums
	// over chunks are float64.
	chunkRows = 512
	// floor is the share of the total variance below which a direction may be
	// rounding of the float32 products, which are good to about 10⁻⁷ of it.
	floor = 1e-6
)

// Fit finds the out directions of greatest variance of rows (n × in), which it
// does not change. Collections of up to 3·out + 64 rows are decomposed exactly. The result is a function of rows, out and seed, whatever
// the number of cores; another processor architecture may round differently.
// The seed only starts the iteration and is no secret.
//
// It needs, beside the rows, about 50·in·(out+64) bytes.
func Fit(rows [][]float32, out int, seed uint64) (*Basis, error) {
	if err := checkRows(rows, out); err != nil {
		return nil, fmt.Errorf("fitting principal components: %w", err)
	}
	in := len(rows[0])
	b := &Basis{in: in, out: out, mean: make([]float32, in), components: make([]float32, out*in)}
	c := centre(rows)
	for j, m := range c.mean {
		b.mean[j] = float32(m)
	}
	if c.total == 0 { // one row, or all rows alike
		return b, nil
	}

	width := min(max(leastBlock, min(out/4, mostBlock)), in)
	size := min(krylovFactor*out+krylovExtra, in)
	if len(rows) <= size {
		if err := fitExact(b, &c); err != nil {
			return nil, fmt.Errorf("fitting principal components: %w", err)
		}
		return b, nil
	}

	// K = [Q, CQ, C²Q, …] for C = XᵀX and a random Q, orthonormal rows; Z = K·C.
	k := newSpace(size, in, seed)
	z := matrix(size, in)
	next := matrix(width, in)
	k.randomise(next)
	for k.Rows < size {
		start := k.Rows
		k.extend(next)
		c.multiply(rowsOf(z, start, k.Rows), rowsOf(k.General, start, k.Rows))
		next = matrix(min(width, size-k.Rows), in)
		copy(next.Data, z.Data[start*in:k.Rows*in])
	}
	if err := rayleighRitz(b, k.General, z, c.total); err != nil {
		return nil, fmt.Errorf("fitting principal components: %w", err)
	}
	return b, nil
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
			return fmt.Errorf("%w: row %d has %d values, row 0 has %d", cpar.ErrInput, i, len(row), in)
		}
		for j, v := range row {
			if !finite(v) {
				return fmt.Errorf("%w: row %d, value %d is %v", cpar.ErrInput, i, j, v)
			}
		}
	}
	return nil
}

// centred is a view of rows as X = scale·(rows − mean), n × in, of which only a
// block exists at a time.
type centred struct {
	rows  [][]float32
	mean  []float64
	scale float64 // a power of two that keeps squares of X within float32
	total float64 // Σ of the squares of X
}

func centre(rows [][]float32) centred {
	c := centred{rows: rows, mean: make([]float64, len(rows[0])), scale: 1}
	for _, row := range rows {
		for j, v := range row {
			c.mean[j] += float64(v)
		}
	}
	// A sum of equal float32 is exact in float64 and so is its quotient:
	// identical rows are centred to exact zeros.
	for j := range c.mean {
		c.mean[j] /= float64(len(rows))
	}
	largest := 0.0
	for _, row := range rows {
		for j, v := range row {
			largest = max(largest, math.Abs(float64(v)-c.mean[j]))
		}
	}
	if largest == 0 {
		return c
	}
	_, exponent := math.Frexp(largest)
	c.scale = math.Ldexp(1, -exponent)
	for _, row := range rows {
		for j, v := range row {
			x := (float64(v) - c.mean[j]) * c.scale
			c.total += x * x
		}
	}
	return c
}

// chunk fills x with rows start to end of X.
func (c *centred) chunk(start, end int, x []float32) blas32.General {
	n, in := end-start, len(c.mean)
	parts := runtime.GOMAXPROCS(0)
	var workers sync.WaitGroup
	for part := range parts {
		workers.Go(func() {
			for i := part * n / parts; i < (part+1)*n/parts; i++ {
				to, row := x[i*in:(i+1)*in], c.rows[start+i]
				for j, m := range c.mean {
					to[j] = float32((float64(row[j]) - m) * c.scale)
				}
			}
		})
	}
	workers.Wait()
	return blas32.General{Rows: n, Cols: in, Stride: in, Data: x}
}

// multiply writes q·XᵀX to z.
func (c *centred) multiply(z, q blas64.General) {
	l, in := q.Rows, q.Cols
	narrow := blas32.General{Rows: l, Cols: in, Stride: in, Data: make([]float32, l*in)}
	for i := range narrow.Data {
		narrow.Data[i] = float32(q.Data[i])
	}
	x := make([]float32, min(chunkRows, len(c.rows))*in)
	p := make([]float32, l*chunkRows)
	part := blas32.General{Rows: l, Cols: in, Stride: in, Data: make([]float32, l*in)}
	clear(z.Data)
	for start := 0; start < len(c.rows); start += chunkRows {
		end := min(start+chunkRows, len(c.rows))
		xb := c.chunk(start, end, x)
		pb := blas32.General{Rows: l, Cols: end - start, Stride: end - start, Data: p}
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, narrow, xb, 0, pb) // q·Xᵀ
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, pb, xb, 0, part) // q·Xᵀ·X
		for i, v := range part.Data {
			z.Data[i] += float64(v)
		}
	}
}

// rayleighRitz turns the space K into components: the eigenvectors of
// K·C·Kᵀ = Z·Kᵀ are the directions of greatest variance in it.
func rayleighRitz(b *Basis, k, z blas64.General, total float64) error {
	l, in := k.Rows, k.Cols
	t := matrix(l, l)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, z, k, 0, t)
	top, _, err := eigenvectors(t, b.out, floor*total)
	if err != nil {
		return err
	}
	found := matrix(top.Rows, in)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, top, k, 0, found)
	b.set(found)
	return nil
}

// fitExact serves collections of so few rows that the matrix of their inner
// products is small: C = XᵀX has the eigenvalues of XXᵀ, and Xᵀu/√λ for every
// eigenvector u of that.
func fitExact(b *Basis, c *centred) error {
	n, in := len(c.rows), b.in
	x := matrix(n, in)
	for i, row := range c.rows {
		for j, m := range c.mean {
			x.Data[i*in+j] = (float64(row[j]) - m) * c.scale
		}
	}
	gram := matrix(n, n)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, x, 0, gram)
	top, values, err := eigenvectors(gram, b.out, floor*c.total)
	if err != nil {
		return err
	}
	found := matrix(top.Rows, in)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, top, x, 0, found)
	for i, v := range values {
		blas64.Scal(1/math.Sqrt(v), row(found, i))
	}
	b.set(found)
	return nil
}

// eigenvectors returns the eigenvectors of t, symmetric but for rounding, that
// belong to its greatest eigenvalues above least, at most out of them, as rows,
// greatest first, and those eigenvalues.
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

// set takes the rows of found as components, each with its sign fixed.
func (b *Basis) set(found blas64.General) {
	for i := range found.Rows {
		v := row(found, i).Data
		sign := signOf(v)
		for j, x := range v {
			b.components[i*b.in+j] = float32(sign * x)
		}
	}
}

// signOf is the sign of the entry of largest magnitude, the first of equals.
func signOf(row []float64) float64 {
	best := 0
	for j, v := range row {
		if math.Abs(v) > math.Abs(row[best]) {
			best = j
		}
	}
	return math.Copysign(1, row[best])
}
