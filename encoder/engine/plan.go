package engine

import (
	"fmt"
	"slices"
)

// A plan assigns each tensor of a list of steps a memory slot, shared by
// tensors that are not needed at the same time.
type plan struct {
	steps   []*step
	slots   []int // elements
	scratch int   // elements
}

func newPlan(b *builder) (*plan, error) {
	p := &plan{steps: b.steps}
	p.assign()
	var total, work int64
	for _, n := range append(slices.Clone(p.slots), p.scratch) {
		total += 4 * int64(n)
	}
	if total > b.limits.Memory {
		return nil, fmt.Errorf("one image takes %d bytes of memory, more than the %d accepted", total, b.limits.Memory)
	}
	for _, s := range p.steps {
		// No sum can overflow, because each is within the limit.
		if work += s.work; work > b.limits.Work {
			return nil, fmt.Errorf("one image takes more than the %d multiply-adds accepted", b.limits.Work)
		}
	}
	return p, nil
}

// assign gives each tensor the best-fitting free slot. The slot of a retained
// tensor is never freed.
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
		dies := func(v *value) bool { return v.producer != nil && v.last == i && !v.retained }
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

// take returns the smallest free slot of at least n elements, otherwise the
// largest one, grown to n, otherwise a new one.
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
