package engine

import (
	"fmt"
	"slices"
)

func (b *builder) spend(work int64) error {
	// Constants get a small part of the limit per image. Computing shapes and
	// arranging weights takes little work, and an elementwise operation takes
	// much longer than a multiply-add of a product.
	most := max(b.limits.Work>>6, 1<<22)
	if b.work += work; b.work > most {
		return limitError("computing constants takes more than the %d multiply-adds accepted", most)
	}
	return nil
}

// fold computes the output of a step whose inputs are constants. It counts
// memory and work, so that a small file cannot request much of either.
func (b *builder) fold(s *step) error {
	if err := b.spend(s.work); err != nil {
		return err
	}
	v := s.out
	v.producer = nil
	n := count(v.shape)
	if v.kind != floats && s.exact != nil && !slices.ContainsFunc(s.in, func(x *value) bool { return x.kind == floats }) {
		in, err := foldedInputs(s, b.intsOf)
		if err == nil {
			err = b.allocate(8 * int64(n))
		}
		if err != nil {
			return err
		}
		v.ints = make([]int64, n)
		return s.exact(v.ints, in)
	}
	in, err := foldedInputs(s, b.floatsOf)
	if err == nil && s.pack != nil {
		err = s.pack()
	}
	if err == nil {
		err = b.allocate(4 * int64(n+s.scratch))
	}
	if err != nil {
		return err
	}
	out := make([]float32, n)
	s.run(out, in, make([]float32, s.scratch))
	b.bytes -= 4 * int64(s.scratch)
	if v.kind == floats {
		v.floats = out
		return nil
	}
	if err := b.allocate(8 * int64(n)); err != nil {
		return err
	}
	v.ints = make([]int64, n)
	for i, f := range out {
		if v.ints[i] = int64(f); float32(v.ints[i]) != f {
			return fmt.Errorf("it computes %g, which is not an integer", f)
		}
	}
	return nil
}

func foldedInputs[T float32 | int64](s *step, read func(*value) ([]T, error)) ([][]T, error) {
	in := make([][]T, len(s.in))
	for i, x := range s.in {
		data, err := read(x)
		if err != nil {
			return nil, err
		}
		in[i] = data
	}
	if s.sizes == nil {
		return in, nil
	}
	return in, within(in[1], s.sizes)
}
