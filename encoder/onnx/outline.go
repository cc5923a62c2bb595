package onnx

import (
	"fmt"
)

// An outline is a file's structure without weights, sufficient to choose the
// embedding. The decoder skips unknown operators and element types, which ONNX
// Runtime may support, but inspects everything that can hold a tensor.

// ReadOutline decodes a file for ONNX Runtime. The model has no data, and its
// nodes no attributes. It refuses damage known to crash that runtime.
func ReadOutline(data []byte, limits Limits, external func(name string) ([]byte, error)) (*Model, error) {
	limits = limits.OrDefault()
	if int64(len(data)) > limits.FileBytes {
		return nil, fmt.Errorf("a file of more than the %d bytes accepted", limits.FileBytes)
	}
	d := &decoder{limits: limits, outline: true, external: external, empty: map[string]bool{}}
	m, err := d.model(data)
	if err == nil {
		err = d.checkEmpty()
	}
	if err != nil {
		return nil, err
	}
	m.Bytes = d.bytes
	return m, nil
}

func (d *decoder) countOutline(t *Tensor) error {
	size := int64(len(t.raw))
	if !t.isRaw {
		size = int64(len(t.body))
	}
	if want := t.rawBytes(); t.isRaw && want >= 0 && want != size {
		return fmt.Errorf("%d bytes of data where its shape %v asks for %d", size, t.Dims, want)
	}
	if t.Type == Double { // plain Go stores float32
		size /= 2
	}
	d.bytes += size
	return nil
}

// checkEmpty refuses unexpected empty constants, because ONNX Runtime up to at
// least 1.22 reads the bounds of such a Clip out of range and crashes.
func (d *decoder) checkEmpty() error {
	for _, n := range d.all {
		if n.Op == "Constant" && n.empty {
			for _, name := range n.Out {
				d.empty[name] = true
			}
		}
	}
	for _, n := range d.all {
		if mayTakeEmpty[n.Op] {
			continue
		}
		for _, name := range n.In {
			if d.empty[name] {
				return fmt.Errorf("%s: its input %.80q is empty", n.Label(), name)
			}
		}
	}
	return nil
}

// mayTakeEmpty are operators that real files use with empty constants: a
// resize's region, a list of no axes, a scalar's shape.
var mayTakeEmpty = map[string]bool{
	"Resize": true, "Upsample": true, "Reshape": true, "Expand": true, "ConstantOfShape": true, "Concat": true,
	"Squeeze": true, "Unsqueeze": true, "ReduceMean": true, "ReduceSum": true, "ReduceMax": true, "Identity": true, "Dropout": true,
	"If": true, "Loop": true,
}

// mustBePositive are attributes by which ONNX Runtime divides unchecked.
var mustBePositive = map[string]bool{
	"strides": true, "dilations": true, "kernel_shape": true, "group": true, "num_groups": true,
	"blocksize": true, "upscale_factor": true,
}

func (d *decoder) outlineAttribute(b []byte, n *Node) error {
	a := &Attribute{}
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			a.Name, err = f.text()
		case 3:
			a.I, err = int64(f.bits), f.want(wireVarint)
		case 5, 10: // t, tensors
			return message(f, "tensor", func(b []byte) error {
				t := &Tensor{}
				err := d.tensor(b, t, nil)
				n.empty = n.empty || t.empty()
				return err
			})
		case 6, 11: // g, graphs
			n.HasGraph = true
			g := &Graph{}
			err := message(f, "graph", func(b []byte) error { return d.graph(b, g) })
			n.inner = append(n.inner, g.names()...)
			return err
		case 8: // ints, never long for image operators
			a.Ints, err = f.repeatedInts(a.Ints, maxInts)
		case 20:
			a.Kind, err = Kind(f.bits), f.want(wireVarint)
		case 22, 23: // sparse_tensor, sparse_tensors
			return errSparse
		}
		return err
	})
	if err != nil || !mustBePositive[a.Name] {
		return err
	}
	if a.Kind == KindInt || a.Kind == 0 && len(a.Ints) == 0 {
		a.Ints = append(a.Ints, a.I) // 0 if omitted
	}
	for _, v := range a.Ints {
		if v < 1 {
			return fmt.Errorf("%s holds %d", a.Name, v)
		}
	}
	return nil
}
