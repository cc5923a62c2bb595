package pca

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"cpar"
)

// MaxIn bounds the length of a row, here and in the encoding.
const MaxIn = 1 << 16

const (
	// oversample is how many directions more than asked for the range finder
	// keeps: the last of the wanted ones would otherwise converge slowly.
	oversample = 16
	// sampleIterations power iterations run on a sample of the rows, then
	// fullIterations on all of them. A sample's leading directions are nearly
	// the collection's, so one full iteration does what three from a random
	// start would, at a third of the cost.
	sampleIterations = 4
	fullIterations   = 1
	// sampleFactor times the number of directions is the size of the sample,
	// and sampleRows its least.
	sampleFactor = 6
	sampleRows   = 2048
	// blockRows rows are centred, transposed and multiplied at a time, in
	// float32; sums over blocks are float64.
	blockRows = 512
	// floor is the share of the total variance below which a direction is
	// taken for rounding of the float32 products (about 10⁻¹² of it each).
	floor = 1e-10
)

// Fit finds the out directions of greatest variance of rows (n × in), which it
// does not change. The result is a function of rows, out and seed, whatever
// the number of cores; another processor architecture may round differently.
// The seed only starts the iteration and is no secret.
//
// It needs, beside the rows, about 30·in·(out+16) bytes.
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

	rng := rand.New(rand.NewPCG(seed, 0x706361)) // "pca"
	l := min(out+oversample, in)
	q := blas64.General{Rows: l, Cols: in, Stride: in, Data: make([]float64, l*in)}
	for i := range q.Data {
		q.Data[i] = rng.NormFloat64()
	}
	orthonormalise(q)
	if size := max(sampleRows, sampleFactor*l); size < len(rows) {
		sample := c
		sample.rows = make([][]float32, size)
		for i, r := range rng.Perm(len(rows))[:size] {
			sample.rows[i] = rows[r]
		}
		for range sampleIterations {
			sample.powerIteration(q)
		}
		for range fullIterations {
			c.powerIteration(q)
		}
	} else {
		for range sampleIterations + fullIterations {
			c.powerIteration(q)
		}
	}
	if err := c.rayleighRitz(b, q); err != nil {
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

// block fills x with rows start to end of X, and xt, if it has room, with
// their transpose: gonum multiplies fastest when both factors are read along
// their rows.
func (c *centred) block(start, end int, x, xt []float32) (blas32.General, blas32.General) {
	n, in := end-start, len(c.mean)
	for i, row := range c.rows[start:end] {
		to := x[i*in : (i+1)*in]
		for j, v := range row {
			to[j] = float32((float64(v) - c.mean[j]) * c.scale)
		}
	}
	if xt != nil {
		transpose(xt, x, n, in)
	}
	return blas32.General{Rows: n, Cols: in, Stride: in, Data: x},
		blas32.General{Rows: in, Cols: n, Stride: n, Data: xt}
}

// transpose writes the n × m matrix from as m × n, in squares that stay in cache.
func transpose(to, from []float32, n, m int) {
	const side = 32
	for i0 := 0; i0 < n; i0 += side {
		for j0 := 0; j0 < m; j0 += side {
			for j := j0; j < min(j0+side, m); j++ {
				for i := i0; i < min(i0+side, n); i++ {
					to[j*n+i] = from[i*m+j]
				}
			}
		}
	}
}

// powerIteration replaces the rows of q by an orthonormal basis of the rows of
// q·XᵀX.
func (c *centred) powerIteration(q blas64.General) {
	l, in := q.Rows, q.Cols
	narrow := narrowed(q)
	clear(q.Data)
	x, xt := make([]float32, blockRows*in), make([]float32, blockRows*in)
	p := make([]float32, l*blockRows)
	z := blas32.General{Rows: l, Cols: in, Stride: in, Data: make([]float32, l*in)}
	for start := 0; start < len(c.rows); start += blockRows {
		end := min(start+blockRows, len(c.rows))
		xb, xtb := c.block(start, end, x, xt)
		pb := blas32.General{Rows: l, Cols: end - start, Stride: end - start, Data: p}
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, narrow, xb, 0, pb) // q·Xᵀ
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, pb, xtb, 0, z)     // q·Xᵀ·X
		for i, v := range z.Data {
			q.Data[i] += float64(v)
		}
	}
	orthonormalise(q)
}

// rayleighRitz turns the span of q into components: within it the eigenvectors
// of q·XᵀX·qᵀ are the directions of greatest variance.
func (c *centred) rayleighRitz(b *Basis, q blas64.General) error {
	l, in := q.Rows, q.Cols
	narrow := narrowed(q)
	x := make([]float32, blockRows*in)
	p32, p64 := make([]float32, l*blockRows), make([]float64, l*blockRows)
	gram := blas64.General{Rows: l, Cols: l, Stride: l, Data: make([]float64, l*l)}
	for start := 0; start < len(c.rows); start += blockRows {
		end := min(start+blockRows, len(c.rows))
		xb, _ := c.block(start, end, x, nil)
		n := end - start
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, narrow, xb, 0, blas32.General{Rows: l, Cols: n, Stride: n, Data: p32})
		for i, v := range p32[:l*n] {
			p64[i] = float64(v)
		}
		pb := blas64.General{Rows: l, Cols: n, Stride: n, Data: p64}
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, pb, pb, 1, gram)
	}

	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(l, gram.Data), true) {
		return fmt.Errorf("%w: eigenvalues of %d directions do not converge", cpar.ErrInput, l)
	}
	values := eigen.Values(nil) // rising
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)

	top := blas64.General{Rows: b.out, Cols: l, Stride: l, Data: make([]float64, b.out*l)}
	rank := 0
	for ; rank < b.out && values[l-1-rank] > floor*c.total; rank++ {
		mat.Col(top.Data[rank*l:(rank+1)*l], l-1-rank, &vectors)
	}
	if rank == 0 {
		return nil
	}
	top.Rows = rank
	found := blas64.General{Rows: rank, Cols: in, Stride: in, Data: make([]float64, rank*in)}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, top, q, 0, found)
	for k := range rank {
		row := found.Data[k*in : (k+1)*in]
		sign := signOf(row)
		for j, v := range row {
			// Adding 0 turns -0 into 0, so that equal bases have equal bytes.
			b.components[k*in+j] = float32(sign*v) + 0
		}
	}
	return nil
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

// orthonormalise replaces the rows of q by an orthonormal basis of a space
// that contains theirs. Householder reflections do so whatever the rank of q.
func orthonormalise(q blas64.General) {
	tau := make([]float64, q.Rows)
	size := make([]float64, 1)
	lapack64.Gelqf(q, tau, size, -1)
	work := make([]float64, int(size[0]))
	lapack64.Gelqf(q, tau, work, len(work))
	lapack64.Orglq(q, tau, size, -1)
	work = make([]float64, int(size[0]))
	lapack64.Orglq(q, tau, work, len(work))
}

func narrowed(q blas64.General) blas32.General {
	n := blas32.General{Rows: q.Rows, Cols: q.Cols, Stride: q.Cols, Data: make([]float32, len(q.Data))}
	for i, v := range q.Data {
		n.Data[i] = float32(v)
	}
	return n
}
