package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// A Program is a compiled network. It is safe for concurrent use.
type Program struct {
	plan    *plan
	inputs  []*value
	reads   []bool            // for each input, whether the wanted tensors depend on it
	wanted  map[string]*value // the tensors that Run returns
	arenas  sync.Pool         // free memory, *arena
	running atomic.Int64      // number of calls of Run
}

func (b *builder) program(wanted map[string]*value) (*Program, error) {
	p := &Program{inputs: b.inputs, wanted: wanted}
	for _, v := range wanted {
		v.retained = true
	}
	b.drop(wanted)
	if !b.noFusion {
		if err := b.fuse(); err != nil {
			return nil, err
		}
		b.drop(wanted)
	}
	for _, s := range b.steps {
		if err := b.constantsOf(s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.label, err)
		}
	}
	for _, v := range wanted {
		if v.constant() {
			if _, err := b.floatsOf(v); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range b.inputs {
		p.reads = append(p.reads, wanted[v.name] == v || slices.ContainsFunc(b.steps, func(s *step) bool { return slices.Contains(s.in, v) }))
	}
	var err error
	p.plan, err = newPlan(b)
	return p, err
}

func (b *builder) constantsOf(s *step) error {
	for _, v := range s.in {
		if v.constant() {
			if _, err := b.floatsOf(v); err != nil {
				return err
			}
			v.tensor, v.ints = nil, nil
		}
	}
	if s.pack == nil {
		return nil
	}
	pack := s.pack
	s.pack = nil // so that the constants it refers to can be freed
	return pack()
}

// An arena is the memory of one run.
type arena struct {
	slots   [][]float32 // memory of tensors
	scratch []float32   // scratch memory of the current step
	in      [][]float32 // inputs of the current step
	inputs  [][]float32 // inputs of the network
}

func (p *plan) newArena() *arena {
	a := &arena{scratch: make([]float32, p.scratch)}
	for _, n := range p.slots {
		a.slots = append(a.slots, make([]float32, n))
	}
	return a
}

func (a *arena) tensor(v *value) []float32 {
	switch {
	case v.producer != nil:
		return a.slots[v.slot][v.offset:][:count(v.shape)]
	case v.input > 0:
		return a.inputs[v.input-1]
	}
	return v.floats
}

// Run computes the wanted tensors (Options.Choose). Inputs on which they do not
// depend may be omitted. Integers and booleans are whole numbers up to 2²⁴ in
// magnitude. The caller owns the results.
func (p *Program) Run(inputs map[string][]float32) (map[string][]float32, error) {
	p.running.Add(1)
	defer p.running.Add(-1)
	a, _ := p.arenas.Get().(*arena)
	if a == nil {
		a = p.plan.newArena()
	}
	defer p.arenas.Put(a)
	a.inputs = make([][]float32, len(p.inputs))
	defer func() { // inputs belong to the caller
		a.inputs = nil
		clear(a.in)
	}()
	for i, v := range p.inputs {
		data, given := inputs[v.name]
		switch {
		case !given && p.reads[i]:
			return nil, fmt.Errorf("the input %.80q is missing", v.name)
		case given && len(data) != count(v.shape):
			return nil, fmt.Errorf("the input %.80q has %d values but shape %v", v.name, len(data), v.shape)
		case given && v.kind != floats:
			if err := checkIntegers(data); err != nil {
				return nil, fmt.Errorf("the input %.80q: %w", v.name, err)
			}
		}
		a.inputs[i] = data
	}
	for _, s := range p.plan.steps {
		if err := a.step(s, p.workers()); err != nil {
			return nil, fmt.Errorf("%s: %w", s.label, err)
		}
	}
	results := map[string][]float32{}
	for name, v := range p.wanted {
		results[name] = slices.Clone(a.tensor(v))
	}
	return results, nil
}

func (a *arena) step(s *step, workers int) error {
	a.in = a.in[:0]
	for _, v := range s.in {
		a.in = append(a.in, a.tensor(v))
	}
	if s.sizes != nil {
		if err := within(a.in[1], s.sizes); err != nil {
			return err
		}
	}
	out := a.tensor(s.out)
	s.compute(out, a.in, a.scratch, workers)
	if s.out.kind == ints {
		return checkIntegers(out)
	}
	return nil
}

func checkIntegers(x []float32) error {
	for _, v := range x {
		if !(v >= -maxExact && v <= maxExact) || v != float32(int32(v)) {
			return fmt.Errorf("the value %g is not an integer up to %d", v, maxExact)
		}
	}
	return nil
}

// A plan assigns a memory slot to the output of each step. Tensors that are not
// needed at the same time share a slot.
type plan struct {
	steps   []*step
	slots   []int // size of each slot, in float32
	scratch int   // size of the scratch memory, in float32
	workers int   // maximum number of goroutines of a step
}

func newPlan(b *builder) (*plan, error) {
	p := &plan{steps: b.steps, workers: maxSplit()}
	if !b.noFusion {
		p.place()
	}
	p.assign()
	var total, work int64
	for _, n := range append(slices.Clone(p.slots), p.scratch) {
		total += 4 * int64(n)
	}
	if total > b.limits.Memory {
		return nil, fmt.Errorf("one image takes %d bytes of memory, more than the %d accepted", total, b.limits.Memory)
	}
	for _, s := range p.steps {
		// The sum cannot overflow, because both terms are within the limit.
		if work += s.work; work > b.limits.Work {
			return nil, fmt.Errorf("one image takes more than the %d multiply-adds accepted", b.limits.Work)
		}
	}
	return p, nil
}

// place lets earlier steps write the inputs of concatenations to their final
// place, so that they need not be copied. It begins with the last concatenation,
// because in some networks the inputs of each are the first inputs of the next.
func (p *plan) place() {
	for _, s := range slices.Backward(p.steps) {
		if !s.joins {
			continue
		}
		first, at := s.in[0], s.in[0].offset
		adjacent := first.whole != nil && s.out.whole == nil
		for _, v := range s.in {
			adjacent = adjacent && v.whole == first.whole && v.offset == at
			at += count(v.shape)
		}
		if adjacent {
			s.out.whole, s.out.offset = first.whole, first.offset
			continue
		}
		at = s.out.offset
		for _, v := range s.in {
			if v.producer != nil && v.whole == nil {
				v.whole, v.offset = s.out.memory(), at
			}
			at += count(v.shape)
		}
	}
}

// memory returns the value whose slot holds v.
func (v *value) memory() *value { return cmp.Or(v.whole, v) }

// assign assigns the best-fitting free slot to each tensor. The slot of a
// retained tensor is never freed.
func (p *plan) assign() {
	for i, s := range p.steps {
		s.out.memory().slot = -1
		for _, v := range append(slices.Clone(s.in), s.out) {
			v.memory().last = i
			v.memory().retained = v.memory().retained || v.retained
		}
	}
	var free []int
	for i, s := range p.steps {
		n := count(s.out.shape)
		dies := func(v *value) bool { return v.producer != nil && v.memory().last == i && !v.memory().retained }
		shares := func(v *value) bool { return v.memory() == s.in[0].memory() }
		switch whole := s.out.memory(); {
		case whole != s.out && whole.slot < 0:
			whole.slot = p.take(&free, count(whole.shape))
		case whole.slot >= 0: // an earlier step wrote another part
		case s.inPlace && dies(s.in[0]) && count(s.in[0].shape) == n && !slices.ContainsFunc(s.in[1:], shares):
			s.out.slot, s.out.offset = s.in[0].slot, s.in[0].offset
		default:
			s.out.slot = p.take(&free, n)
		}
		s.out.slot = s.out.memory().slot
		var released []int
		for _, v := range append(slices.Clone(s.in), s.out) {
			if dies(v) && (v == s.out || v.slot != s.out.slot) && !slices.Contains(released, v.slot) {
				released = append(released, v.slot)
			}
		}
		free = append(free, released...)
		p.scratch = max(p.scratch, s.scratch*min(p.workers, max(1, s.rows)))
	}
}

// take returns the smallest free slot of at least n elements. If there is none,
// it grows the largest free slot, or adds a slot if no slot is free.
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
