package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cpar/encoder/onnx"
	"cpar/internal/f32"
)

// A linear multiplies rows by a constant k×n matrix and adds a constant row.
type linear struct {
	w          *value    // the matrix, until packed
	transposed bool      // whether w is stored as n×k
	k, n       int       // lengths of an input row and of an output row
	alpha      float32   // factor of the matrix
	bias       []float32 // the constant row of n values, or nil
	lo, hi     float32   // bounds to which results are clipped if `clipped` is set
	clipped    bool
	packed     *f32.Right // alpha·w
}

func (l *linear) pack(b *builder) error {
	data, err := b.finiteCopy(l.w)
	if err != nil {
		return err
	}
	if l.alpha != 1 {
		for i := range data {
			data[i] *= l.alpha
		}
	}
	ld := l.n
	if l.transposed {
		ld = l.k
	}
	// Packing needs twice the memory until the unpacked copy is freed.
	if err := b.allocate(4 * int64(len(data))); err != nil {
		return err
	}
	b.bytes -= 4 * int64(len(data))
	l.packed = f32.PackRight(data, ld, l.k, l.n, l.transposed)
	l.w = nil
	return nil
}

// linear emits a step for alpha·x·w + bias. The constant w is k×n, or n×k if
// `transposed` is set.
func (c *call) linear(x, w *value, transposed bool, alpha float32, bias []float32, shape []int) *value {
	l := &linear{w: w, transposed: transposed, k: w.shape[len(w.shape)-2], n: w.shape[len(w.shape)-1], alpha: alpha, bias: bias}
	if transposed {
		l.k, l.n = l.n, l.k
	}
	rows := count(x.shape) / l.k
	s := &step{in: []*value{x}, linear: l, rows: rows, pack: func() error { return l.pack(c.builder) }}
	s.scratch = f32.Scratch(rows, 1, l.k) // an upper bound, because f32.Right is known only after packing
	s.run = l.run
	return c.step(floats, s, shape, int64(rows)*int64(l.k)*int64(l.n))
}

func (l *linear) run(out []float32, in [][]float32, scratch []float32) {
	e := &f32.Epilogue{Bias: l.bias, Clip: l.clipped, Lo: l.lo, Hi: l.hi}
	l.packed.Mul(out, l.n, in[0], l.k, len(in[0])/l.k, e, scratch)
}

// compileMatMul multiplies the matrices in the last two axes of two tensors and
// broadcasts the other axes.
func compileMatMul(c *call) error {
	return c.setOutput(c.matMul(c.input(0), c.input(1)))
}

func (c *call) matMul(a, b *value) *value {
	// Treat a vector as a row on the left and as a column on the right.
	as, bs := a.shape, b.shape
	switch {
	case len(as) == 0 || len(bs) == 0:
		return c.fail(fmt.Errorf("tensors of shapes %v and %v do not fit", as, bs))
	case len(as) == 1:
		as = []int{1, as[0]}
	}
	if len(bs) == 1 {
		bs = []int{bs[0], 1}
	}
	m, k, n := as[len(as)-2], as[len(as)-1], bs[len(bs)-1]
	batch, err := newBroadcast(as[:len(as)-2], bs[:len(bs)-2])
	if err != nil || bs[len(bs)-2] != k {
		return c.fail(fmt.Errorf("tensors of shapes %v and %v do not fit", a.shape, b.shape))
	}
	shape := slices.Clone(batch.shape)
	if len(a.shape) > 1 {
		shape = append(shape, m)
	}
	if len(b.shape) > 1 {
		shape = append(shape, n)
	}
	if c.check(shape); c.err != nil {
		return &value{}
	}
	if b.constant() && count(bs) == k*n && count(batch.shape) == count(as[:len(as)-2]) {
		b = c.reshaped(b, []int{k, n})
		return c.linear(a, b, false, 1, nil, shape)
	}
	p := &product{m: m, n: n, k: k, lda: k, ldb: n, batch: batch.merged(), alpha: 1}
	for i, size := range []int{m * k, k * n} { // convert steps from numbers of matrices to numbers of elements
		for axis := range p.batch.steps[i] {
			p.batch.steps[i][axis] *= size
		}
	}
	return c.product(a, b, p, shape)
}

// A product is a step that computes alpha·a·b for pairs of an m×k matrix a and
// a k×n matrix b that are both computed from the image.
type product struct {
	m, n, k  int
	lda, ldb int       // elements between the starts of stored rows of a and of b
	transB   bool      // whether b is stored transposed
	batch    broadcast // offsets of the matrices in elements
	alpha    float32
}

func (c *call) product(a, b *value, p *product, shape []int) *value {
	s := &step{in: []*value{a, b}, product: p, scratch: f32.Scratch(p.m, p.n, p.k)}
	s.rows, s.part = count(p.batch.shape), p.run
	s.run = func(out []float32, in [][]float32, scratch []float32) { p.run(out, in, scratch, 0, s.rows) }
	return c.step(floats, s, shape, int64(count(p.batch.shape))*int64(p.m)*int64(p.n)*int64(p.k))
}

// run computes the pairs `first` to `end`−1.
func (p *product) run(out []float32, in [][]float32, scratch []float32, first, end int) {
	last := len(p.batch.shape) - 1
	size := p.m * p.n
	p.batch.rows(func(at int, from []int) {
		for i := max(0, first-at); i < min(p.batch.shape[last], end-at); i++ {
			a, b := from[0]+i*p.batch.steps[0][last], from[1]+i*p.batch.steps[1][last]
			c := out[(at+i)*size:][:size]
			f32.Mul(c, p.n, in[0][a:], p.lda, in[1][b:], p.ldb, p.m, p.n, p.k, p.transB, scratch)
			if p.alpha != 1 {
				for j := range c {
					c[j] *= p.alpha
				}
			}
		}
	})
}

// compileGemm computes alpha·a·b + beta·c for matrices. The matrices a and b
// may be transposed.
func compileGemm(c *call) error {
	a, b := c.input(0), c.input(1)
	of := c.factors([]string{"alpha", "beta"}, 1, 1)
	if !finite(of) {
		return fmt.Errorf("the factors %g and %g are not finite", of[0], of[1])
	}
	transA, transB := c.flagAttribute("transA", false), c.flagAttribute("transB", false)
	if len(a.shape) != 2 || len(b.shape) != 2 {
		return fmt.Errorf("tensors of shapes %v and %v, which are not matrices", a.shape, b.shape)
	}
	if transA {
		a = c.transposed(a, []int{1, 0})
	}
	if c.err != nil {
		return c.err
	}
	m, k, n, inner := a.shape[0], a.shape[1], b.shape[1], b.shape[0]
	if transB {
		n, inner = inner, n
	}
	if inner != k {
		return fmt.Errorf("tensors of shapes %v and %v do not fit", a.shape, b.shape)
	}
	bias := c.rowBias(2, n, of[1])
	var v *value
	if b.constant() {
		v = c.linear(a, b, transB, of[0], bias, []int{m, n})
	} else {
		p := &product{m: m, n: n, k: k, lda: k, ldb: b.shape[1], transB: transB, alpha: of[0]}
		p.batch, _ = newBroadcast([]int{1}, []int{1})
		v = c.product(a, b, p, []int{m, n})
	}
	if !c.has(2) || b.constant() && bias != nil {
		return c.setOutput(v)
	}
	third := c.input(2)
	if of[1] != 1 {
		third = c.binary("Mul", third, number(of[1]))
	}
	if v = c.binary("Add", v, third); !slices.Equal(v.shape, []int{m, n}) {
		return fmt.Errorf("a third matrix of shape %v does not fit a product of %d×%d", third.shape, m, n)
	}
	return c.setOutput(v)
}

// rowBias returns beta times the i-th input if that is a constant number or a
// constant row of n values, otherwise nil.
func (c *call) rowBias(i, n int, beta float32) []float32 {
	if !c.has(i) {
		return nil
	}
	v := c.input(i)
	if last := len(v.shape) - 1; !v.constant() || count(v.shape) != 1 && (count(v.shape) != n || v.shape[last] != n) {
		return nil
	}
	data, err := c.finiteCopy(v)
	if err != nil || c.err != nil {
		c.fail(err)
		return nil
	}
	bias := make([]float32, n)
	for i := range bias {
		bias[i] = beta * data[i%len(data)]
	}
	return bias
}

// compileEinsum multiplies two tensors whose axes have letters, and sums over
// letters missing from the output. Exporters use it for matrix products with
// permuted axes.
func compileEinsum(c *call) error {
	equation := c.stringAttribute("equation", "")
	left, right, out, ok := parseEinsum(equation)
	if !ok || len(c.in) != 2 {
		return onnx.Unsupported("the equation %.80q of %d tensors is not supported", equation, len(c.in))
	}
	a, b := c.input(0), c.input(1)
	if len(a.shape) != len(left) || len(b.shape) != len(right) {
		return fmt.Errorf("tensors of shapes %v and %v do not fit the equation %.80q", a.shape, b.shape, equation)
	}
	sizes := map[rune]int{}
	for i, l := range left {
		sizes[l] = a.shape[i]
	}
	for i, l := range right {
		if n, both := sizes[l]; both && n != b.shape[i] {
			return fmt.Errorf("tensors of shapes %v and %v do not fit the equation %.80q", a.shape, b.shape, equation)
		}
		sizes[l] = b.shape[i]
	}
	// A letter in both inputs is a batch axis, or an inner axis if it is
	// summed. A letter in one input is an axis of rows or columns.
	var batch, inner, rows, columns []rune
	for _, l := range left {
		switch {
		case slices.Contains(right, l) && slices.Contains(out, l):
			batch = append(batch, l)
		case slices.Contains(right, l):
			inner = append(inner, l)
		case slices.Contains(out, l):
			rows = append(rows, l)
		default:
			return onnx.Unsupported("the equation %.80q is not supported", equation)
		}
	}
	for _, l := range right {
		if !slices.Contains(left, l) {
			if !slices.Contains(out, l) {
				return onnx.Unsupported("the equation %.80q is not supported", equation)
			}
			columns = append(columns, l)
		}
	}
	arranged := func(v *value, letters []rune, groups ...[]rune) *value {
		perm, shape := []int{}, []int{}
		for _, l := range slices.Concat(groups...) {
			perm = append(perm, slices.Index(letters, l))
		}
		for _, g := range groups {
			n := 1
			for _, l := range g {
				n *= sizes[l]
			}
			shape = append(shape, n)
		}
		return c.reshaped(c.transposed(v, perm), shape)
	}
	v := c.matMul(arranged(a, left, batch, rows, inner), arranged(b, right, batch, inner, columns))
	have := slices.Concat(batch, rows, columns)
	var shape, perm []int
	for _, l := range have {
		shape = append(shape, sizes[l])
	}
	for _, l := range out {
		perm = append(perm, slices.Index(have, l))
	}
	return c.setOutput(c.transposed(c.reshaped(v, shape), perm))
}

var einsum = regexp.MustCompile(`^([a-zA-Z]+),([a-zA-Z]+)->([a-zA-Z]*)$`)

func parseEinsum(equation string) (left, right, out []rune, ok bool) {
	m := einsum.FindStringSubmatch(strings.ReplaceAll(equation, " ", ""))
	if m == nil {
		return nil, nil, nil, false
	}
	for i, letters := range m[1:] {
		for k, l := range letters {
			if strings.ContainsRune(letters[:k], l) || i == 2 && !strings.ContainsRune(m[1]+m[2], l) {
				return nil, nil, nil, false
			}
		}
	}
	return []rune(m[1]), []rune(m[2]), []rune(m[3]), true
}
