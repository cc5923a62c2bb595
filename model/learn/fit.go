package learn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"cpar"
	"cpar/internal/parallel"
	"cpar/model/pca"
)

const (
	// blockComponents is the number of components that Fit keeps per block.
	blockComponents = 128
	// maxWords is the maximum number of keywords that Fit correlates, the most
	// frequent first. Time is cubic in their number, and rarer keywords have
	// too few photos to learn from.
	maxWords = 512
	// Principal components are computed from at most maxReduced photos with
	// reducedValues values in all, because more photos hardly change them. The
	// values take 112 MB. Other steps also read maxReduced photos at a time.
	maxReduced, reducedValues = 5000, 28_000_000
)

// Rows are n rows that are computed or read when they are needed, because a
// large collection may not fit in memory. At is safe for concurrent use.
type Rows struct {
	N  int
	At func(i int) ([]float32, error)
}

// InMemory returns existing rows.
func InMemory(rows [][]float32) Rows {
	return Rows{len(rows), func(i int) ([]float32, error) { return rows[i], nil }}
}

func (r Rows) pick(which []int) Rows {
	return Rows{len(which), func(i int) ([]float32, error) { return r.At(which[i]) }}
}

// roots returns the signed roots of each block's values in rows `from` to
// `to`−1.
func (r Rows) roots(ctx context.Context, from, to int, blocks ...span) ([][][]float32, error) {
	out, errs := make([][][]float32, len(blocks)), make([]error, to-from)
	for k := range out {
		out[k] = make([][]float32, to-from)
	}
	err := parallel.Until(ctx, to-from, func() func(int) {
		return func(i int) {
			row, err := r.At(from + i)
			errs[i] = err
			for k, b := range blocks {
				if err == nil {
					out[k][i] = signedRoot(row[b.at:b.end()])
				}
			}
		}
	})
	return out, cmp.Or(err, cmp.Or(errs...))
}

// A span is a block's place in a row.
type span struct{ at, length int }

func (s span) end() int { return s.at + s.length }

// fit fits a projection to all rows of a reduction.
func (r *reduction) fit(ctx context.Context, y labels, opt Options, steps *progress) (*Projection, error) {
	f, err := r.problem(ctx, y, opt, nil)
	if err != nil {
		return nil, err
	}
	m, err := f.stream(ctx, r)
	if err != nil {
		return nil, err
	}
	return f.fit(ctx, m, opt, steps)
}

// fit fits a projection to the moments of all photos, in two steps.
func (f *ccaProblem) fit(ctx context.Context, m *moments, opt Options, steps *progress) (*Projection, error) {
	steps.step()
	var r *regression
	var s solution
	if err := parallel.OrLeave(ctx, func() (err error) {
		if r, err = m.regress(opt.Ridge, opt.Ridge, opt.Dim); err == nil {
			s, err = m.solution(r, r.gg, blas64.General{}, blas64.General{})
		}
		return err
	}); err != nil {
		return nil, err
	}
	steps.step()
	if opt.Square {
		s = s.scaleByCorrelation()
	}
	return f.projection(m, r, s.directions), nil
}

// stream computes the moments of all rows. It bounds the inputs in memory.
func (f *ccaProblem) stream(ctx context.Context, r *reduction) (m *moments, err error) {
	for from := 0; from < r.rows.N; from += maxReduced {
		to := min(from+maxReduced, r.rows.N)
		x, err := f.inputs(ctx, r, from, to)
		if err != nil {
			return nil, err
		}
		part, err := momentsOf(ctx, x, f.y.byPhoto[from:to], f.y.words)
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = part
		} else {
			m.add(1, part)
		}
	}
	return m, nil
}

type progress struct {
	tell        func(done, total int)
	done, total int
}

func (p *progress) step() {
	p.done++
	if p.tell != nil {
		p.tell(p.done, p.total)
	}
}

// check validates the options. It returns the lengths of the blocks, and rows
// that At checks.
func (o Options) check(rows Rows, keywords [][]string) (Rows, []int, error) {
	if rows.N < 2 || rows.N != len(keywords) {
		return rows, nil, fmt.Errorf("%w: %d rows and %d keyword lists, want the same number and at least two", cpar.ErrInput, rows.N, len(keywords))
	}
	blocks := o.Blocks
	if blocks == nil {
		first, err := rows.At(0)
		if err != nil {
			return rows, nil, err
		}
		blocks = []int{len(first)}
	}
	in := 0
	for _, b := range blocks {
		if b < 1 || b > pca.MaxIn {
			return rows, nil, fmt.Errorf("%w: a block of %d values, want 1 to %d", cpar.ErrInput, b, pca.MaxIn)
		}
		in += b
	}
	checked := func(i int) ([]float32, error) {
		r, err := rows.At(i)
		if err == nil {
			if err = checkRow(r, in); err != nil {
				err = fmt.Errorf("row %d: %w", i, err)
			}
		}
		return r, err
	}
	return Rows{rows.N, checked}, blocks, o.bounds(len(blocks))
}

func (o Options) bounds(blocks int) error {
	switch {
	case blocks > MaxBlocks, o.Skip != nil && len(o.Skip) != blocks:
		return fmt.Errorf("%w: %d blocks, %d skip flags", cpar.ErrInput, blocks, len(o.Skip))
	case o.Weights != nil && (len(o.Weights) != blocks || slices.ContainsFunc(o.Weights, func(w float32) bool { return !(w >= 1.0/maxWeight && w <= maxWeight) })):
		return fmt.Errorf("%w: weights %v of %d blocks, want %d from 1/%d to %d", cpar.ErrInput, o.Weights, blocks, blocks, maxWeight, maxWeight)
	case o.Dim < 1 || o.Dim > MaxDim:
		return fmt.Errorf("%w: %d dimensions, want 1 to %d", cpar.ErrInput, o.Dim, MaxDim)
	case !(o.Ridge >= 1e-6 && o.Ridge <= 1e6):
		return fmt.Errorf("%w: ridge %v, want 1e-6 to 1e6", cpar.ErrInput, o.Ridge)
	case o.Landmarks < 0 || o.Landmarks > MaxLandmarks:
		return fmt.Errorf("%w: %d landmarks, want at most %d", cpar.ErrInput, o.Landmarks, MaxLandmarks)
	}
	return nil
}

type labels struct {
	words   int            // number of keywords
	byPhoto [][]int        // columns of each photo's keywords
	column  map[string]int // column of each keyword
}

func label(keywords [][]string) (labels, error) {
	count := map[string]int{}
	for _, words := range keywords {
		for j, w := range words {
			if !slices.Contains(words[:j], w) {
				count[w]++
			}
		}
	}
	var words []string
	for w, c := range count {
		if c < len(keywords) { // a keyword on every photo carries no information
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return labels{}, fmt.Errorf("%w: no keyword distinguishes photos", cpar.ErrInput)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	words = words[:min(len(words), maxWords)]
	column := map[string]int{}
	for j, w := range words {
		column[w] = j
	}
	y := labels{len(words), make([][]int, len(keywords)), column}
	for i, list := range keywords {
		for _, w := range list {
			if j, ok := column[w]; ok && !slices.Contains(y.byPhoto[i], j) {
				y.byPhoto[i] = append(y.byPhoto[i], j)
			}
		}
	}
	return y, nil
}

// ccaProblem is a collection prepared for canonical correlation. Without
// landmarks, x holds scaled principal components. With landmarks, it holds
// similarities to the landmarks times L⁻ᵀ, where K = LLᵀ is the matrix of
// similarities between landmarks.
type ccaProblem struct {
	p      Projection     // complete except for mean and direction
	x      blas64.General // n × q, only for cross-validation
	mean   []float64      // what was subtracted from x, or nil
	y      labels
	skip   []bool         // blocks of the reduction that are not used
	factor blas64.General // L, m × m, in its lower triangle
	dense  blas64.General // the landmarks
}

// problem builds the problem from the blocks that `opt` does not skip, without
// its inputs x. `parts` are the components of all rows, or nil.
func (r *reduction) problem(ctx context.Context, y labels, opt Options, parts []blas64.General) (*ccaProblem, error) {
	f := &ccaProblem{y: y}
	width := 0
	for k, b := range r.blocks {
		used := b.basis.rows > 0 && (opt.Skip == nil || !opt.Skip[k])
		if b.basis.rows > 0 {
			f.skip = append(f.skip, !used)
		}
		if !used {
			f.p.blocks = append(f.p.blocks, block{length: b.length})
			continue
		}
		b.weight = 1
		f.p.blocks = append(f.p.blocks, b)
		width += b.basis.rows
	}
	if width == 0 {
		return nil, fmt.Errorf("%w: all photos have the same features", cpar.ErrInput)
	}
	if m := min(opt.Landmarks, r.rows.N/2); m > 1 {
		picked := rand.New(rand.NewPCG(opt.Seed, 0x6c6561726e)).Perm(r.rows.N)[:m] // "learn"
		var landmarks []blas64.General
		for _, z := range parts {
			landmarks = append(landmarks, rowsOf(z, picked))
		}
		if parts == nil {
			var err error
			if landmarks, err = r.project(ctx, r.rows.pick(picked), 0, m); err != nil {
				return nil, err
			}
		}
		if err := f.setLandmarks(f.join(landmarks), opt); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// join returns the used blocks side by side.
func (f *ccaProblem) join(parts []blas64.General) blas64.General {
	width := 0
	for k, z := range parts {
		if !f.skip[k] {
			width += z.Cols
		}
	}
	x := matrix(parts[0].Rows, width)
	for i := range x.Rows {
		to := x.Data[i*width : i*width]
		for k, z := range parts {
			if !f.skip[k] {
				to = append(to, z.Data[i*z.Stride:i*z.Stride+z.Cols]...)
			}
		}
	}
	return x
}

// inputs returns x for rows `from` to `to`.
func (f *ccaProblem) inputs(ctx context.Context, r *reduction, from, to int) (blas64.General, error) {
	parts, err := r.project(ctx, r.rows, from, to)
	if err != nil {
		return blas64.General{}, err
	}
	return f.mapToLandmarks(ctx, parts)
}

// projection completes the projection with directions w in the space of x and
// the regression.
func (f *ccaProblem) projection(m *moments, r *regression, w blas64.General) *Projection {
	p, guess := f.p, r.g
	solveRight(blas.NoTrans, r.factor, guess)
	for i, weight := range m.idf() {
		if weight == 0 { // the keyword is uninformative and stays at its mean
			clear(row(guess, i))
		}
	}
	mean := blas64.Vector{N: len(m.sx), Inc: 1, Data: make([]float64, len(m.sx))}
	copy(mean.Data, f.mean)
	for j, sum := range m.sx {
		mean.Data[j] += sum / m.n
	}
	if p.landmarks.rows > 0 {
		solveRight(blas.NoTrans, f.factor, w)
		solveRight(blas.NoTrans, f.factor, guess)
		blas64.Trmv(blas.NoTrans, blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: f.factor.Rows, Stride: f.factor.Stride, Data: f.factor.Data}, mean)
	}
	// Only the direction of a vector matters. Dividing by the largest value
	// keeps float32 from overflowing for features in any unit.
	largest := 0.0
	for _, v := range w.Data {
		largest = max(largest, math.Abs(v))
	}
	if !(largest > 0) {
		clear(w.Data)
		largest = 1
	}
	for i := range w.Data {
		w.Data[i] /= largest
	}
	p.direction = round16(w)
	p.guess = newGuesser(f.y, m, guess)
	for _, v := range mean.Data {
		p.mean = append(p.mean, float32(v))
	}
	return &p
}
