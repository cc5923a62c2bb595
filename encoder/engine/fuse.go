package engine

import (
	"math"
	"slices"

	"cpar/internal/f32"
)

// An affine step computes x·by + plus for each channel, the second dimension.
type affine struct{ by, plus []float32 }

// A bounds step clips its input to the range from lo to hi.
type bounds struct{ lo, hi float32 }

func (b *bounds) clip(by *bounds) {
	b.lo, b.hi = min(max(b.lo, by.lo), by.hi), min(max(b.hi, by.lo), by.hi)
}

func (b *bounds) unbounded() bool { return *b == bounds{-infinity, infinity} }

// fuse replaces known patterns of steps by one step. It then folds steps into
// predecessors whose output no other step reads.
func (b *builder) fuse() error {
	for _, s := range b.steps {
		b.fusePatterns(s)
	}
	readers := map[*value]int{}
	for _, s := range b.steps {
		for _, v := range s.in {
			readers[v]++
		}
	}
	var kept []*step
	for _, s := range b.steps {
		fused, err := b.fusedInto(s, readers)
		if err != nil {
			return err
		}
		if !fused {
			kept = append(kept, s)
		}
	}
	b.steps = kept
	return nil
}

// fusedInto folds step s into the convolution, batch normalisation or linear
// layer before it. The earlier step then computes the output of s.
func (b *builder) fusedInto(s *step, readers map[*value]int) (bool, error) {
	for i, x := range s.in {
		made := x.producer
		if made == nil || readers[x] != 1 || x.retained {
			continue
		}
		switch v, l := made.conv, made.linear; {
		case v != nil && s.affine != nil && v.unbounded():
			for i := range s.affine.by {
				v.scale(i, s.affine.by[i], s.affine.plus[i])
			}
		case made.clip != nil && s.bounds != nil:
			made.clip.clip(s.bounds)
		case l == nil || l.clipped:
			continue
		case s.bounds != nil:
			l.clipped, l.lo, l.hi = true, s.bounds.lo, s.bounds.hi
		case s.op == "Add" && len(s.in) == 2 && l.bias == nil && slices.Equal(s.out.shape, x.shape) && isRow(s.in[1-i], l.n, x.shape):
			bias, err := b.finiteCopy(s.in[1-i])
			if err != nil {
				return false, err
			}
			l.bias = bias
		default:
			continue
		}
		made.out, s.out.producer = s.out, made
		return true, nil
	}
	return false, nil
}

func isRow(v *value, n int, shape []int) bool {
	return v.constant() && len(v.shape) > 0 && count(v.shape) == n && v.shape[len(v.shape)-1] == n && shape[len(shape)-1] == n
}

// fusePatterns turns step s into a Gelu, a Swish or a layer normalisation if s
// completes such a pattern. In files of older opsets, the patterns have up to
// seven steps. Method drop later removes the steps whose outputs are not read.
func (b *builder) fusePatterns(s *step) {
	x, f := b.geluOf(s, b.erfOf), f32.Gelu
	if x == nil {
		x, f = b.geluOf(s, b.tanhOf), geluTanh
	}
	if x == nil {
		x, f = swishOf(s), vectorised("Swish", 1, 0)
	}
	if x != nil {
		s.op, s.in, s.inPlace, s.rows = "activation", []*value{x}, true, pieceRows(count(x.shape))
		s.run = func(out []float32, in [][]float32, _ []float32) { f(out, in[0]) }
		return
	}
	if x, epsilon := b.normalisedOf(s); x != nil {
		n := x.shape[len(x.shape)-1]
		s.op, s.in, s.inPlace = "normalised", []*value{x}, true
		s.run = func(out []float32, in [][]float32, _ []float32) {
			layerNorm(out, in[0], nil, nil, n, epsilon, true)
		}
	}
}

func (v *value) madeBy(op string, inputs int) []*value {
	if v == nil || v.producer == nil || v.producer.op != op || len(v.producer.in) != inputs {
		return nil
	}
	return v.producer.in
}

func (b *builder) factorOf(v *value, op string, number float32) *value {
	in := v.madeBy(op, 2)
	for i := range in {
		if b.is(in[i], number) && slices.Equal(in[1-i].shape, v.shape) {
			return in[1-i]
		}
	}
	return nil
}

func (b *builder) is(v *value, number float32) bool {
	if !v.constant() || v.kind != floats || count(v.shape) != 1 {
		return false
	}
	data, err := b.floatsOf(v)
	return err == nil && math.Abs(float64(data[0]-number)) <= 1e-6*math.Abs(float64(number))
}

// geluOf returns x if a step completes x/2·p, in any order, with of(p) = x.
func (b *builder) geluOf(s *step, of func(p *value) *value) *value {
	if s.op != "Mul" || len(s.in) != 2 {
		return nil
	}
	// (x·p)·½ here, and (x·½)·p below.
	in := b.factorOf(s.out, "Mul", 0.5).madeBy("Mul", 2)
	for i := range in {
		if x := of(in[i]); x != nil && x == in[1-i] {
			return x
		}
	}
	for i := range s.in {
		if x := of(s.in[i]); x != nil && x == b.factorOf(s.in[1-i], "Mul", 0.5) {
			return x
		}
	}
	return nil
}

// erfOf returns x if a value is 1 + erf(x/√2), otherwise nil.
func (b *builder) erfOf(p *value) *value {
	in := b.factorOf(p, "Add", 1).madeBy("Erf", 1)
	if in == nil {
		return nil
	}
	if x := b.factorOf(in[0], "Mul", math.Sqrt2/2); x != nil {
		return x
	}
	if of := in[0].madeBy("Div", 2); of != nil && b.is(of[1], math.Sqrt2) {
		return of[0]
	}
	return nil
}

// tanhOf returns x if a value is 1 + tanh(√(2/π)·(x + 0.044715·x³)).
func (b *builder) tanhOf(p *value) *value {
	of := b.factorOf(p, "Add", 1).madeBy("Tanh", 1)
	if of == nil {
		return nil
	}
	in := b.factorOf(of[0], "Mul", math.Sqrt2/math.SqrtPi).madeBy("Add", 2)
	for i, x := range in {
		cube := b.factorOf(in[1-i], "Mul", 0.044715)
		if of := cube.madeBy("Pow", 2); of != nil && of[0] == x && b.is(of[1], 3) {
			return x
		}
		if of := cube.madeBy("Mul", 2); slices.Contains(of, x) && (squareOf(b, of[0]) == x || squareOf(b, of[1]) == x) {
			return x
		}
	}
	return nil
}

// swishOf returns x if a step completes x·sigmoid(x), otherwise nil.
func swishOf(s *step) *value {
	in := s.out.madeBy("Mul", 2)
	for i := range in {
		if of := in[i].madeBy("Sigmoid", 1); of != nil && of[0] == in[1-i] {
			return of[0]
		}
	}
	return nil
}

// normalisedOf returns x and ε if a step completes d/√(mean(d²) + ε) with d = x
// − mean(x), along the last axis, otherwise nil.
func (b *builder) normalisedOf(s *step) (x *value, epsilon float32) {
	if s.op != "Div" || len(s.in) != 2 {
		return nil, 0
	}
	root := s.in[1].madeBy("Sqrt", 1)
	if root == nil {
		return nil, 0
	}
	sum := root[0].madeBy("Add", 2)
	for i := range sum {
		small := sum[i]
		if !small.constant() || small.kind != floats || count(small.shape) != 1 {
			continue
		}
		data, err := b.floatsOf(small)
		square := meanOf(sum[1-i])
		if err != nil || square == nil {
			continue
		}
		d := squareOf(b, square)
		if d == nil {
			continue
		}
		x, y := centredOf(s.in[0]), centredOf(d)
		if x != nil && x == y && slices.Equal(x.shape, s.out.shape) {
			return x, data[0]
		}
	}
	return nil, 0
}

func meanOf(v *value) *value {
	if v.producer == nil || !v.producer.meanOfRows {
		return nil
	}
	return v.producer.in[0]
}

func squareOf(b *builder, v *value) *value {
	if in := v.madeBy("Pow", 2); in != nil && b.is(in[1], 2) {
		return in[0]
	}
	if in := v.madeBy("Mul", 2); in != nil && in[0] == in[1] {
		return in[0]
	}
	return nil
}

func centredOf(v *value) *value {
	if in := v.madeBy("Sub", 2); in != nil && meanOf(in[1]) == in[0] {
		return in[0]
	}
	return nil
}

func (b *builder) drop(wanted map[string]*value) {
	needed := map[*step]bool{}
	var stack []*value
	for _, v := range wanted {
		stack = append(stack, v)
	}
	// Use an explicit stack, because a graph may be ten thousand steps deep.
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if v.producer != nil && !needed[v.producer] {
			needed[v.producer] = true
			stack = append(stack, v.producer.in...)
		}
	}
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return !needed[s] })
}
