package learn

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"cpar"
	"cpar/internal/parallel"
	"cpar/user/pca"
)

const (
	defaultComponents = 128
	// mostWords of the collection's keywords, the most frequent, are correlated
	// with: the time is cubic in them, and rarer words have too few photos to say
	// what they look like.
	mostWords = 1024
	// leastSpread is the share of the greatest spread among landmarks below
	// which a direction is rounding.
	leastSpread = 1e-6
)

// Fit finds a projection for n rows and the indices of each one's keywords, from
// 0; a word's twin counts once. The result is a function of its arguments,
// whatever the number of cores; another processor architecture may round differently.
func Fit(rows [][]float32, keywords [][]int, opt Options) (*Projection, error) {
	f, err := prepare(rows, keywords, opt)
	if err != nil {
		return nil, fmt.Errorf("learning a projection: %w", err)
	}
	w, err := correlate(f.moments(nil), opt.Ridge, opt.Dim)
	if err != nil {
		return nil, fmt.Errorf("learning a projection: %w", err)
	}
	return f.projection(w), nil
}

// fitting is a collection as canonical correlation sees it.
type fitting struct {
	p      Projection     // all but mean and direction
	x      blas64.General // n × q
	y      blas64.General // n × v, 0 or 1
	lifted blas64.General // m × q from similarities to x; none without landmarks
	raw    []float64      // mean of the similarities, m
}

func prepare(rows [][]float32, keywords [][]int, opt Options) (*fitting, error) {
	blocks, err := opt.check(rows, keywords)
	if err != nil {
		return nil, err
	}
	f := new(fitting)
	if f.y, err = wordMatrix(keywords); err != nil {
		return nil, err
	}
	if err := f.reduce(rows, blocks, opt); err != nil {
		return nil, err
	}
	if m := min(opt.Landmarks, len(rows)/2); m > 0 {
		if err := f.lift(m, opt.Seed); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// check returns the lengths of the blocks.
func (o Options) check(rows [][]float32, keywords [][]int) ([]int, error) {
	if len(rows) < 2 || len(rows) != len(keywords) {
		return nil, fmt.Errorf("%w: %d rows, keywords of %d; want at least two and as many", cpar.ErrInput, len(rows), len(keywords))
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
			return nil, fmt.Errorf("%w: row %d has %d values, the blocks %d", cpar.ErrInput, i, len(r), in)
		}
	}
	switch {
	case len(blocks) > MaxBlocks, o.Skip != nil && len(o.Skip) != len(blocks):
		return nil, fmt.Errorf("%w: %d blocks, %d marks of those to leave out", cpar.ErrInput, len(blocks), len(o.Skip))
	case o.Dim < 1 || o.Dim > MaxDim:
		return nil, fmt.Errorf("%w: %d dimensions, want 1 to %d", cpar.ErrInput, o.Dim, MaxDim)
	case !(o.Ridge >= 1e-6 && o.Ridge <= 1e6):
		return nil, fmt.Errorf("%w: a ridge of %v, want 1e-6 to 1e6", cpar.ErrInput, o.Ridge)
	case o.Components < 0 || o.Components > MaxComponents:
		return nil, fmt.Errorf("%w: %d components of a block, want at most %d", cpar.ErrInput, o.Components, MaxComponents)
	case o.Landmarks < 0 || o.Landmarks > MaxLandmarks:
		return nil, fmt.Errorf("%w: %d landmarks, want at most %d", cpar.ErrInput, o.Landmarks, MaxLandmarks)
	}
	return blocks, nil
}

// wordMatrix has a column for each of the most frequent words.
func wordMatrix(keywords [][]int) (blas64.General, error) {
	count := map[int]int{}
	for i, words := range keywords {
		for j, w := range words {
			if w < 0 {
				return blas64.General{}, fmt.Errorf("%w: row %d has keyword %d", cpar.ErrInput, i, w)
			}
			if !slices.Contains(words[:j], w) {
				count[w]++
			}
		}
	}
	var words []int
	for w, c := range count {
		if c < len(keywords) { // a word of every photo says nothing
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return blas64.General{}, fmt.Errorf("%w: no keyword tells photos apart", cpar.ErrInput)
	}
	slices.SortFunc(words, func(a, b int) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	words = words[:min(len(words), mostWords)]
	column := map[int]int{}
	for j, w := range words {
		column[w] = j
	}
	y := matrix(len(keywords), len(words))
	for i, list := range keywords {
		for _, w := range list {
			if j, ok := column[w]; ok {
				y.Data[i*y.Stride+j] = 1
			}
		}
	}
	return y, nil
}

// reduce fits the blocks and makes x of them.
func (f *fitting) reduce(rows [][]float32, blocks []int, opt Options) error {
	components := opt.Components
	if components == 0 {
		components = defaultComponents
	}
	var parts [][][]float64
	width, at := 0, 0
	for k, length := range blocks {
		start := at
		at += length
		if opt.Skip != nil && opt.Skip[k] {
			f.p.blocks = append(f.p.blocks, block{length: length})
			continue
		}
		part := make([][]float32, len(rows))
		parallel.For(len(rows), func(i int) { part[i] = rooted(rows[i][start:at]) })
		basis, err := pca.Fit(part, min(components, length), opt.Seed)
		if err != nil {
			return fmt.Errorf("block %d: %w", k, err)
		}
		spread := variance(part, basis.Mean())
		if spread == 0 {
			f.p.blocks = append(f.p.blocks, block{length: length}) // alike in all photos
			continue
		}
		z, err := basis.ProjectAll(part)
		if err != nil {
			return fmt.Errorf("block %d: %w", k, err)
		}
		scale := float32(1 / math.Sqrt(spread))
		if !(scale > 0) || math.IsInf(float64(scale), 0) {
			return fmt.Errorf("block %d: %w: its values are too large or small", k, cpar.ErrInput)
		}
		for _, r := range z {
			for j := range r {
				r[j] *= float64(scale)
			}
		}
		f.p.blocks = append(f.p.blocks, block{length: length, scale: scale, basis: basis})
		parts = append(parts, z)
		width += basis.Out()
	}
	if width == 0 {
		return fmt.Errorf("%w: all photos have the same features", cpar.ErrInput)
	}
	f.x = matrix(len(rows), width)
	for i := range rows {
		to := f.x.Data[i*width : i*width]
		for _, z := range parts {
			to = append(to, z[i]...)
		}
	}
	return nil
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

// lift replaces x by coordinates whose inner products are those of the
// similarities, as far as m landmarks tell them.
func (f *fitting) lift(m int, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 0x6c6561726e)) // "learn"
	p := f.x.Cols
	l := matrix32{rows: m, cols: p, data: make([]float32, m*p)}
	for i, from := range rng.Perm(f.x.Rows)[:m] {
		for j, v := range f.x.Data[from*p : (from+1)*p] {
			l.data[i*p+j] = float32(v)
		}
	}
	row := func(i int) []float64 {
		out := make([]float64, p)
		for j, v := range l.row(i) {
			out[j] = float64(v)
		}
		return out
	}
	between := matrix(m, m)
	parallel.For(m, func(i int) {
		x := row(i)
		for k := range m {
			for j, v := range l.row(k) {
				d := x[j] - float64(v)
				between.Data[i*m+k] += d * d
			}
		}
	})
	var apart []float64
	for i := range m {
		apart = append(apart, between.Data[i*m+i+1:(i+1)*m]...)
	}
	slices.Sort(apart)
	if len(apart) == 0 || apart[len(apart)/2] == 0 {
		return nil // nothing to be like or unlike: linear
	}
	width := 1 / (2 * apart[len(apart)/2])
	for i, d := range between.Data {
		between.Data[i] = math.Exp(-width * d)
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(m, between.Data), true) {
		return fmt.Errorf("no eigenvectors of the landmarks: %w", cpar.ErrInput)
	}
	values := e.Values(nil) // rising
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	first := 0
	for values[first] <= leastSpread*values[m-1] {
		first++
	}
	f.lifted = matrix(m, m-first)
	for j := first; j < m; j++ {
		for i := range m {
			f.lifted.Data[i*f.lifted.Stride+j-first] = vectors.At(i, j) / math.Sqrt(values[j])
		}
	}
	k := matrix(f.x.Rows, m)
	parallel.For(f.x.Rows, func(i int) { copy(k.Data[i*m:], similarities(f.x.Data[i*p:(i+1)*p], l, width)) })
	f.raw = make([]float64, m)
	for i := range k.Rows {
		for j, v := range k.Data[i*m : (i+1)*m] {
			f.raw[j] += v / float64(k.Rows)
		}
	}
	f.x, f.p.landmarks, f.p.width = product(blas.NoTrans, k, f.lifted), l, width
	return nil
}

// projection puts the directions w, of x, behind the rest.
func (f *fitting) projection(w blas64.General) *Projection {
	p := f.p
	mean := f.raw
	if p.landmarks.rows > 0 {
		w = product(blas.NoTrans, f.lifted, w)
	} else {
		mean = make([]float64, f.x.Cols)
		for i := range f.x.Rows {
			for j, v := range f.x.Data[i*f.x.Cols : (i+1)*f.x.Cols] {
				mean[j] += v / float64(f.x.Rows)
			}
		}
	}
	// Only the direction of the vector counts: one scale for all keeps float32
	// from overflowing, whatever the features' unit.
	largest := 0.0
	for _, v := range w.Data {
		largest = max(largest, math.Abs(v))
	}
	p.direction = matrix32{rows: w.Rows, cols: w.Cols, data: make([]float32, len(w.Data))}
	for i, v := range w.Data {
		if largest > 0 {
			p.direction.data[i] = float32(v / largest)
		}
	}
	p.mean = make([]float32, len(mean))
	for i, v := range mean {
		p.mean[i] = float32(v)
	}
	return &p
}
