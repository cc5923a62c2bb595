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
	// blockComponents is the number of principal components that Fit keeps per
	// block.
	blockComponents = 128
	// maxWords is the maximum number of keywords that Fit correlates, the most
	// frequent first. Time is cubic in their number, and rarer keywords have
	// too few photos to learn from.
	maxWords = 512
	// maxReduced is the maximum number of photos from which principal
	// components are computed. More photos hardly change them.
	maxReduced = 5000
)

// Fit fits a projection to n rows and the keywords of each. Repeated keywords
// count once. The result depends only on the arguments, up to the rounding of
// the processor architecture. Errors wrap cpar.ErrInput.
func Fit(ctx context.Context, rows [][]float32, keywords [][]string, opt Options) (*Projection, error) {
	p, err := fit(ctx, rows, keywords, opt)
	if err != nil {
		return nil, fmt.Errorf("learning a projection: %w", err)
	}
	return p, nil
}

func fit(ctx context.Context, rows [][]float32, keywords [][]string, opt Options) (*Projection, error) {
	blocks, err := opt.check(rows, keywords)
	if err != nil {
		return nil, err
	}
	y, err := label(keywords)
	if err != nil {
		return nil, err
	}
	steps := progress{tell: opt.Progress, total: len(blocks) + 2}
	r, err := reduce(ctx, rows, blocks, opt, &steps)
	if err != nil {
		return nil, err
	}
	f, err := r.fitting(ctx, y, opt)
	if err != nil {
		return nil, err
	}
	steps.step()
	m, err := f.moments(ctx, nil)
	if err != nil {
		return nil, err
	}
	s, err := correlateUntil(ctx, m, opt.Ridge, opt.Dim)
	if err != nil {
		return nil, err
	}
	steps.step()
	if opt.Square {
		s = s.scaleByCorrelation()
	}
	return f.projection(m, s), nil
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

func (o Options) check(rows [][]float32, keywords [][]string) ([]int, error) {
	if len(rows) < 2 || len(rows) != len(keywords) {
		return nil, fmt.Errorf("%w: %d rows and %d keyword lists, want the same number and at least two", cpar.ErrInput, len(rows), len(keywords))
	}
	blocks := o.Blocks
	if blocks == nil {
		blocks = []int{len(rows[0])}
	}
	in := 0
	for _, b := range blocks {
		if b < 1 || b > pca.MaxIn {
			return nil, fmt.Errorf("%w: a block of %d values, want 1 to %d", cpar.ErrInput, b, pca.MaxIn)
		}
		in += b
	}
	for i, r := range rows {
		if len(r) != in {
			return nil, fmt.Errorf("%w: row %d has %d values, but the blocks have %d", cpar.ErrInput, i, len(r), in)
		}
		for j, v := range r {
			if v-v != 0 {
				return nil, fmt.Errorf("%w: row %d: value %d is %v", cpar.ErrInput, i, j, v)
			}
		}
	}
	return blocks, o.bounds(len(blocks))
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

// reduction holds a collection's blocks as scaled principal components.
type reduction struct {
	n      int
	blocks []block          // skipped and constant blocks have no basis
	parts  []blas64.General // n × components
}

func reduce(ctx context.Context, rows [][]float32, blocks []int, opt Options, steps *progress) (*reduction, error) {
	r := &reduction{n: len(rows)}
	at := 0
	for k, length := range blocks {
		b, z := block{length: length}, blas64.General{}
		if opt.Skip == nil || !opt.Skip[k] {
			part := make([][]float32, len(rows))
			parallel.For(len(rows), func(i int) { part[i] = signedRoot(rows[i][at : at+length]) })
			var err error
			if b, z, err = reduceBlock(ctx, part, min(blockComponents, length), opt.Seed); err != nil {
				return nil, fmt.Errorf("block %d: %w", k, err)
			}
		}
		r.blocks, r.parts = append(r.blocks, b), append(r.parts, z)
		at += length
		steps.step()
	}
	return r, nil
}

func reduceBlock(ctx context.Context, part [][]float32, components int, seed uint64) (block, blas64.General, error) {
	b := block{length: len(part[0])}
	some := part
	if len(part) > maxReduced {
		some = nil
		for _, i := range sample(len(part), maxReduced, seed) {
			some = append(some, part[i])
		}
	}
	basis, err := pca.Fit(ctx, some, components, seed)
	if err != nil {
		return b, blas64.General{}, err
	}
	spread, rank := variance(part, basis.Mean()), basis.Rank()
	if spread == 0 || rank == 0 {
		return b, blas64.General{}, nil
	}
	b.scale = float32(1 / math.Sqrt(spread))
	if !(b.scale > 0 && b.scale <= maxFloat) {
		return b, blas64.General{}, fmt.Errorf("%w: its values are too large or small", cpar.ErrInput)
	}
	c := matrix(rank, b.length)
	for i := range rank {
		for j, v := range basis.Component(i) {
			c.Data[i*c.Stride+j] = float64(v)
		}
	}
	b.mean, b.basis = slices.Clone(basis.Mean()), round16(c)
	projected, err := basis.ProjectAll(part)
	if err != nil {
		return b, blas64.General{}, err
	}
	z := matrix(len(part), rank)
	for i, row := range projected {
		for j, v := range row[:rank] {
			z.Data[i*rank+j] = v * float64(b.scale)
		}
	}
	return b, z, nil
}

func sample(n, k int, seed uint64) []int {
	out := rand.New(rand.NewPCG(seed, 0x73616d706c65)).Perm(n)[:k] // "sample"
	slices.Sort(out)
	return out
}

func variance(rows [][]float32, mean []float32) float64 {
	sums := make([]float64, len(rows))
	parallel.For(len(rows), func(i int) {
		for j, v := range rows[i] {
			d := float64(v) - float64(mean[j])
			sums[i] += d * d
		}
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total / float64(len(rows))
}

// ccaProblem is a collection prepared for canonical correlation. Without
// landmarks, x holds scaled principal components. With landmarks, it holds
// similarities to the landmarks times L⁻ᵀ, where K = LLᵀ is the matrix of
// similarities between landmarks.
type ccaProblem struct {
	p      Projection     // complete except for mean and direction
	x      blas64.General // n × q
	y      labels
	factor blas64.Triangular // L, m × m
}

// fitting builds the problem from the blocks that `opt` does not skip.
func (r *reduction) fitting(ctx context.Context, y labels, opt Options) (*ccaProblem, error) {
	f := &ccaProblem{y: y}
	var parts []blas64.General
	width := 0
	for k, b := range r.blocks {
		if b.basis.rows == 0 || opt.Skip != nil && opt.Skip[k] {
			f.p.blocks = append(f.p.blocks, block{length: b.length})
			continue
		}
		b.weight = 1
		f.p.blocks = append(f.p.blocks, b)
		parts = append(parts, r.parts[k])
		width += b.basis.rows
	}
	if width == 0 {
		return nil, fmt.Errorf("%w: all photos have the same features", cpar.ErrInput)
	}
	f.x = matrix(r.n, width)
	for i := range r.n {
		to := f.x.Data[i*width : i*width]
		for _, z := range parts {
			to = append(to, z.Data[i*z.Stride:i*z.Stride+z.Cols]...)
		}
	}
	if m := min(opt.Landmarks, r.n/2); m > 1 {
		if err := f.mapToLandmarks(ctx, m, opt); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// projection completes the projection with a solution in the space of x. It
// scales s.directions in place.
func (f *ccaProblem) projection(m *moments, s solution) *Projection {
	p, w := f.p, s.directions
	mean := blas64.Vector{N: f.x.Cols, Inc: 1, Data: make([]float64, f.x.Cols)}
	for i := range f.x.Rows {
		for j, v := range f.x.Data[i*f.x.Stride : i*f.x.Stride+f.x.Cols] {
			mean.Data[j] += v / float64(f.x.Rows)
		}
	}
	if p.landmarks.rows > 0 {
		blas64.Trsm(blas.Left, blas.Trans, 1, f.factor, w)
		blas64.Trsm(blas.Left, blas.Trans, 1, f.factor, s.guess)
		blas64.Trmv(blas.NoTrans, f.factor, mean)
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
	p.direction = round16(transposed(w))
	p.guess = newGuesser(f.y, m, s.guess)
	for _, v := range mean.Data {
		p.mean = append(p.mean, float32(v))
	}
	return &p
}
