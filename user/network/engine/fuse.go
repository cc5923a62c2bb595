package engine

import (
	"math"
	"slices"
)

// An affine step computes x·by + plus for each channel, the second dimension.
type affine struct{ by, plus []float32 }

// Bounds are those of a clipping.
type bounds struct{ lo, hi float32 }

// fuse folds steps into others whose output nothing else reads.
func (b *builder) fuse() {
	readers := map[*value]int{}
	for _, s := range b.steps {
		for _, v := range s.in {
			readers[v]++
		}
	}
	var kept []*step
	for _, s := range b.steps {
		if !s.fusedInto(readers) {
			kept = append(kept, s)
		}
	}
	b.steps = kept
}

// fusedInto folds a step into the convolution that makes its input, if it can.
func (s *step) fusedInto(readers map[*value]int) bool {
	if len(s.in) != 1 {
		return false
	}
	x := s.in[0]
	if x.made == nil || x.made.conv == nil || readers[x] != 1 || x.retained {
		return false
	}
	conv := x.made.conv
	switch {
	case s.affine != nil && conv.unbounded():
		for i := range s.affine.by {
			conv.scale(i, s.affine.by[i], s.affine.plus[i])
		}
	case s.bounds != nil:
		conv.lo = min(max(conv.lo, s.bounds.lo), s.bounds.hi)
		conv.hi = min(max(conv.hi, s.bounds.lo), s.bounds.hi)
	default:
		return false
	}
	// The convolution makes the output now.
	made := x.made
	made.out, s.out.made = s.out, made
	return true
}

func (v *conv) unbounded() bool { return math.IsInf(float64(v.lo), -1) && math.IsInf(float64(v.hi), 1) }

// drop removes the steps that no wanted tensor needs.
func (b *builder) drop(wanted map[string]*value) {
	needed := map[*step]bool{}
	var stack []*value
	for _, v := range wanted {
		stack = append(stack, v)
	}
	// Use an explicit stack: a graph may be ten thousand steps deep.
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if v.made != nil && !needed[v.made] {
			needed[v.made] = true
			stack = append(stack, v.made.in...)
		}
	}
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return !needed[s] })
}
