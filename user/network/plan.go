package network

import (
	"fmt"
	"slices"
)

// A plan is the list of steps with a memory slot for each tensor. Tensors that are not
// needed at the same time share a slot.
type plan struct {
	steps   []*step
	slots   []int // elements
	scratch int   // elements
}

// newPlan drops unneeded steps and assigns slots.
func newPlan(b *builder) (*plan, error) {
	needed := map[*step]bool{}
	mark := func(from []*value, visit func(*step) bool) {
		// Use an explicit stack: a graph may be ten thousand steps deep.
		for stack := slices.Clone(from); len(stack) > 0; {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if v.made != nil && visit(v.made) {
				stack = append(stack, v.made.in...)
			}
		}
	}
	b.embedding.retained = true
	mark([]*value{b.embedding}, func(s *step) bool {
		first := !s.forEmbedding
		s.forEmbedding, needed[s] = true, true
		return first
	})
	seen := map[*step]bool{}
	mark(b.outputs, func(s *step) bool {
		first := !seen[s]
		seen[s], needed[s] = true, true
		return first
	})
	p := &plan{}
	for _, s := range b.steps {
		if needed[s] {
			p.steps = append(p.steps, s)
		}
	}
	p.assign()
	var total int64
	for _, n := range append(slices.Clone(p.slots), p.scratch) {
		total += 4 * int64(n)
	}
	if total > b.limits.Memory {
		return nil, fmt.Errorf("one image takes %d bytes of memory, more than the %d accepted", total, b.limits.Memory)
	}
	return p, nil
}

// assign gives each tensor the free slot that fits best. The slot of a retained tensor is never freed.
func (p *plan) assign() {
	for i, s := range p.steps {
		s.out.last = i
		for _, v := range s.in {
			v.last = i
		}
	}
	var free []int
	for i, s := range p.steps {
		n := count(s.out.shape)
		dies := func(v *value) bool { return v.made != nil && v.last == i && !v.retained }
		if s.inPlace && dies(s.in[0]) && count(s.in[0].shape) == n {
			s.out.slot = s.in[0].slot
		} else {
			s.out.slot = p.take(&free, n)
		}
		var released []int
		for _, v := range append(slices.Clone(s.in), s.out) {
			if dies(v) && (v == s.out || v.slot != s.out.slot) && !slices.Contains(released, v.slot) {
				released = append(released, v.slot)
			}
		}
		free = append(free, released...)
		p.scratch = max(p.scratch, s.scratch)
	}
}

// take returns the smallest free slot of at least n elements, else the largest one, grown
// to n, else a new one.
func (p *plan) take(free *[]int, n int) int {
	best := -1
	for i, slot := range *free {
		if best < 0 {
			best = i
			continue
		}
		have, other := p.slots[slot], p.slots[(*free)[best]]
		if have >= n && (other < n || have < other) || have < n && other < n && have > other {
			best = i
		}
	}
	if best < 0 {
		p.slots = append(p.slots, n)
		return len(p.slots) - 1
	}
	slot := (*free)[best]
	*free = slices.Delete(*free, best, best+1)
	p.slots[slot] = max(p.slots[slot], n)
	return slot
}

// An arena is the memory of one run.
type arena struct {
	slots   [][]float32
	scratch []float32
	in      [][]float32
}

func (p *plan) newArena() *arena {
	a := &arena{scratch: make([]float32, p.scratch)}
	for _, n := range p.slots {
		a.slots = append(a.slots, make([]float32, n))
	}
	return a
}

// of returns the tensor of a value during or after a run.
func (a *arena) of(v *value, image []float32) []float32 {
	switch {
	case v == nil:
		return nil
	case v.made != nil:
		return a.slots[v.slot][:count(v.shape)]
	case v.constant():
		return v.floats
	}
	return image
}

func (p *plan) run(a *arena, image []float32, forEmbedding bool) {
	for _, s := range p.steps {
		if forEmbedding && !s.forEmbedding {
			continue
		}
		a.in = a.in[:0]
		for _, v := range s.in {
			a.in = append(a.in, a.of(v, image))
		}
		s.run(a.of(s.out, image), a.in, a.scratch[:s.scratch])
	}
	clear(a.in) // the image belongs to the caller
}
