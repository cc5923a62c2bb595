package engine

import (
	"fmt"
	"slices"
	"sync"
)

// A Program is a network ready to run. It is safe for concurrent use.
type Program struct {
	plan   *plan
	inputs []*value
	reads  []bool // of each input, whether the wanted tensors depend on it
	wanted map[string]*value
	shapes map[string][]int
	arenas sync.Pool
}

func (b *builder) program(wanted map[string]*value) (*Program, error) {
	p := &Program{inputs: b.inputs, wanted: wanted, shapes: map[string][]int{}}
	for name, v := range b.values {
		p.shapes[name] = v.shape
	}
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
	s.pack = nil // it holds the constants
	return pack()
}

// Shape returns the shape of any computable tensor of the graph.
func (p *Program) Shape(name string) ([]int, bool) {
	shape, ok := p.shapes[name]
	return slices.Clone(shape), ok
}

type arena struct {
	slots   [][]float32
	scratch []float32
	in      [][]float32
	inputs  [][]float32
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
		return a.slots[v.slot][:count(v.shape)]
	case v.input > 0:
		return a.inputs[v.input-1]
	}
	return v.floats
}

// Run computes the wanted tensors. Inputs that they do not depend on may be
// omitted. Integers and booleans are whole numbers up to 2²⁴. The caller owns
// the results.
func (p *Program) Run(inputs map[string][]float32) (map[string][]float32, error) {
	a, _ := p.arenas.Get().(*arena)
	if a == nil {
		a = p.plan.newArena()
	}
	defer p.arenas.Put(a)
	a.inputs = make([][]float32, len(p.inputs))
	defer func() { // they belong to the caller
		a.inputs = nil
		clear(a.in)
	}()
	for i, v := range p.inputs {
		data, given := inputs[v.name]
		switch {
		case !given && p.reads[i]:
			return nil, fmt.Errorf("the input %.80q is missing", v.name)
		case given && len(data) != count(v.shape):
			return nil, fmt.Errorf("the input %.80q has %d values, its shape is %v", v.name, len(data), v.shape)
		case given && v.kind != floats:
			if err := checkIntegers(data); err != nil {
				return nil, fmt.Errorf("the input %.80q: %w", v.name, err)
			}
		}
		a.inputs[i] = data
	}
	for _, s := range p.plan.steps {
		if err := a.step(s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.label, err)
		}
	}
	results := map[string][]float32{}
	for name, v := range p.wanted {
		results[name] = slices.Clone(a.tensor(v))
	}
	return results, nil
}

func (a *arena) step(s *step) error {
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
	s.run(out, a.in, a.scratch[:s.scratch])
	if s.out.kind == ints {
		return checkIntegers(out)
	}
	return nil
}

func checkIntegers(x []float32) error {
	for _, v := range x {
		if !(v >= -maxExact && v <= maxExact) || v != float32(int32(v)) {
			return fmt.Errorf("a value of %g where integers up to %d are accepted", v, maxExact)
		}
	}
	return nil
}
